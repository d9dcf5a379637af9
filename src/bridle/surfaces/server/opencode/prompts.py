"""Takes prompts and slash commands of clients: submits them, shows them at once, and waits for their answers."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

import msgspec

from bridle.core.inbox import TurnOptions
from bridle.core.parts import File, Prompt
from bridle.errors import AccessRefused, ConfigError
from bridle.runtime.project import Backend, Expanded
from bridle.surfaces.server.opencode import ids, shapes
from bridle.surfaces.server.opencode.failures import ClientFailure
from bridle.surfaces.server.opencode.hub import Hub
from bridle.surfaces.server.opencode.projection import Projection
from bridle.surfaces.server.opencode.prompt_notes import KEY, PartNote, PromptNote
from bridle.surfaces.server.opencode.requests import CommandBody, SentPart, SentPrompt
from bridle.surfaces.server.opencode.shapes import ClientRule
from bridle.surfaces.server.opencode.tracker import Tracker

SPACE_SECONDS = 15.0
TOOLS_OF = {"edit": ("edit", "write", "apply_patch"), "todowrite": ("todowrite", "todoread")}
"""Tools by their permission, where the names differ."""
MEDIA = ("image/", "application/pdf")


@dataclass(slots=True, kw_only=True)
class Draft:
    """A prompt before it is submitted: its text, its parts as they are shown again, and its options."""

    text: str
    parts: tuple[PartNote, ...]
    files: tuple[File, ...] = ()
    options: TurnOptions = TurnOptions()
    wants: tuple[str, ...] = ()
    subtask: str = ""
    is_silent: bool = False


@dataclass(slots=True)
class Sent:
    """A submitted prompt."""

    tracker: Tracker
    message: str
    is_command: bool = False
    """Whether the first reply is wanted, which has the call of a person's command, and not the last one."""


async def never(kind: str, question: str) -> bool:
    """Allow nothing that a person would have to confirm on the server's machine; raises `AccessRefused` for a file."""
    if kind == "file":
        raise AccessRefused(f"{question}: the rules ask, and files that need an answer are not sent to clients")
    return False


def denied_by(rules: Iterable[ClientRule]) -> tuple[str, ...]:
    """Return the tools that rules deny. Rules that allow or ask change nothing: clients only reduce rights."""
    found: dict[str, None] = {}
    for rule in rules:
        if rule.action != "deny":
            continue
        if rule.pattern != "*" or "*" in rule.permission:
            raise ClientFailure(
                400, "BadRequest", f"the rule {rule.permission} {rule.pattern!r} is not possible: deny a whole tool"
            )
        found |= dict.fromkeys(TOOLS_OF.get(rule.permission, (rule.permission,)))
    return tuple(found)


def narrowed(backend: Backend, agent: str, switches: Mapping[str, bool]) -> dict[str, bool]:
    """Return a client's switches for tools; none turns a tool on for an agent whose definition turns some off."""
    rows = backend.agents()
    limited = any(not on for row in rows if row.agent.name == agent for on in row.agent.tools.values())
    return {name: on for name, on in switches.items() if not (on and limited)}


def reference(model: shapes.MessageModel | shapes.SessionModel) -> str:
    """Return the reference of a model that a client names."""
    name = model.modelID if isinstance(model, shapes.MessageModel) else model.id
    return name if model.providerID == "bridle" else f"{model.providerID}/{name}"


async def draft(backend: Backend, given: SentPrompt) -> Draft:
    """Read a prompt; raises `ClientFailure` (400) for what cannot be sent, and `ConfigError` for unreadable files."""
    texts = [part for part in given.parts if part.type == "text" and not part.ignored]
    files, mentions = await _files(backend, given.parts)
    named = " ".join(f"@{part.name}" for part in given.parts if part.type == "agent")
    asked = await backend.expand(mentions, never, typed=named) if mentions or named else Expanded("", ())
    text = "\n\n".join(part.text for part in texts)
    if not text.strip() and not files and not asked.files:
        raise ClientFailure(400, "BadRequest", "parts: a prompt needs a text")
    options = TurnOptions(
        agent=given.agent or None,
        on_ask="person",
        model=reference(given.model) if given.model is not None else None,
        variant=given.variant or (given.model.variant or None if given.model is not None else None),
        system=given.system,
        tools=dict(given.tools),
        output=given.format.schema if given.format.type == "json_schema" else None,
    )
    return Draft(
        text=text,
        parts=tuple(_note(part, is_only=len(texts) == 1) for part in given.parts if part.type != "subtask"),
        files=(*files, *asked.files),
        options=options,
        wants=asked.wants,
        is_silent=given.noReply,
    )


async def command_draft(backend: Backend, given: CommandBody) -> Draft:
    """Read a slash command; raises `ConfigError` for an unknown one."""
    asked = await backend.expand(f"/{given.command} {given.arguments}".strip(), never, typed=given.arguments)
    files, _ = await _files(backend, given.parts)
    model = given.model
    named = _plain(model) if model else None
    options = TurnOptions(agent=given.agent or None, model=named, variant=given.variant, on_ask="person")
    return Draft(
        text=asked.text,
        parts=(),
        files=(*asked.files, *files),
        options=asked.over(options),
        wants=asked.wants,
        subtask=asked.subtask,
    )


