"""Messages that a customer's server sends by itself."""
