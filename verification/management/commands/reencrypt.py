"""``reencrypt``"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from verification.core import crypto
from verification.core.errors import UserError
from verification.management.base import WatchwordCommand, aligned, table
from verification.services.maintenance.reencryption import COLUMNS, reencrypt, rows_by_key


class Command(WatchwordCommand):
    help = "Re-encrypt all secrets with the newest key of ENCRYPTION_KEYS, and say which old keys you can remove."
    epilog = (
        "Put the new key in front of the old ones, restart every process, then run this. You can interrupt it and run\n"
        "it again at any time; the service keeps working meanwhile. Keys appear as the start of their SHA-256."
    )

    def handle(self, *, json: bool, **_: Any) -> None:
        counts = {column.name: asdict(reencrypt(column)) for column in COLUMNS}
        rows = rows_by_key()
        newest, *old = (key_id.hex() for key_id in crypto.key_ids())
        droppable = [key for key in old if not rows[key]]
        data = {"columns": counts, "ciphertexts": rows, "newest": newest, "droppable": droppable}
        self.show(data, _text(counts, rows, newest, old), as_json=json)
        if unreadable := sum(count["unreadable"] for count in counts.values()):
            raise UserError(
                f"No key of ENCRYPTION_KEYS decrypts {unreadable} ciphertexts. Was a key removed too early?"
            )


def _text(counts: dict[str, dict[str, int]], rows: dict[str, int], newest: str, old: list[str]) -> str:
    header = ("column", "reencrypted", "changed during the run", "unreadable")
    done = table(header, ([name, *count.values()] for name, count in counts.items()))
    notes = {newest: "the newest", **{key: "still in use, run this again" if rows[key] else "can go" for key in old}}
    keys = aligned(
        (key, f"{number} ciphertexts, {notes.get(key, 'not in ENCRYPTION_KEYS')}") for key, number in rows.items()
    )
    if not sum(rows.values()):
        keys += "\n\nThere are no ciphertexts, so nothing was read. If you restored a backup, look whether it is here."
    return f"{done}\n\nKeys:\n{keys}"
