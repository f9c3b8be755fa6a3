"""Connections: identity systems hand their codes over to one address of ours, each in its own shape."""
