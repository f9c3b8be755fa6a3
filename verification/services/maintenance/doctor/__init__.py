"""The doctor: looks at a running installation, and says in words what is wrong and what to do."""
