"""What requests and answers are made of. A serializer reads and writes them, and describes them in the reference."""
