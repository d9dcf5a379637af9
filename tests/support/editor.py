"""`Editor`: a client of `bridle acp` in a real process; every message is validated by the schema of the protocol."""

from __future__ import annotations

import json
import os
import select
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

from support.cli_home import BRIDLE, Home

SCHEMA = Path(__file__).parent.parent / "data" / "acp" / "schema.json"
PATIENCE_SECONDS = 20
Message = dict[str, Any]


class Editor:
    """One process of `bridle acp`. `answer` answers permission requests and questions; None leaves them open."""

    def __init__(self, home: Home, words: Sequence[str] = (), **capabilities: Any) -> None:
        self.home = home
        self.answer: Callable[[Message], Message | None] = lambda asked: None
        self.asked: list[Message] = []
        self.updates: list[Message] = []
        self.withdrawn: list[int] = []
        self._buffer = b""
        self._next = 0
        self._methods: dict[int, str] = {}
        self._answers: dict[int, Message] = {}
        self.process = subprocess.Popen(
            [BRIDLE, "acp", *words],
            cwd=home.project,
            env=home.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.initialized = self.call("initialize", protocolVersion=1, clientCapabilities=capabilities)

    def __enter__(self) -> Editor:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()

    def new(self, **more: Any) -> str:
        """Open a new session, and return its id."""
        return str(self.call("session/new", cwd=str(self.home.project), mcpServers=[], **more)["sessionId"])

    def prompt(self, session: str, *words: str | Message) -> Message:
        """Send a prompt, and return the answer at the end of its turn."""
        return self.result(self.begin(session, *words))

    def begin(self, session: str, *words: str | Message) -> int:
        """Send a prompt, and return the number of the request."""
        blocks = [{"type": "text", "text": each} if isinstance(each, str) else each for each in words]
        return self.send("session/prompt", sessionId=session, prompt=blocks)

    def call(self, method: str, **params: Any) -> Message:
        """Send a request, and return its result."""
        return self.result(self.send(method, **params))

    def fails(self, method: str, **params: Any) -> tuple[int, str]:
        """Send a request that fails, and return the code and the message."""
        error = self.whole(self.send(method, **params))["error"]
        return error["code"], error["message"]

    def send(self, method: str, **params: Any) -> int:
        """Send a request, and return its number."""
        self._next += 1
        self._methods[self._next] = method
        self.write({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params})
        return self._next

    def notify(self, method: str, **params: Any) -> None:
        """Send a notification."""
        self.write({"jsonrpc": "2.0", "method": method, "params": params})

    def write(self, message: Message | bytes) -> None:
        """Send a line."""
        assert self.process.stdin is not None
        self.process.stdin.write(message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def result(self, id: int) -> Message:
        """Return the result of a request once it has come."""
        found = self.whole(id)
        assert "error" not in found, found
        return dict(found["result"])

    def whole(self, id: int | None) -> Message:
        """Return the answer to a request once it has come."""
        self.until(lambda: id in self._answers)
        assert id is not None
        return self._answers.pop(id)

    def failure(self) -> Message:
        """Return the next error that belongs to no request."""
        self.until(lambda: -1 in self._answers)
        return dict(self._answers.pop(-1)["error"])

    def until(self, happened: Callable[[], bool]) -> None:
        """Read until something has happened."""
        while not happened():
            self.read()

    def read(self) -> None:
        """Read one line, and answer it if it is a request."""
        message = json.loads(self._line())
        method = message.get("method", "")
        if not method:
            self._take_answer(message)
        elif method == "session/update":
            checked("SessionNotification", message["params"])
            self.updates.append(message["params"]["update"])
        elif method == "$/cancel_request":
            self.withdrawn.append(message["params"]["requestId"])
        else:
            checked({"session/request_permission": "RequestPermissionRequest"}.get(method, ELICIT), message["params"])
            self.asked.append(message)
            given = self.answer(message["params"])
            if given is not None:
                self.write({"jsonrpc": "2.0", "id": message["id"], "result": given})

    def _line(self) -> bytes:
        assert self.process.stdout is not None and self.process.stderr is not None
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE_SECONDS)
            assert ready, "the agent says nothing more"
            read = os.read(self.process.stdout.fileno(), 65536)
            assert read, f"the agent has ended: {self.process.stderr.read().decode()}"
            self._buffer += read
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _take_answer(self, message: Message) -> None:
        if "result" in message:
            checked(RESPONSES[self._methods[message["id"]]], message["result"])
        self._answers[-1 if message["id"] is None else message["id"]] = message

    def said(self) -> str:
        """Return all text of the agent so far."""
        return "".join(each["content"]["text"] for each in self.of("agent_message_chunk"))

    def of(self, kind: str) -> list[Message]:
        """Return the updates of a kind so far."""
        return [each for each in self.updates if each["sessionUpdate"] == kind]

    def call_states(self, title: str) -> list[str]:
        """Return the states of a call, in their order, by its last title."""
        calls = [each for each in self.updates if each["sessionUpdate"].startswith("tool_call")]
        ids = {each["toolCallId"] for each in calls if each.get("title") == title}
        return [each["status"] for each in calls if each["toolCallId"] in ids and "status" in each]

    def leave(self) -> int:
        """Close the connection, and return the exit status."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(PATIENCE_SECONDS)


ELICIT = "CreateElicitationRequest"
REQUESTS = {
    "session/update": "SessionNotification",
    "session/request_permission": "RequestPermissionRequest",
    "elicitation/create": ELICIT,
    "$/cancel_request": "CancelRequestNotification",
}
"""The messages that an agent sends by itself."""
RESPONSES = {
    "initialize": "InitializeResponse",
    "authenticate": "AuthenticateResponse",
    "session/new": "NewSessionResponse",
    "session/load": "LoadSessionResponse",
    "session/resume": "ResumeSessionResponse",
    "session/list": "ListSessionsResponse",
    "session/delete": "DeleteSessionResponse",
    "session/close": "CloseSessionResponse",
    "session/set_mode": "SetSessionModeResponse",
    "session/set_config_option": "SetSessionConfigOptionResponse",
    "session/prompt": "PromptResponse",
}


def chosen(option: str) -> Message:
    """Return the answer to a permission request."""
    return {"outcome": {"outcome": "selected", "optionId": option}}


@cache
def _validator(name: str) -> jsonschema.Draft202012Validator:
    definitions = json.loads(SCHEMA.read_text())["$defs"]
    return jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": definitions})


def checked(name: str, value: Message) -> None:
    """Validate a part of a message by its definition in the schema."""
    _validator(name).validate(value)
