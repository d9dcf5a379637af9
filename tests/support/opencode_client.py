"""A client of OpenCode's events: it keeps messages and parts as OpenCode's screens do, and fails where they would."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from bridle.surfaces.server.opencode import events
from bridle.surfaces.server.opencode.projection import Projection

DIGITS = 13
"""Digits of a time: a search over texts needs the same number in all of them."""


def plain(value: Any) -> Any:
    """Return a value as JSON brings it to a client."""
    return msgspec.json.decode(msgspec.json.encode(value))


class Client:
    """The state of a client that has seen these events."""

    def __init__(self) -> None:
        self.messages: dict[str, Any] = {}
        self.parts: dict[str, dict[str, Any]] = {}
        self.session: Any = None
        self.status = "idle"
        self.todos: Any = []
        self.asks: dict[str, Any] = {}
        self.created: dict[str, int] = {}
        self.last = ""
        self.seen: set[str] = set()

    def take(self, told: Iterable[Any]) -> None:
        """Apply events in their order."""
        for event in told:
            self.apply(*plain(events.body(event)))

    def apply(self, name: str, given: Any) -> None:
        """Apply one event by its type and its properties."""
        self.seen.add(name)
        getattr(self, "on_" + name.replace(".", "_"))(given)
        self.last = name

    def on_message_updated(self, given: Any) -> None:
        info = given["info"]
        assert info["sessionID"] == given["sessionID"]
        assert self.created.setdefault(info["id"], info["time"]["created"]) == info["time"]["created"]
        assert len(str(info["time"]["created"])) == DIGITS
        assert info["id"].startswith("msg_")
        if info["role"] == "assistant":
            assert info["parentID"] in self.messages, "an answer comes after its prompt"
        self.messages[info["id"]] = info
        self.parts.setdefault(info["id"], {})

    def on_message_removed(self, given: Any) -> None:
        del self.messages[given["messageID"]], self.parts[given["messageID"]]

    def on_message_part_updated(self, given: Any) -> None:
        part = given["part"]
        known = self.parts[part["messageID"]]
        if part["id"] not in known:
            assert part["id"].startswith("prt_")
            # Found by a binary search: a new part belongs behind all others, but for the end of a step.
            behind = [each for each in known if each > part["id"]]
            assert all(known[each]["type"] in ("step-finish", "text") for each in behind), (part, list(known))
        known[part["id"]] = part

    def on_message_part_delta(self, given: Any) -> None:
        part = self.parts[given["messageID"]][given["partID"]]
        assert part["type"] in ("text", "reasoning") and given["field"] == "text" and given["delta"]
        self.parts[given["messageID"]][given["partID"]] = {**part, "text": part["text"] + given["delta"]}

    def on_message_part_removed(self, given: Any) -> None:
        del self.parts[given["messageID"]][given["partID"]]

    def on_session_created(self, given: Any) -> None:
        assert self.session is None

    def on_session_updated(self, given: Any) -> None:
        self.session = given["info"]

    def on_session_status(self, given: Any) -> None:
        self.status = given["status"]["type"]
        if self.status == "idle":
            unfinished = [each for each in self.messages.values() if each["role"] == "assistant"]
            assert all("completed" in each["time"] for each in unfinished), "later prompts would stay queued"
            assert not self.asks

    def on_session_idle(self, given: Any) -> None:
        assert (self.last, self.status) == ("session.status", "idle")

    def on_server_connected(self, given: Any) -> None:
        assert not self.seen - {"server.connected"}

    def on_server_heartbeat(self, given: Any) -> None:
        pass

    on_session_diff = on_session_deleted = on_server_heartbeat

    def on_session_error(self, given: Any) -> None:
        assert any(each.get("error") == given["error"] for each in self.messages.values())

    def on_session_compacted(self, given: Any) -> None:
        pass

    def on_todo_updated(self, given: Any) -> None:
        self.todos = given["todos"]

    def on_tui_toast_show(self, given: Any) -> None:
        assert given["message"]

    def on_permission_asked(self, given: Any) -> None:
        self.asks[given["id"]] = given
        assert given["tool"]["messageID"] in self.messages

    on_question_asked = on_permission_asked

    def on_permission_replied(self, given: Any) -> None:
        # A new stream tells of answers that its reader may have missed.
        self.asks.pop(given["requestID"], None)

    on_question_replied = on_question_rejected = on_permission_replied

    def listed(self) -> list[Any]:
        """Return messages and parts as the client shows them."""
        order = sorted(self.messages.values(), key=lambda info: f"{info['time']['created']}{info['id']}")
        return [{"info": info, "parts": sorted_parts(self.parts[info["id"]])} for info in order]


def sorted_parts(parts: dict[str, Any]) -> list[Any]:
    return [parts[id] for id in sorted(parts)]


def agrees(client: Client, projection: Projection) -> None:
    """The client shows what it would get if it asked now."""
    assert client.listed() == plain(projection.talk.listed())
    assert client.todos == plain(projection.todos)
    assert sorted(client.asks) == sorted(ask.id for ask in projection.asks.values())
    assert client.status == projection.status.type
    shown = plain(projection.shown())
    assert {**client.session, "time": 0} == {**shown, "time": 0}
