"""The panel's door: who comes in, for how long, and who must show themselves again. The pages are in ``admin``."""
