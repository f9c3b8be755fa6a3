"""Django's system checks: ``start`` has what must be right before a start; the doctor runs the others as well."""
