"""A person who presses, clicks, pastes and resizes at random in the terminal application, while turns run."""

import asyncio
import random
import shutil
import tempfile
from collections import deque
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import Any

from msgspec.structs import asdict
from textual import events
from textual.geometry import Size
from textual.worker import WorkerFailed

from bridle import Reply, call, tool
from bridle.config.settings import UiSettings
from bridle.core.permission import Rule
from bridle.surfaces.tui.commands import OURS
from bridle.surfaces.tui.themes import COLORS
from bridle.testing.scripted import Scripted, ScriptedError
from bridle.tools.registry import builtin_tools
from bridle.tools.tool import as_tool
from bridle.values.keys import KeySettings, keys_of
from support.odd_texts import PIECES
from support.tui_app import Seat, seated

RULES = (Rule("*", "*", "allow"), Rule("edit", "*", "ask"), Rule("python", "wonder", "ask"))
TOOLS = ("read", "write", "edit", "glob", "grep", "list", "todowrite", "question")
WORDS = ("go", "look", "a.py", "@a", "@a.py", "/", "/x", "!ls", "the tests", "#", "**bold**", "1", "é漢字")
LEAVING = {"exit", "quit", "interrupt"}
"""Keys that leave the application: pressed rarely."""
PLAIN = ("enter", "escape", "tab", "shift+tab", "up", "down", "left", "right", "home", "end", "pageup", "pagedown")
SIZES = ((80, 24), (140, 44), (200, 60), (120, 30), (119, 30), (40, 12), (20, 6), (8, 3), (1, 1), (300, 5), (5, 90))
TRACE = 60


@tool
async def wonder(key: str) -> str:
    """Wonder about something, if a person allows it."""
    await asyncio.sleep(0.01)
    return f"wondered about {key}\n" * 30


@tool
async def brief(key: str) -> str:
    """Work for a moment."""
    await asyncio.sleep(0.05)
    return key


class Crashed(AssertionError):
    """The application has crashed or hangs; says after which acts."""


