"""The people who log in to the panel."""
