"""A migrated database, made once and copied: the migrations are by far the most of a service's first start."""

import contextlib
import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from config.processes.embedded import EmbeddedServers

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "var" / "tests" / "migrated"
MADE_OF = (
    "requirements/*.txt",
    "config/processes/embedded/*.py",
    "verification/migrations/*.py",
    "verification/models/**/*.py",
    "verification/sql/*.py",
    "verification/sql/*/*.sql",
)


def with_migrations(servers: EmbeddedServers) -> EmbeddedServers:
    """Let their first start copy a database with all migrations, in place of making an empty one."""

    def copy_data(program: Path, data: Path) -> None:
        new = data.with_name("data.new")
        shutil.rmtree(new, ignore_errors=True)
        with migrated() as source:
            subprocess.run(["cp", "-a", source, new], check=True)
        new.rename(data)

    servers._postgres.create_data = copy_data  # type: ignore[method-assign]
    return servers


@contextlib.contextmanager
def migrated() -> Iterator[Path]:
    """The data of a stopped PostgreSQL, made anew where a migration, a model or a version has changed."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    home = FOLDER / fingerprint()
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "made").exists():
            for old in filter(Path.is_dir, FOLDER.iterdir()):
                shutil.rmtree(old)
            migrate(home)
        yield home / "postgres" / "data"


def migrate(home: Path) -> None:
    urls = ("DATABASE_URL", "REDIS_URL")
    environment = {name: value for name, value in os.environ.items() if name not in urls}
    environment |= {"WATCHWORD_HOME": str(home), "EMBEDDED_DURABLE": "false"}
    command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    (home / "made").touch()


def fingerprint() -> str:
    """Return a digest of everything that a migrated database is made of, and of who can read it."""
    found = hashlib.sha256(f"{platform.platform()} {os.geteuid()}".encode())
    for pattern in MADE_OF:
        for file in sorted(ROOT.glob(pattern)):
            found.update(f"{file.relative_to(ROOT)}\0".encode() + file.read_bytes())
    return found.hexdigest()[:16]
