"""Oversight of delivery: figures, the state of each channel, and the alert when nothing gets out."""
