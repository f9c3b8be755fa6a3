"""The one door out: HTTP, who may be behind it, TLS, and until when."""
