"""Write what both clients have from the service: types, error classes, and the sync half of the Python client.

Run it in the service's environment, from the root of the repository: ``.venv/bin/python packages/generate_clients.py``.
``schema.ts`` takes openapi-typescript, which ``.ci/run`` installs.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import unasync

ROOT = Path(__file__).resolve().parent.parent
PYTHON = ROOT / "packages" / "watchword-python" / "src" / "watchword"
TYPESCRIPT = ROOT / "packages" / "watchword-js" / "src"
OPENAPI_TYPESCRIPT = ROOT / "var" / "npm" / "node_modules" / ".bin" / "openapi-typescript"
LINE = 116  # a line of a generated docstring, indented by four, is at most 120 characters

# The schemas that callers are answered with, and their names in both clients.
ANSWERS = {
    "FieldProblem": "FieldProblem",
    "ManualProvider": "ManualProvider",
    "ManualChannel": "ManualChannel",
    "ManualMessage": "Message",
    "ManualMessageFinished": "FinishedMessage",
    "ManualSendResponse": "QueuedMessage",
    "SessionChannel": "SessionChannel",
    "SessionCreateResponse": "Session",
    "SessionSendResponse": "SentCode",
    "SessionCheckResponse": "CheckedCode",
    "SessionSettingsProject": "ProjectSettings",
    "SessionSettingsCode": "CodeSettings",
    "SessionSettingsChallenge": "ChallengeSettings",
    "SessionSettings": "SessionSettings",
    "ChannelDelivery": "ChannelDelivery",
    "SessionDelivery": "SessionDelivery",
    "SessionMessage": "SessionMessage",
    "SessionRecord": "SessionRecord",
    "SessionList": "SessionList",
    "SessionEventData": "SessionEventData",
    "SessionEvent": "SessionEvent",
    "Event": "Event",
    "EventList": "EventList",
}
ENUMS = [
    "Channel",
    "ChallengeProvider",
    "CodeLength",
    "DeliveryStatus",
    "ErrorCode",
    "FieldErrorCode",
    "MessageStatus",
    "SessionEventType",
    "SessionState",
]
# Members that no repr shows: tokens, envelopes, and links that bind the user who opens them.
HIDDEN = {("SessionCheckResponse", "verify_token"), ("ManualSendResponse", "code"), ("SessionChannel", "link")}

ASYNC_DOCSTRING = '"""The client for asyncio. ``packages/generate_clients.py`` writes ``client.py`` from this file."""'
SYNC_DOCSTRING = '"""The client. Written by packages/generate_clients.py from async_client.py."""'
SYNC_NAMES = {"AsyncWatchword": "Watchword", "AsyncClient": "Client", "aclose": "close", "asyncio": "time"}


def description() -> dict[str, Any]:
    """Return the service's OpenAPI document."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    sys.path.insert(0, str(ROOT))
    import django

    django.setup()
    from verification.api.reference.views import description as document

    return document()


def catalogue() -> dict[str, tuple[int, str]]:
    """Return each error code with its status and title."""
    sys.path.insert(0, str(ROOT))
    from verification.core.error_codes import CATALOGUE

    return {code: (words.status, words.title) for code, words in CATALOGUE.items()}


def class_name(code: str) -> str:
    """Return the name of a code's class: ``channel_timeout`` has ``ChannelTimeout``."""
    return "".join(part.capitalize() for part in code.split("_"))


def python_problems() -> str:
    """Return ``problems.py``: a class for each code, and the table of them."""
    lines = [
        '"""One class for each error code of the service. Written by packages/generate_clients.py."""',
        "from __future__ import annotations",
        "from collections.abc import Mapping",
        "from watchword.errors import Problem",
    ]
    for code, (status, title) in catalogue().items():
        lines.append(f'class {class_name(code)}(Problem):\n    """{title} ({status}, ``{code}``)."""\n')
    table = ",\n".join(f'"{code}": {class_name(code)}' for code in catalogue())
    lines.append(f"PROBLEMS: Mapping[str, type[Problem]] = {{\n{table},\n}}\n")
    return formatted("\n".join(lines))


def python_types(document: Mapping[str, Any]) -> str:
    """Return ``types.py``: an alias for each enum and a frozen dataclass for each answer."""
    schemas = document["components"]["schemas"]
    lines = [
        '"""The answers of the service, as types. Written by packages/generate_clients.py.',
        "",
        "Members that a later service adds are ignored; values that it adds to an enum are kept as they are.",
        '"""',
        "from __future__ import annotations",
        "from collections.abc import Mapping",
        "from dataclasses import dataclass, field",
        "from datetime import datetime",
        "from typing import Any, Literal",
    ]
    lines += [f"{name} = Literal[{', '.join(json.dumps(each) for each in schemas[name]['enum'])}]" for name in ENUMS]
    lines += [python_class(schema, schemas[schema]) for schema in ANSWERS]
    return formatted("\n".join(lines))


def python_samples(document: Mapping[str, Any]) -> str:
    """Return ``samples.py``: the example of each event that the description has."""
    callback = document["paths"]["/manual/send"]["post"]["callbacks"]["finished"]
    described = {name: webhook["post"] for name, webhook in document["webhooks"].items()}
    described["message.finished"] = next(iter(callback.values()))["post"]
    samples = {}
    for name, call in described.items():
        (example,) = call["requestBody"]["content"]["application/json"]["examples"].values()
        samples[name] = example["value"]
    return formatted(
        '"""Sample events, from the description of the API. Written by packages/generate_clients.py."""\n'
        f"from typing import Any\nSAMPLES: dict[str, dict[str, Any]] = {samples!r}\n"
    )


