"""The pages of the panel, one file for each entry of the menu. Importing the package registers every page.

A new file registers its page by ``@admin.register`` and needs no entry here. ``inbox`` has no table: ``messages`` shows
it, at an address below its own.
"""

from importlib import import_module
from pkgutil import walk_packages

for found in walk_packages(__path__, f"{__name__}."):
    import_module(found.name)
