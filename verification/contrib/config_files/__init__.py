"""A project's set-up as a file: written from the rows, checked by a schema, and brought about in one transaction."""
