"""Who may ask for a code, how often, and what looks like an attack."""
