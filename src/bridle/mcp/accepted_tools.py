"""`AcceptedTools`: stores each MCP server's accepted tools; the first offer counts, changes wait for an approval."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from difflib import unified_diff
from pathlib import Path
from typing import Any, Protocol
from unicodedata import category

import msgspec

from bridle.config.settings import McpServer
from bridle.errors import ConfigError
from bridle.workspace.json_store import JsonStore

MOST_TOOLS = 256
MOST_BYTES = 200_000
"""Maximum size of all definitions of one server, because they go into every request."""
MOST_INSTRUCTIONS = 2_000


class Definition(msgspec.Struct, frozen=True):
    """A tool definition as the model sees it."""

    name: str
    description: str
    schema: dict[str, Any]


class Offer(msgspec.Struct, frozen=True):
    """Everything a server says about itself that reaches a model."""

    tools: dict[str, Definition] = {}
    instructions: str = ""
    resources: bool = False

    def bounded(self) -> tuple[Offer, str]:
        """Return the offer cut to the limits, and a message about tools left out; empty if there are none."""
        kept: dict[str, Definition] = {}
        size = 0
        for name, tool in self.tools.items():
            size += len(msgspec.json.encode(tool))
            if size > MOST_BYTES or len(kept) == MOST_TOOLS:
                left = len(self.tools) - len(kept)
                words = f"{left} of its {len(self.tools)} tools are left out: they are too many or too long"
                return self._with(kept), words
            kept[name] = tool
        return self._with(kept), ""

    def _with(self, tools: dict[str, Definition]) -> Offer:
        return Offer(tools, self.instructions[:MOST_INSTRUCTIONS], self.resources)


class Pin(msgspec.Struct, frozen=True):
    """The accepted offer of a server, and its current offer if that differs."""

    accepted: Offer
    offered: Offer | None = None
    seen: float = 0.0

    @property
    def now(self) -> Offer:
        """The offer in force: the accepted parts that are still offered unchanged."""
        if self.offered is None:
            return self.accepted
        current = self.offered.tools
        kept = {name: tool for name, tool in self.accepted.tools.items() if current.get(name) == tool}
        same = self.accepted.instructions == self.offered.instructions
        resources = self.accepted.resources and self.offered.resources
        return Offer(kept, self.accepted.instructions if same else "", resources)

    def changes(self) -> list[str]:
        """Return the changes that wait for the user's approval, one line each."""
        if self.offered is None:
            return []
        before = self.accepted.tools
        lines = [
            f"{name}: {'changed' if name in before else 'new'}"
            for name, tool in self.offered.tools.items()
            if before.get(name) != tool
        ]
        changed = self.offered.instructions and self.offered.instructions != self.accepted.instructions
        lines += ["its resources: new"] if self.offered.resources and not self.accepted.resources else []
        return [*lines, "its instructions: changed"] if changed else lines

    def told(self) -> list[str]:
        """Return a diff from the accepted to the current offer, for a person to review."""
        before = _described(self.accepted)
        after = _described(self.offered or self.accepted)
        return [_visible(line) for line in unified_diff(before, after, "accepted", "offered", lineterm="", n=1)]


def _visible(line: str) -> str:
    """Escape invisible characters: a terminal does not show them, but a model reads them."""
    hidden = ("Cf", "Co", "Cn", "Cs", "Zl", "Zp")
    return "".join(f"\\u{{{ord(each):x}}}" if category(each) in hidden else each for each in line)


def _described(offer: Offer) -> list[str]:
    lines: list[str] = []
    for tool in sorted(offer.tools.values(), key=lambda tool: tool.name):
        schema = msgspec.json.format(msgspec.json.encode(tool.schema), indent=1).decode()
        lines += [f"tool {tool.name}", *tool.description.splitlines(), *schema.splitlines()]
    lines += ["resources"] if offer.resources else []
    return [*lines, "instructions", *offer.instructions.splitlines()]


class PinStore(Protocol):
    """A place for pins, by the key of their server. Methods raise `ConfigError` if it cannot be used."""

    def read(self) -> dict[str, Pin]:
        """Return all pins."""

    def change(self, key: str, change: Callable[[Pin | None], Pin]) -> Pin:
        """Replace one pin by the result of a function of it, and return the new one."""


class MemoryPins:
    """Implements `PinStore` for one program."""

    def __init__(self) -> None:
        self._pins: dict[str, Pin] = {}

    def read(self) -> dict[str, Pin]:
        return dict(self._pins)

    def change(self, key: str, change: Callable[[Pin | None], Pin]) -> Pin:
        pin = self._pins[key] = change(self._pins.get(key))
        return pin


class AcceptedTools:
    """The pins of all servers: in one file of the user, or in memory. Methods raise `ConfigError` if it is unusable."""

    def __init__(self, path: Path | None = None) -> None:
        self._kept: PinStore = JsonStore(path, dict[str, Pin]) if path is not None else MemoryPins()
        self._file = path is not None

    def review(self, server: str) -> str:
        """Return how the user accepts a changed offer."""
        return f"`bridle mcp approve {server}`" if self._file else "a restart of the program, which accepts its offer"

    def all(self) -> dict[str, Pin]:
        return self._kept.read()

    def take(self, key: str, offer: Offer, now: float) -> Pin:
        """Record a server's current offer and return its pin. The first offer is accepted; later changes are not."""

        def change(pin: Pin | None) -> Pin:
            accepted = pin.accepted if pin is not None else offer
            return Pin(accepted, offer if offer != accepted else None, now)

        return self._kept.change(key, change)

    def accept(self, key: str, seen: Pin) -> None:
        """Accept a server's current offer; raises `ConfigError` if it is not the one in `seen`."""

        def change(pin: Pin | None) -> Pin:
            if pin is None or pin.offered is None or pin.offered != seen.offered:
                raise ConfigError("its offer has changed meanwhile: review it again")
            return Pin(pin.offered, None, pin.seen)

        self._kept.change(key, change)


def key_of(name: str, server: McpServer, directory: Path) -> str:
    """Return a key from the server's name, command or URL; for a command, also from the folders it runs in."""
    told = msgspec.json.encode([server.command, server.url, [str(directory), server.folder] if server.command else []])
    return f"{name} {hashlib.blake2b(told, digest_size=12).hexdigest()}"
