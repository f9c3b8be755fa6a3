"""Bot protection: one file for each vendor, and one for the proof of work that needs none."""
