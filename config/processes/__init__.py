"""What runs the processes: the web server's entry, the servers of a machine of its own, and who watches them."""
