"""SMPP 3.4, the side of the one that sends: PDUs, a session with a message centre, and the binds that are kept up.

Written here because nothing fits: the clients to be had open their own sockets, past the outbound guard; answer a
receipt before anybody has stored it; and are made for one thread or for an event loop.
"""
