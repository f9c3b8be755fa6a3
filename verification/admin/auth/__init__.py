"""The way into the panel: login, second factor, sessions, asking again, and what a stranger sees."""
