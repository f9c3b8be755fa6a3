"""The subjects that the doctor looks at: a file for each, with ``CHECKS``, functions that yield findings."""
