"""Load and cost measurements of the real service, that anyone can run. See README.md beside this file."""
