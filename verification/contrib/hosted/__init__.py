"""Pages for a project's users: the hosted page, and the demo of an embedded start."""
