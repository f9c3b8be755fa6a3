"""Readers that adapters use: of vendors' answers, calls and receipts, of an SMS's length, of lists of languages."""
