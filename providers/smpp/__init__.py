"""SMPP 3.4, the sender's side: PDUs, a session with a message centre, and the binds that are kept up.

We wrote it because no library fits. Those that exist open their own sockets, past the outbound guard. They answer a
receipt before anybody has stored it, and are made for one thread or for an event loop.
"""
