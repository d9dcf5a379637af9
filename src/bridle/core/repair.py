"""Repairs malformed tool calls (case of the name, broken JSON, other argument names); digests calls and results."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec

from bridle.core.context import sound

Arguments = dict[str, Any]
Mend = Callable[[str], Any]

INVALID = "invalid"
"""The hidden tool under which other harnesses report a call that could not be parsed."""
OTHER_NAMES: dict[str, tuple[str, ...]] = {
    "filePath": ("path", "file", "filename", "targetfile", "absolutepath"),
    "path": ("directory", "dir", "dirpath", "directorypath", "targetdirectory", "folder", "filepath"),
    "content": ("contents", "filetext", "text", "codeedit"),
    "oldString": ("oldstr", "oldtext", "search"),
    "newString": ("newstr", "newtext", "replace"),
    "command": ("cmd", "script"),
    "background": ("runinbackground", "isbackground"),
    "workdir": ("cwd", "workingdirectory", "directory", "dir"),
    "pattern": ("query", "regex", "regexp", "globpattern", "searchterm"),
    "include": ("glob", "includepattern", "filepattern"),
    "url": ("uri", "address", "link"),
    "patchText": ("patch", "input", "diff"),
    "subagent_type": ("agent", "agenttype", "agentname", "subagent"),
    "task_id": ("resume", "sessionid"),
}
"""Argument names of other harnesses for ours, without case and underscores."""

_FENCE = re.compile(r"^\s*```[a-zA-Z]*\n(.*?)\n?```\s*$", re.DOTALL)


class Sound(msgspec.Struct, frozen=True):
    """The arguments are a JSON object; `note` says what was repaired."""

    arguments: Arguments
    note: str = ""


class Unsound(msgspec.Struct, frozen=True):
    """No JSON object could be parsed."""

    error: str


def tool_name(name: str, known: Collection[str]) -> str | None:
    """Return the tool that the model meant, ignoring case; None if there is none."""
    if name in known:
        return name
    folded = name.casefold()
    meant = [candidate for candidate in known if candidate.casefold() == folded]
    return meant[0] if len(meant) == 1 else None


def read_arguments(text: str, mend: Mend) -> Sound | Unsound:
    """Parse the arguments of a call; `mend` repairs them if they are not JSON."""
    if not text.strip():
        return Sound({})
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError) as error:
        return _mended(text, mend, str(error))
    if isinstance(value, str):
        # Some models send the object as JSON inside a JSON string.
        return _mended(value, mend, "a text instead of an object")
    return _object(value, "")


def fitted(arguments: Arguments, schema: Mapping[str, Any]) -> Sound:
    """Return the arguments under the schema's names: other spellings are renamed, unknown and null ones dropped."""
    known = schema.get("properties") or {}
    required = schema.get("required") or ()
    kept = {key: value for key, value in arguments.items() if key in known and (value is not None or key in required)}
    notes: list[str] = []
    for key, value in arguments.items():
        if key in known:
            continue
        meant = _meant(key, known)
        if meant and meant not in kept:
            kept[meant] = value
            notes.append(f"`{key}` was taken as `{meant}`")
        else:
            notes.append(f"the unknown argument `{key}` was ignored")
    return Sound(kept, "; ".join(notes))


def _meant(key: str, known: Collection[str]) -> str:
    """Return the argument that another spelling stands for; empty if there is none."""
    plain = _plain(key)
    same = [name for name in known if _plain(name) == plain]
    other = [name for name in known if plain in OTHER_NAMES.get(name, ())]
    return next(iter(same or other), "")


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.casefold())


def arguments_of(text: str) -> Arguments:
    """Return the arguments of a recorded call, which are a JSON object."""
    value: Arguments = msgspec.json.decode(text)
    return value


def _sound(value: Any) -> Any:
    """Remove values that a repairer accepts and that cannot be encoded: lone surrogates, and numbers like NaN."""
    if isinstance(value, str):
        return sound(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list):
        return [_sound(inner) for inner in value]
    if isinstance(value, dict):
        return {sound(key): _sound(inner) for key, inner in value.items()}
    return value


def _mended(text: str, mend: Mend, error: str) -> Sound | Unsound:
    fenced = _FENCE.match(text)
    body = fenced.group(1) if fenced else text
    if not body.lstrip().startswith("{"):
        return Unsound(f"the arguments are not a JSON object ({error})")
    try:
        value = mend(body)
    except (ValueError, RecursionError) as failure:
        return Unsound(f"the arguments are not valid JSON ({failure})")
    return _object(_sound(value), "the arguments were not valid JSON and were repaired")


def _object(value: Any, note: str) -> Sound | Unsound:
    if isinstance(value, dict):
        return Sound(value, note)
    return Unsound(f"the arguments must be a JSON object, not {type(value).__name__}")


def available(tools: Collection[str]) -> str:
    """Return the sentence that ends an error about a call."""
    return f"Available tools: {', '.join(sorted(tools)) or 'none'}."


def call_digest(name: str, arguments: Mapping[str, Any] | str, ignored: Collection[str]) -> str:
    """Return a digest that is equal for equivalent calls: key order, blanks at the ends and `ignored` do not count."""
    if isinstance(arguments, str):
        body = arguments.encode(errors="surrogatepass")
    else:
        kept = {key: value for key, value in arguments.items() if key not in ignored} if ignored else arguments
        bare = {key: value.rstrip() if isinstance(value, str) else value for key, value in kept.items()}
        body = msgspec.json.encode(bare, order="deterministic")
    return hashlib.blake2b(name.encode() + b"\0" + body, digest_size=9).hexdigest()


def result_digest(output: str) -> str:
    """Return a digest of a raw result, before it is capped."""
    return hashlib.blake2b(output.encode(errors="surrogatepass"), digest_size=9).hexdigest()
