"""The floor to measure against: the same SQL functions under plain Django views, without our API."""
