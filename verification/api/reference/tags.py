"""The groups of operations in the API's reference."""

SESSION, VERIFY, MANUAL = "Session", "Verify", "Manual"
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
]
