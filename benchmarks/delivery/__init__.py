"""One worker against a slow, a flooded and a dead provider."""