def python_class(name: str, schema: Mapping[str, Any]) -> str:
    """Return the dataclass of one answer."""
    required = set(schema["required"])
    lines = ["@dataclass(frozen=True, slots=True)", f"class {ANSWERS[name]}:", f'    """``{name}`` of the API."""', ""]
    readings = []
    for member, about in schema["properties"].items():
        annotation, reading = python_type(about, f'data["{member}"]')
        is_nullable = "null" in about.get("type", ()) or {"type": "null"} in about.get("oneOf", ())
        if member not in required or is_nullable:
            given = f'data.get("{member}")'
            is_converted = reading.startswith("datetime.")  # which takes no None
            reading = f"{reading} if {given} else None" if is_converted else reading.replace(f'data["{member}"]', given)
            annotation = f"{annotation} | None"
        hidden = " = field(repr=False)" if (name, member) in HIDDEN else ""
        lines += [f"    {member}: {annotation}{hidden}", f'    """{first_sentence(about["description"])}"""']
        readings.append(f"{member}={reading}")
    lines += [
        "",
        "    @classmethod",
        f"    def from_json(cls, data: Mapping[str, Any]) -> {ANSWERS[name]}:",
        f"        return cls({', '.join(readings)},)",
    ]
    return "\n".join(lines)


def python_type(about: Mapping[str, Any], source: str) -> tuple[str, str]:
    """Return a member's annotation, and the expression that reads it from ``source``."""
    if about.get("type") == "array":
        annotation, reading = python_type(about["items"], "each")
        return f"list[{annotation}]", f"[{reading} for each in {source}]"
    references = [each for each in [about, *about.get("allOf", []), *about.get("oneOf", [])] if "$ref" in each]
    if references:
        name = references[0]["$ref"].rpartition("/")[2]
        return (name, source) if name in ENUMS else (ANSWERS[name], f"{ANSWERS[name]}.from_json({source})")
    if "enum" in about:
        return f"Literal[{', '.join(json.dumps(each) for each in about['enum'])}]", source
    if about.get("format") == "date-time":
        return "datetime", f"datetime.fromisoformat({source})"
    kinds = [about["type"]] if isinstance(about["type"], str) else [each for each in about["type"] if each != "null"]
    return {"string": "str", "integer": "int", "boolean": "bool", "object": "dict[str, Any]"}[kinds[0]], source


def first_sentence(text: str) -> str:
    """Return a description's first sentence, without the marks that RST does not know."""
    sentence = re.split(r"(?<=[.!?])\s|\n", text, maxsplit=1)[0].replace("**", "").replace("`", "``")
    return sentence if len(sentence) <= LINE - 6 else sentence[: LINE - 9].rpartition(" ")[0] + " …"


def sync_client() -> str:
    """Return ``client.py``: ``async_client.py`` without its waiting, by unasync."""
    own = (PYTHON / "async_client.py").read_text()
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder) / "async" / "client.py", Path(folder) / "sync" / "client.py"
        source.parent.mkdir()
        source.write_text(
            own.replace(ASYNC_DOCSTRING, SYNC_DOCSTRING, 1).replace("Tasks may share", "Threads may share")
        )
        unasync.unasync_files([str(source)], [unasync.Rule("/async/", "/sync/", SYNC_NAMES)])
        return formatted(made.read_text())


def typescript_problems() -> str:
    """Return ``problems.ts``: the same classes and table."""
    lines = [
        "/** One class for each error code of the service. Written by packages/generate_clients.py. */",
        'import { Problem } from "./errors.js";',
        'import type { components } from "./schema.js";',
        "",
    ]
    for code, (status, title) in catalogue().items():
        name = class_name(code)
        lines += [
            f"/** {title} ({status}, `{code}`). */",
            f"export class {name} extends Problem {{",
            f'  override readonly name: string = "{name}";',
            "}",
            "",
        ]
    lines.append('export const PROBLEMS: Record<components["schemas"]["ErrorCode"], typeof Problem> = {')
    lines += [f"  {code}: {class_name(code)}," for code in catalogue()]
    return "\n".join([*lines, "};", ""])


def typescript_schema(document: Mapping[str, Any]) -> str:
    """Return ``schema.ts``, as openapi-typescript makes it."""
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder) / "openapi.json", Path(folder) / "schema.ts"
        source.write_text(json.dumps(document))
        subprocess.run([OPENAPI_TYPESCRIPT, source, "-o", made], check=True, capture_output=True)
        return made.read_text()


def formatted(source: str) -> str:
    """Return Python as ruff writes it, its imports in order."""
    ruff = [Path(sys.executable).parent / "ruff"]
    for command in (["check", "--select", "I", "--fix", "-q"], ["format", "-q"]):
        options = ["--stdin-filename", str(PYTHON / "generated.py"), "-"]
        done = subprocess.run([*ruff, *command, *options], input=source, capture_output=True, text=True, cwd=ROOT)
        if done.returncode:
            raise SystemExit(done.stderr)
        source = done.stdout
    return source


def made() -> dict[Path, str]:
    """Return every generated file with its text. Without openapi-typescript, ``schema.ts`` is left out."""
    document = description()
    files = {
        PYTHON / "problems.py": python_problems(),
        PYTHON / "types.py": python_types(document),
        PYTHON / "samples.py": python_samples(document),
        PYTHON / "client.py": sync_client(),
        TYPESCRIPT / "problems.ts": typescript_problems(),
    }
    if OPENAPI_TYPESCRIPT.exists():
        files[TYPESCRIPT / "schema.ts"] = typescript_schema(document)
    return files


if __name__ == "__main__":
    for path, text in made().items():
        path.write_text(text)
        print(path.relative_to(ROOT))
