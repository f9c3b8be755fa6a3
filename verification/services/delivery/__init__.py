"""The way of a message from its row to a provider and back by receipt."""
