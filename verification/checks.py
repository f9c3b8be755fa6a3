"""What must hold before the service starts, each with an id and a hint."""
