"""Trials of texts: a share of the sessions gets a second text, and both are counted."""
