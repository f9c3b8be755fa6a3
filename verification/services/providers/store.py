"""The small store that an adapter shares between processes: encrypted values in the cache, which may vanish."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from django_redis import get_redis_connection

from verification.core.crypto import DecryptionFailed, decrypt, encrypt

if TYPE_CHECKING:
    from redis import Redis


class ProviderStore:
    """The :class:`providers.base.Store` of one provider. Raises redis' errors when the store is away."""

    def __init__(self, provider_id: int) -> None:
        self._prefix = f"watchword:provider:{provider_id}"

    def get(self, name: str) -> str | None:
        value = self._redis().get(self._key(name))
        return None if value is None else self._open(value, name)

    def set(self, name: str, value: str, seconds: int) -> None:
        self._redis().set(self._key(name), self._seal(value, name), ex=seconds)

    def push(self, name: str, value: str, *, keep: int, seconds: int) -> None:
        pipeline = self._redis().pipeline()
        pipeline.lpush(self._key(name), self._seal(value, name))
        pipeline.ltrim(self._key(name), 0, keep - 1)
        pipeline.expire(self._key(name), seconds)
        pipeline.execute()

    def list(self, name: str) -> list[str]:
        values = (self._open(value, name) for value in self._redis().lrange(self._key(name), 0, -1))
        return [value for value in values if value is not None]

    def _redis(self) -> Redis:
        client: Redis = get_redis_connection("default")
        return client

    def _key(self, name: str) -> str:
        return f"{self._prefix}:{name}"

    def _seal(self, value: str, name: str) -> bytes:
        return base64.b64encode(encrypt(value, binding=self._key(name)))

    def _open(self, value: bytes | str, name: str) -> str | None:
        """None for a value that was encrypted with a key we no longer have, as for one that has vanished."""
        try:
            return decrypt(base64.b64decode(value), binding=self._key(name))
        except (DecryptionFailed, ValueError):
            return None
