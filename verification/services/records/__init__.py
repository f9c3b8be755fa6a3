"""Records of what happened: refusals for owners, changes by people, and the workers that are alive."""
