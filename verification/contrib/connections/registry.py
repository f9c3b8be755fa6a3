"""The systems that there are: one file each in ``systems/``, found by itself."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache

from verification.contrib.connections import systems
from verification.contrib.connections.base import System
from verification.core.errors import UserError

MAX_OPTION = 200  # characters of an option's value


@cache
def all_systems() -> dict[str, type[System]]:
    """Return the systems by name, the general one last."""
    modules = [
        importlib.import_module(f"{systems.__name__}.{found.name}") for found in pkgutil.iter_modules(systems.__path__)
    ]
    classes: list[type[System]] = [module.System for module in modules]
    return {
        system.name: system for system in sorted(classes, key=lambda system: (system.name == "generic", system.name))
    }


def system_class(name: str) -> type[System]:
    """Return the system of this name. Raises :class:`UserError`."""
    found = all_systems().get(name)
    if found is None:
        raise UserError(f"There is no system {name!r}. Choose one of: {', '.join(all_systems())}.")
    return found


def clean_options(system: type[System], values: Mapping[str, str]) -> dict[str, str]:
    """Return the options as they are kept: those that were given. Raises :class:`UserError`."""
    names = [option.name for option in system.declared]
    for name, value in values.items():
        if name not in names:
            known = f"It has: {', '.join(names)}." if names else "It has none."
            raise UserError(f"{system.label} has no option {name!r}. {known}")
        if len(value) > MAX_OPTION or not value.isprintable():
            raise UserError(f"{name}: use at most {MAX_OPTION} characters in one line.")
    given = {
        option.name: option.clean(value) for option in system.declared if (value := values.get(option.name, "").strip())
    }
    for option in system.declared:
        if option.is_required and not option.default and option.name not in given:
            raise UserError(f"{system.label} needs the option {option.name!r}: {option.label}.")
    system.clean({option.name: given.get(option.name, option.default) for option in system.declared})
    return given
