"""The words of a message: ours in 24 languages, and the owners' own."""
