"""The rules of who may import whom: the picture in docs/engineering/architecture.md, read from the imports."""

import ast
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

SERVICES = {"core", "models", "services", "sql", "providers", "worker"}  # of the worker: wake

MAY_IMPORT = {
    "core": set(),
    "models": {"core"},
    "sql": set(),
    "providers": set(),
    "services": SERVICES,
    "worker": SERVICES,
    "api": SERVICES,
    "admin": SERVICES,
    "contrib": SERVICES,
    "contrib.admin": SERVICES | {"admin", "contrib"},  # what an app adds to the panel
    "contrib.commands": SERVICES | {"commands", "contrib"},
    "commands": SERVICES | {"checks", "processes"},
    "checks": SERVICES,
    "apps": {"checks", "models", "sql"},
    "config": SERVICES | {"api", "admin", "commands", "processes"},
    "processes": SERVICES | {"config", "api"},
    "manage": {"config"},
}

PACKAGES = (  # of the services: each may use those before it
    "records",
    "texts",
    "projects",
    "providers",
    "notifications",
    "protection",
    "sessions",
    "manual",
    "delivery",
    "analytics",
    "maintenance",
    "users",
)

ALLOWED: set[tuple[str, str]] = set()  # an exception says in a comment why it is there


def rooms():
    """Every source file with the room it stands in."""
    for folder in ("config", "providers", "verification"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "migrations" not in path.parts:
                yield path, room_of(path.relative_to(ROOT).with_suffix("").parts)
    yield ROOT / "manage.py", "manage"


def room_of(parts):
    """The room of a module by its name's parts, or None for what is not ours."""
    if tuple(parts[:2]) == ("config", "processes"):
        return "processes"
    if parts[0] in ("config", "providers"):
        return parts[0]
    if parts[0] != "verification" or len(parts) < 2:
        return None
    if parts[1] == "contrib" and parts[3:4] == ("admin",):
        return "contrib.admin"
    if parts[1] == "contrib" and parts[3:4] == ("management",):
        return "contrib.commands"
    return "commands" if parts[1] == "management" else parts[1]


@cache
def imported(path):
    """The modules that a file imports, wherever in it."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the arrow"
            found += [f"{node.module}.{name.name}" for name in node.names]
    return found


def arrows():
    for path, room in rooms():
        for module in imported(path):
            to = room_of(tuple(module.split(".")))
            if room is not None and to is not None and to != room:
                yield path.relative_to(ROOT).as_posix(), room, to


def test_every_room_is_in_the_picture():
    assert {room for _, room in rooms() if room not in (None, "__init__")} <= set(MAY_IMPORT)


def test_no_arrow_points_the_wrong_way():
    wrong = [
        f"{path} imports {to}"
        for path, room, to in arrows()
        if to not in MAY_IMPORT[room] and (path, to) not in ALLOWED
    ]
    assert wrong == []


def package_of(module):
    """The package of services that a module stands in, or None."""
    return module.split(".")[2] if module.startswith("verification.services.") else None


def test_every_package_of_services_is_in_the_picture():
    folders = {path.name for path in (ROOT / "verification" / "services").iterdir() if (path / "__init__.py").exists()}
    assert folders == set(PACKAGES)


def test_a_package_of_services_uses_only_those_before_it():
    files = {path: package_of(".".join(path.relative_to(ROOT).parts)) for path, room in rooms() if room == "services"}
    wrong = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path, package in files.items()
        for module in imported(path)
        if package in PACKAGES and package_of(module) in PACKAGES[PACKAGES.index(package) + 1 :]
    ]
    assert wrong == []


def test_every_exception_is_still_needed():
    assert {(path, to) for path, _, to in arrows()} >= ALLOWED


@pytest.mark.parametrize("face", ["api", "admin", "commands", "contrib"])
def test_the_faces_of_the_services_do_not_know_each_other(face):
    assert not MAY_IMPORT[face] & {"api", "admin", "commands", "contrib", "contrib.admin", "contrib.commands", "config"}


@pytest.mark.parametrize("room", ["services", "models"])
def test_neither_services_nor_models_see_a_request(room):
    web = ("django.http", "django.views", "django.shortcuts", "django.contrib.admin", "rest_framework")
    seen = [str(path) for path, of in rooms() if of == room for module in imported(path) if module.startswith(web)]
    assert seen == []


def test_apps_that_may_be_left_out_do_not_know_each_other():
    wrong = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path, room in rooms()
        for module in imported(path)
        if room in ("contrib", "contrib.admin", "contrib.commands")
        and module.startswith("verification.contrib.")
        and module.split(".")[2] != path.relative_to(ROOT).parts[2]
    ]
    assert wrong == []


def test_providers_know_no_database():
    known = [
        str(path)
        for path, room in rooms()
        if room == "providers"
        for module in imported(path)
        if module.startswith(("django.db", "django.apps", "django.contrib", "rest_framework", "psycopg", "redis"))
    ]
    assert known == []


def file_of(module):
    """The file of ours that a dotted name, of a module or of something in it, leads to; None for what is not ours."""
    parts = module.split(".")
    for end in (len(parts), len(parts) - 1):
        path = ROOT.joinpath(*parts[:end])
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if end and file.is_file():
                return file
    return None


def test_no_files_import_each_other_in_a_circle():
    above = {path: {file_of(module) for module in imported(path)} - {None, path} for path, _ in rooms()}
    order = TopologicalSorter(above).static_order()  # raises CycleError, which names the circle
    assert set(above) <= set(order)


SHARED_NAMES = {"Adapter", "Command", "Meta", "System"}  # one of each adapter, command, identity system; Django's


def test_no_two_classes_have_one_name():
    files: dict[str, list[str]] = {}
    for path, _ in rooms():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and node.name not in SHARED_NAMES:
                files.setdefault(node.name, []).append(path.relative_to(ROOT).as_posix())
    assert {name: paths for name, paths in files.items() if len(paths) > 1} == {}


def test_a_worker_loads_no_page_and_starts_the_sooner():
    program = "import sys, django; django.setup(); import verification.worker.runner; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", program], cwd=ROOT, text=True)
    pages = ("verification.admin", "verification.api", "config.urls", "structlog", "boto3", "anymail", "apprise")
    loaded_pages = {module for module in loaded.split() if module.startswith(pages)}
    assert loaded_pages == {"verification.admin", "verification.admin.apps"}  # the app's configuration
