"""A verification from its creation to the redeemed token, and the bots that a user starts for it."""