class RandomPerson:
    """One life of the application, told by a seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._chance = random.Random(seed)
        self._acts: deque[str] = deque(maxlen=TRACE)
        keys = asdict(KeySettings())
        self._keys = [key for name, given in keys.items() if name not in LEAVING for key in keys_of(given)]
        self._leaving = [key for name in LEAVING for key in keys_of(keys[name])]

    async def live(self, acts: int) -> None:
        """Do a number of random things, unless one of them leaves the application. Raises `Crashed`."""
        folder = Path(tempfile.mkdtemp(prefix="bridle-random-"))
        (folder / "a.py").write_text("def total():\n    return 0\n" * 20)
        tools = [as_tool(wonder), as_tool(brief), *(each for each in builtin_tools() if each.spec.name in TOOLS)]
        told: dict[str, Any] = {"rules": RULES, "toasts": True, "ui": UiSettings(theme="dark")}
        try:
            # An export without a name is written into the working directory.
            with chdir(folder):
                await self._lived(folder, acts, tools=tools, play=self._reply, **told)
        except Exception as error:
            raise Crashed(f"seed {self.seed}: {type(error).__name__}: {error}; after {list(self._acts)}") from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    async def _lived(self, folder: Path, acts: int, **told: Any) -> None:
        async with seated(folder, **told) as seat:
            for _ in range(acts):
                await self._act(seat)
                if not seat.app.is_running:
                    break
            await self._settled(seat)

    async def _settled(self, seat: Seat) -> None:
        """Wait until everything that was sent has been handled, which shows that nothing hangs."""
        if seat.app.is_running:
            await seat.pilot.pause()
        error = seat.app._exception
        if error is not None:
            raise error.error if isinstance(error, WorkerFailed) else error

    async def _act(self, seat: Seat) -> None:
        acts: list[tuple[int, Callable[[Seat], str]]] = [
            (30, self._press),
            (12, self._type),
            (8, self._prompt),
            (14, self._point),
            (5, self._paste),
            (4, self._resize),
            (4, self._command),
            (2, self._leader),
            (1, self._theme),
        ]
        act = self._chance.choices([each for _, each in acts], [weight for weight, _ in acts])[0]
        self._acts.append(f"{act.__name__.strip('_')} {act(seat)}")
        match self._chance.randrange(12):
            case 0:
                await self._settled(seat)
            case 1 | 2 | 3:
                await asyncio.sleep(0.01)

    def _press(self, seat: Seat) -> str:
        if self._chance.random() < 0.01:
            key = self._chance.choice([key for key in self._leaving if not key.startswith("leader")])
        else:
            key = self._chance.choice((*PLAIN, *PLAIN, *self._keys, "backspace", "delete", "space", "ctrl+u"))
        self._send(seat, key)
        return key

    def _send(self, seat: Seat, key: str) -> None:
        for each in key.replace("leader", KeySettings().leader).split(" "):
            seat.app.post_message(events.Key(each, {"enter": "\r", "tab": "\t", "space": " "}.get(each)))

    def _leader(self, seat: Seat) -> str:
        letter = self._chance.choice("abcdefghijklmnoprstuvwxyz")
        self._send(seat, "leader")
        seat.post(letter)
        return letter

    def _type(self, seat: Seat) -> str:
        words = self._chance.choice((*WORDS, *(each for each in PIECES if each.isprintable())))[:40]
        seat.post(words)
        return repr(words)

    def _prompt(self, seat: Seat) -> str:
        words = self._chance.choice(WORDS)
        seat.post(words)
        self._send(seat, "enter")
        return repr(words)

    def _command(self, seat: Seat) -> str:
        name = self._chance.choice([row.name for row in OURS if row.name != "exit"])
        seat.post(f"/{name}{self._chance.choice(('', '', ' x', ' out.json'))}")
        self._send(seat, "enter")
        return name

    def _paste(self, seat: Seat) -> str:
        words = self._chance.choice((*PIECES, "one\ntwo\n" * 300, "a.py", "/no/such.png", "", "x" * 5_000))
        seat.app.post_message(events.Paste(words))
        return repr(words[:30])

    def _resize(self, seat: Seat) -> str:
        size = Size(*self._chance.choice(SIZES))
        driver: Any = seat.app._driver
        driver._size = size
        seat.app.post_message(events.Resize(size, size))
        return str(tuple(size))

    def _point(self, seat: Seat) -> str:
        """Click, drag, hover or scroll."""
        width, height = seat.app.size
        x, y = self._chance.randrange(max(1, width)), self._chance.randrange(max(1, height))
        kinds: list[tuple[type[events.MouseEvent], ...]] = [
            (events.MouseMove,),
            (events.MouseScrollUp,),
            (events.MouseScrollDown,),
            (events.MouseMove, events.MouseDown, events.MouseUp),
            (events.MouseDown, events.MouseMove, events.MouseUp),
            (events.MouseDown,),
            (events.MouseUp,),
        ]
        chosen = self._chance.choice(kinds)
        for number, kind in enumerate(chosen):
            # A drag ends elsewhere.
            at = (x, y) if number < 2 else (min(width - 1, x + 3), y) if len(chosen) == 3 else (x, y)
            seat.app.post_message(kind(None, *at, 0, 0, self._chance.choice((1, 1, 1, 3)), False, False, False, *at))
        return f"{[kind.__name__ for kind in chosen]} {x},{y}"

    def _theme(self, seat: Seat) -> str:
        seat.app.theme = self._chance.choice(list(COLORS))
        return seat.app.theme

    def _reply(self, request: Any) -> Scripted:
        """Return what the model says next: text of all kinds, calls of all tools, or a failure."""
        chance = self._chance
        words = " ".join(chance.choice((*PIECES, *WORDS)) for _ in range(chance.randrange(30)))
        calls = [
            call("look", key=words[:20]),
            call("brief", key="a"),
            call("wonder", key=str(chance.random())),
            call("read", filePath="a.py"),
            call("write", filePath=f"{chance.randrange(9)}.py", content=words),
            call("edit", filePath="a.py", oldString="return 0", newString=words or "1", replaceAll=True),
            call("grep", pattern="total"),
            call("list", path="."),
            call("nothing", of="this"),
            call("todowrite", todos=[{"content": words[:60], "status": "pending"}]),
            call("question", questions=[{"question": words[:60] or "?", "options": [{"label": "a"}, {"label": "b"}]}]),
        ]
        kind = chance.randrange(10)
        if kind == 0:
            return Reply(error=ScriptedError(words or "no", status=chance.choice((400, 401, 500))))
        if kind < 6:
            some = tuple(chance.sample(calls, chance.randrange(1, 4)))
            return Reply(text=words[: chance.randrange(200)], reasoning=words[:50], calls=some)
        return Reply(text=words, chunk=chance.randrange(1, 9), pace=chance.choice((0.0, 0.002)))
