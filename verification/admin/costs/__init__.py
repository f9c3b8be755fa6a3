"""The money of a month, and a vendor's invoice against it."""
