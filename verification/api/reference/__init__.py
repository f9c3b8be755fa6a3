"""The description of the API: what the endpoints take, answer and refuse. Nothing here serves a request."""
