"""`PromptNote`: a client's request as stored in the metadata of its prompt, and the message that shows the prompt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from bridle.core.parts import File, Prompt
from bridle.surfaces.server.opencode import ids, shapes

KEY = "opencode"
"""The key of the note in the metadata of a prompt."""


class PartNote(msgspec.Struct, frozen=True, omit_defaults=True):
    """A part of a prompt as its client sent it; a single text stands in the prompt itself."""

    type: Literal["text", "file", "agent"]
    id: str = ""
    text: str | None = None
    synthetic: bool = False
    mime: str = ""
    filename: str = ""
    url: str = ""
    name: str = ""
    source: Any = None


class PromptNote(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is recorded with a prompt: the session and the time of its request, and its parts."""

    session: str
    created: int
    parts: tuple[PartNote, ...] = ()
    command: str = ""


def note_of(metadata: Mapping[str, Any], session: str) -> PromptNote | None:
    """Return the note of a prompt of this session; those of its origin or its parent do not count."""
    try:
        note = msgspec.convert(metadata.get(KEY), PromptNote)
    except msgspec.ValidationError:
        # Metadata are free: another program may use this key for something else.
        return None
    return note if note.session == session else None


def message_of(prompt: Prompt, session: str, created: int, note: PromptNote | None) -> str:
    """Return the id of the message that shows a prompt: the client's, if there is one."""
    return prompt.id if note is not None else ids.message_id(created, session, prompt.id)


def parts_of_prompt(
    prompt: Prompt, message: str, session: str, note: PromptNote | None, directory: str
) -> Iterator[shapes.Part]:
    """Yield the parts of the message that shows a prompt, with the ids that its client gave them."""
    given = note.parts if note is not None and note.parts else tuple(_parts(prompt, directory))
    for number, part in enumerate(given):
        id = part.id or ids.prompt_part_id(message, number)
        match part.type:
            case "text":
                text = part.text if part.text is not None else prompt.text
                hidden: bool | UnsetType = True if part.synthetic else UNSET
                yield shapes.TextPart(id=id, sessionID=session, messageID=message, text=text, synthetic=hidden)
            case "file":
                yield shapes.FilePart(
                    id=id,
                    sessionID=session,
                    messageID=message,
                    mime=part.mime or "text/plain",
                    url=part.url or _data_url(prompt.files, part),
                    filename=part.filename or UNSET,
                    source=part.source if part.source is not None else UNSET,
                )
            case "agent":
                source = part.source if part.source is not None else UNSET
                yield shapes.AgentPart(id=id, sessionID=session, messageID=message, name=part.name, source=source)


def _parts(prompt: Prompt, directory: str) -> Iterator[PartNote]:
    yield PartNote("text")
    for file in prompt.files:
        url = "" if file.data else f"file://{file.path if file.path.startswith('/') else f'{directory}/{file.path}'}"
        yield PartNote("file", mime=file.media or "text/plain", filename=file.path, url=url)


def _data_url(files: tuple[File, ...], part: PartNote) -> str:
    """Return the content of an attached file, which the prompt has and its note has not."""
    found = next((file for file in files if file.path == part.filename and (file.data or file.text)), None)
    if found is None:
        return ""
    if found.data:
        return f"data:{found.media};base64,{found.data}"
    return f"file://{found.path}"
