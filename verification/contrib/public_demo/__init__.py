"""A public demo: everybody looks at the panel, nobody changes anything, and nothing is sent (docs/demo.md)."""
