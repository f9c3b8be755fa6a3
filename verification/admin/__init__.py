"""The panel: Django's admin, one file or folder for each thing that it shows. ``base`` has what the pages share."""
