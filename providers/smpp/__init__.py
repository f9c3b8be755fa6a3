"""SMPP 3.4, the sender's side: PDUs, a session with a message centre, and the binds that are kept up.

We wrote it because the nearest library, smpplib (2.2.4), does not do what a bind that threads share has to. It matches
no answer to the request that waits for it, and bounds neither the requests without an answer (the window) nor the
length of a PDU that a centre announces. One thread has to read, and nothing keeps two from writing at once. It connects
by IPv4 alone and checks no host name in TLS. As we do, it answers a receipt after its handler has returned.
"""
