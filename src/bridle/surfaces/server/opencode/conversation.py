"""`Conversation`: the messages and parts of one session as clients know them, and an event for each change."""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec.structs import replace

from bridle.surfaces.server.opencode import events, shapes


@dataclass(slots=True)
class Shown:
    """A message with its parts, by id, in ascending order; `turn` and `sequence` tell when it was recorded."""

    info: shapes.Message
    turn: int
    sequence: int
    parts: dict[str, shapes.Part] = field(default_factory=dict)

    @property
    def whole(self) -> shapes.MessageWithParts:
        """The message as lists have it."""
        return shapes.MessageWithParts(self.info, tuple(self.parts[id] for id in sorted(self.parts)))


class Conversation:
    """The messages of a session. An update that changes nothing yields no event."""

    def __init__(self) -> None:
        self.messages: dict[str, Shown] = {}
        self.told: list[events.Event] = []
        """Events that were not taken yet."""

    def take(self) -> list[events.Event]:
        """Return the events since the last call."""
        told, self.told = self.told, []
        return told

    def put(self, info: shapes.Message, turn: int, sequence: int) -> None:
        """Add or change a message."""
        known = self.messages.get(info.id)
        if known is None:
            self.messages[info.id] = Shown(info, turn, sequence)
        elif known.info != info or known.turn != turn:
            known.info, known.turn = info, turn
        else:
            return
        self.told.append(events.MessageUpdated(sessionID=info.sessionID, info=info))

    def change(self, info: shapes.Message) -> None:
        """Change a known message."""
        known = self.messages[info.id]
        self.put(info, known.turn, known.sequence)

    def part(self, part: shapes.Part, at: int) -> None:
        """Add or change a part of a known message."""
        parts = self.messages[part.messageID].parts
        if parts.get(part.id) != part:
            parts[part.id] = part
            self.told.append(events.PartUpdated(sessionID=part.sessionID, part=part, time=at))

    def grow(self, message: str, id: str, text: str) -> None:
        """Append to a known text or thought."""
        part = self.messages[message].parts[id]
        assert isinstance(part, (shapes.TextPart, shapes.ReasoningPart))
        self.messages[message].parts[id] = replace(part, text=part.text + text)
        self.told.append(events.PartDeltaShown(sessionID=part.sessionID, messageID=message, partID=id, delta=text))

    def remove_part(self, message: str, id: str) -> None:
        """Remove a part, if it is known."""
        shown = self.messages[message]
        if shown.parts.pop(id, None) is not None:
            self.told.append(events.PartGone(sessionID=shown.info.sessionID, messageID=message, partID=id))

    def remove(self, message: str) -> None:
        """Remove a message with its parts."""
        shown = self.messages.pop(message)
        self.told.append(events.MessageRemoved(sessionID=shown.info.sessionID, messageID=message))

    def listed(self) -> list[shapes.MessageWithParts]:
        """Return all messages, oldest first."""
        found = sorted(self.messages.values(), key=lambda shown: (shown.info.time.created, shown.info.id))
        return [shown.whole for shown in found]

    def last_reply(self, turn: int) -> Shown | None:
        """Return the last reply of a turn."""
        return max(self._replies(turn), key=lambda each: each.info.time.created, default=None)

    def first_reply(self, turn: int) -> Shown | None:
        """Return the first reply of a turn."""
        return min(self._replies(turn), key=lambda each: each.info.time.created, default=None)

    def _replies(self, turn: int) -> list[Shown]:
        of_turn = (each for each in self.messages.values() if each.turn == turn)
        return [each for each in of_turn if isinstance(each.info, shapes.Assistant)]
