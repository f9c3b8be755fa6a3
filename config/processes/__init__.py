"""The processes: the web server's entry, the embedded servers, and the supervisor that watches them."""
