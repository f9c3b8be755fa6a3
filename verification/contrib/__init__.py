"""What an installation can do without: each package is an app of Django, and ``WITHOUT_APPS`` leaves it out."""
