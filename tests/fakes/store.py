"""A provider's store in a dict. Lifetimes are recorded, not obeyed."""

from __future__ import annotations


class FakeStore:
    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.lists: dict[str, list[str]] = {}
        self.seconds: dict[str, int] = {}

    def get(self, name: str) -> str | None:
        return self.values.get(name)

    def set(self, name: str, value: str, seconds: int) -> None:
        self.values[name] = value
        self.seconds[name] = seconds

    def push(self, name: str, value: str, *, keep: int, seconds: int) -> None:
        self.lists[name] = [value, *self.lists.get(name, [])][:keep]
        self.seconds[name] = seconds

    def list(self, name: str) -> list[str]:
        return self.lists.get(name, [])


class BrokenStore(FakeStore):
    """A store that does not answer."""

    def push(self, name: str, value: str, *, keep: int, seconds: int) -> None:
        raise ConnectionError("redis://user:password@store:6379 is away")

    def list(self, name: str) -> list[str]:
        raise ConnectionError("redis://user:password@store:6379 is away")
