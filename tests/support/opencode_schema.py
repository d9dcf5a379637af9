"""The schema that OpenCode publishes at `/doc`, and the check of recorded answers and events against it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import msgspec
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from starlette.types import ASGIApp, Message, Receive, Scope, Send

DOC = "urn:doc"
STREAM = "text/event-stream"
ELSEWHERE = ("/bridle", "/health", "/metrics", "/openapi.json")
"""Paths of Bridle's own API."""


HEARTBEAT = "server.heartbeat"
"""OpenCode sends this event too, and does not publish it."""
EXCUSED = {
    "a right is missing": (403, b'"name":"ForbiddenError"'),
    "the ask has an answer": (409, b'"_tag":"PermissionAnsweredError"'),
    "the question has an answer": (409, b'"_tag":"QuestionAnsweredError"'),
    "OpenCode too answers with `name` where it publishes `_tag`": (400, b'"name":"BadRequest"'),
}
"""Answers that may differ from the schema, each with its reason; `POST /session` is never excused from the last."""


@dataclass(slots=True)
class Answer:
    """One recorded answer; that of a stream goes on."""

    method: str
    path: str
    status: int = 0
    kind: str = ""
    body: bytearray = field(default_factory=bytearray)
    is_whole: bool = False
    """Whether all of it was sent; a client may leave before."""

    @property
    def name(self) -> str:
        return f"{self.method} {self.path} {self.status}"


class Recorder:
    """An application that records all answers of another one."""

    def __init__(self, app: ASGIApp, answers: list[Answer]) -> None:
        self._app, self.answers = app, answers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = Answer(scope["method"], scope["path"])
        self.answers.append(answer)

        async def record(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer.status = message["status"]
                answer.kind = dict(message["headers"]).get(b"content-type", b"").decode()
            else:
                answer.body += message.get("body", b"")
                answer.is_whole = not message.get("more_body", False)
            await send(message)

        await self._app(scope, receive, record)


class Published:
    """The published schema."""

    def __init__(self, doc: dict[str, Any]) -> None:
        self._doc = doc
        self._registry: Registry[Any] = Registry().with_resource(DOC, Resource.opaque(doc))
        self._paths = [(re.compile(re.sub(r"\{[^}]+\}", "[^/]+", path)), path) for path in doc["paths"]]
        # A path without names in it comes before one with them.
        self._paths.sort(key=lambda each: each[1].count("{"))
        self._validator = lru_cache(None)(self._made)
        self._events = {self._type_of(each): each["$ref"] for each in doc["components"]["schemas"]["Event"]["anyOf"]}

    def _type_of(self, reference: dict[str, str]) -> str:
        schema = self._doc["components"]["schemas"][reference["$ref"].rpartition("/")[2]]
        return str(schema["properties"]["type"]["enum"][0])

    def _made(self, pointer: str) -> Draft202012Validator:
        return Draft202012Validator({"$ref": f"{DOC}#{pointer}"}, registry=self._registry)

    def faults(self, answer: Answer) -> Iterator[str]:
        """Yield the differences of an answer from its schema; those of unknown paths must be errors as JSON."""
        if answer.path.startswith(ELSEWHERE) or not answer.status:
            return
        found = next((path for form, path in self._paths if form.fullmatch(answer.path)), "")
        operation = self._doc["paths"].get(found, {}).get(answer.method.lower())
        if operation is None:
            if answer.status != 404 or b'"name":"NotFoundError"' not in answer.body:
                yield f"{answer.name}: unknown here, and no error that says so"
            return
        if excuse_of(answer):
            return
        if str(answer.status) not in operation["responses"]:
            yield f"{answer.name}: this status is not published: {answer.body[:200].decode()}"
            return
        if answer.kind.startswith(STREAM):
            yield from self._faults_of_events(answer)
            return
        content = operation["responses"][str(answer.status)].get("content")
        if content is None:
            if answer.body:
                yield f"{answer.name}: no body is expected"
            return
        if not answer.is_whole:
            return
        steps = ("paths", found, answer.method.lower(), "responses", str(answer.status))
        pointer = "".join(f"/{_escaped(step)}" for step in (*steps, "content", next(iter(content)), "schema"))
        for fault in self._faults(pointer, bytes(answer.body)):
            yield f"{answer.name}: {fault}"

    def _faults_of_events(self, answer: Answer) -> Iterator[str]:
        # The last one may be cut, where its reader has left.
        for block in bytes(answer.body).split(b"\n\n")[:-1]:
            if not block.startswith(b"data: "):
                yield f"{answer.name}: not an event: {block[:200]!r}"
                continue
            data = block.removeprefix(b"data: ")
            if answer.path == "/global/event":
                whole = msgspec.json.decode(data)
                if set(whole) - {"directory", "project", "workspace", "payload"}:
                    yield f"{answer.name}: unknown fields around an event: {list(whole)}"
                data = msgspec.json.encode(whole["payload"])
            kind = msgspec.json.decode(data)["type"]
            if kind == HEARTBEAT:
                continue
            if kind not in self._events:
                yield f"{answer.name}: the event {kind} is not published"
                continue
            for fault in self._faults(self._events[kind].removeprefix("#"), data):
                yield f"{answer.name}: {kind}: {fault}"

    def _faults(self, pointer: str, data: bytes) -> Iterator[str]:
        validator = self._validator(pointer)
        for error in validator.iter_errors(msgspec.json.decode(data)):
            for leaf in _leaves(error):
                yield f"{leaf.json_path}: {leaf.message[:300]}"


def excuse_of(answer: Answer) -> str:
    """Return why an answer may differ from the schema; empty if it may not."""
    fitting = (reason for reason, (status, mark) in EXCUSED.items() if answer.status == status and mark in answer.body)
    return "" if (answer.path, answer.status) == ("/session", 400) else next(fitting, "")


def _leaves(error: Any) -> Iterator[Any]:
    """Yield the faults of the alternative that comes nearest."""
    if not error.context:
        yield error
        return
    branches: dict[int, list[Any]] = {}
    for each in error.context:
        branches.setdefault(each.schema_path[0], []).append(each)
    # An alternative of another kind fails at its name; the one that was meant fails elsewhere.
    best = min(
        branches.values(), key=lambda found: (any(each.validator in ("const", "enum") for each in found), len(found))
    )
    for each in best:
        yield from _leaves(each)


def _escaped(step: str) -> str:
    return step.replace("~", "~0").replace("/", "~1").replace("{", "%7B").replace("}", "%7D")
