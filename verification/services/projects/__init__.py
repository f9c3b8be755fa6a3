"""A project: its settings, keys, lists, test logins and switches, and the snapshot that requests read."""
