"""The story of one verification, or of one message that a customer's server sent: told from the rows that are kept.

``rows`` reads them, ``events`` lists what happened, ``diagnosis`` says it in one sentence with what to do next, and
``story`` puts them together. ``words`` and ``refusals`` hold what answers and refusals are called.
"""
