"""The accounts at vendors: how they are kept, which of them serve, and in which order."""
