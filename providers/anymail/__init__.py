"""The e-mail services that django-anymail knows: their settings, their refusals and their reports."""
