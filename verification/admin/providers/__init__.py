"""The pages of a provider."""
