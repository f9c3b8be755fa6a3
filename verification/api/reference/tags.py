"""The groups of operations in the API's reference."""

SESSION, VERIFY, MANUAL, EVENTS = "Session", "Verify", "Manual", "Events"
TAGS = [
    {
        "name": SESSION,
        "description": "What the user's side calls, in a browser, an app or on a server of yours, with an **API key**. "
        "From a browser only origins that the project lists get an answer they may read.",
    },
    {
        "name": VERIFY,
        "description": "What only your server calls, with a **secret key**: it alone decides who is let in.",
    },
    {
        "name": MANUAL,
        "description": "Sending messages of your own and reading what became of them, from your server with a "
        "**secret key**.",
    },
    {
        "name": EVENTS,
        "description": "What happened in the project: your server is told it, or reads it with a **secret key**.",
    },
]