async def send(hub: Hub, session: str, message: str, given: Draft) -> Sent:
    """Submit a prompt, and show it to all clients; a refused prompt is taken back."""
    tracker = await hub.track(session)
    projection, backend = tracker.projection, tracker.backend
    created = hub.now()
    id = message or ids.message_id(created, session, str(hub.next_number()), backend.new_id())
    if not ids.is_message(id):
        raise ClientFailure(400, "BadRequest", f"messageID: {message!r} does not begin with msg")
    known = projection.talk.messages.get(id)
    note = PromptNote(session, known.info.time.created if known is not None else created, given.parts)
    metadata = {KEY: msgspec.to_builtins(note)}
    usual = backend.preferences()
    agent = given.options.agent or projection.info.agent or usual.agent
    options = msgspec.structs.replace(given.options, tools=narrowed(backend, agent, given.options.tools))
    model = options.model or projection.info.model or usual.model
    tracker.tell(projection.submitted(Prompt(id, given.text, given.files, metadata=metadata), agent, model))
    hub.sent(session, id)
    await hub.warn()
    try:
        await backend.prompt(
            session,
            given.text,
            id=id,
            files=given.files,
            queue=bool(given.subtask),
            reply=not given.is_silent,
            options=options,
            wants=given.wants,
            subtask=given.subtask,
            metadata=metadata,
        )
    except ConfigError:
        if known is None:
            tracker.tell(projection.withdrawn(id))
        raise
    return Sent(tracker, id)


async def answer_of(hub: Hub, sent: Sent) -> shapes.MessageWithParts:
    """Return the last reply to a prompt, once its turn has ended; the answers to its asks may take any time."""
    tracker, backend = sent.tracker, sent.tracker.backend
    while True:
        result = await backend.wait(tracker.session, sent.message)
        if result.ended:
            break
        await tracker.changed()
    state = await backend.load(tracker.session)
    await tracker.reach(state.sequence)
    await hub.all_sent(sent.message)
    talk = tracker.projection.talk
    reply = talk.first_reply if sent.is_command else talk.last_reply
    shown = reply(result.turn) if result.turn else None
    return (shown or tracker.projection.talk.messages[sent.message]).whole


async def answered(hub: Hub, sent: Sent) -> AsyncIterator[bytes]:
    """Yield the answer as JSON, and a space now and then: clients give up on answers without a first byte."""
    task = asyncio.create_task(answer_of(hub, sent))
    try:
        yield b" "
        while not (await asyncio.wait([task], timeout=SPACE_SECONDS))[0]:
            yield b" "
        yield msgspec.json.encode(task.result())
    finally:
        # The client may have left; its turn goes on.
        task.cancel()


def turn_of(projection: Projection, message: str) -> int:
    """Return the turn of a message; raises `ClientFailure` (404)."""
    shown = projection.talk.messages.get(message)
    if shown is None:
        raise ClientFailure(404, "NotFoundError", f"Message not found: {message}")
    return shown.turn


def _plain(model: str) -> str:
    return model.removeprefix("bridle/")


def _note(part: SentPart, *, is_only: bool) -> PartNote:
    """Return what is kept of a part; the content of files stands in the prompt."""
    kind: Literal["text", "file", "agent"] = part.type if part.type != "subtask" else "text"
    url = "" if urlsplit(part.url).scheme == "data" else part.url
    return PartNote(
        kind,
        id=part.id,
        text=None if is_only and kind == "text" else part.text,
        synthetic=part.synthetic,
        mime=part.mime,
        filename=part.filename,
        url=url,
        name=part.name,
        source=part.source,
    )


async def _files(backend: Backend, parts: Sequence[SentPart]) -> tuple[tuple[File, ...], str]:
    """Return the files that are sent, and mentions of those that are read from the directory."""
    found: list[File] = []
    mentions: list[str] = []
    for part in parts:
        if part.type != "file":
            continue
        address = urlsplit(part.url)
        if address.scheme == "data":
            found.append(_sent_file(part, address.path))
        elif address.scheme == "file" and address.path and address.netloc in ("", "localhost"):
            mentions.append(_mention(backend.directory, Path(unquote(address.path))))
        else:
            raise ClientFailure(400, "BadRequest", f"parts: {part.url[:80]!r} is not the address of a file")
    return tuple(found), " ".join(mentions)


def _mention(directory: Path, path: Path) -> str:
    inside = path.is_relative_to(directory)
    return f'@"{path.relative_to(directory) if inside else path}"'


def _sent_file(part: SentPart, content: str) -> File:
    head, _, data = content.partition(",")
    name = part.filename or "attachment"
    if part.mime.startswith(MEDIA):
        return File(name, media=part.mime, data=data)
    try:
        raw = b64decode(data, validate=True) if head.endswith(";base64") else unquote(data).encode()
        return File(name, raw.decode())
    except ValueError as error:
        raise ClientFailure(400, "BadRequest", f"parts: {name} is neither text nor an image: {error}") from error
