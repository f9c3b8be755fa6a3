"""What is told to owners and their servers: alerts and callbacks."""
