"""What networks and providers do wrong, over real sockets, on all three wires: each cell with what must come of it."""

import asyncio
from dataclasses import dataclass, field

import msgspec
import pytest
from support import fault_connections, fault_streams
from support.fault_cells import NOW
from support.wire_faults import RawServer
from support.wires import KEY, WIRES, lane_to, model_of

from bridle import Runtime, RuntimeConfig, tool
from bridle.config.settings import DeadlineSettings, Settings
from bridle.core.agent import AgentDefinition
from bridle.core.parts import Call, Halt, Request
from bridle.core.states import Broken, Open, Replied
from bridle.seams import Seams
from bridle.turn import send_request

CELLS = {**fault_connections.CELLS, **fault_streams.CELLS}
RECORDING_SECONDS = 0.3
"""What is waited for is what is left of a wait, and writing it down takes a moment, on a busy machine a long one."""


class Fixed:
    """A clock whose wall stands still, so that dates in headers mean the same in every run."""

    def __init__(self):
        self._real = Seams().clock

    def wall(self):
        return NOW

    def monotonic(self):
        return self._real.monotonic()

    def since_boot(self):
        return self._real.since_boot()


@dataclass
class Instant(Seams):
    """Seams whose waits are written down instead of waited for."""

    waits: list[float] = field(default_factory=list)

    async def sleep(self, seconds):
        self.waits.append(round(seconds, 2))
        await asyncio.sleep(0)


def looked(wire, answers, address="", **how):
    """Run a turn against a server that plays these answers."""
    ran = []

    @tool
    def look(name: str) -> str:
        """Look at something."""
        ran.append(name)
        return f"saw {name}"

    async def work():
        seams = Instant(clock=Fixed())
        settings = Settings(deadlines=DeadlineSettings(0.5, 0.3, 30.0))
        async with RawServer(wire, answers) as server:
            lane = lane_to(address or server.address, **how)
            model = model_of(wire, lane)
            agents = [AgentDefinition("build", model="m")]
            async with Runtime(
                RuntimeConfig(models={"m": model}, tools=[look], agents=agents, settings=settings, seams=seams)
            ) as runtime:
                session = await runtime.create()
                result = await runtime.wait(session, await runtime.prompt(session, "go"))
                await lane.close()
                return result, await runtime.load(session), server, seams.waits

    return *asyncio.run(asyncio.wait_for(work(), 30)), ran


def words(session):
    """Everything that was said about failures."""
    parts = session.parts.values()
    found = [part.detail for part in parts if isinstance(part, Halt)]
    for state in (part.state for part in parts if isinstance(part, Request)):
        found += [state.error] if isinstance(state, Broken) else []
        found += [one.error for one in state.tries] if isinstance(state, Open) else []
    return " ".join(found)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("id", CELLS)
def test_cell(id, wire, monkeypatch):
    monkeypatch.setattr(send_request, "DEADLINE_GRAIN_SECONDS", 0.3)
    make, expected = CELLS[id]
    result, session, server, waits, ran = looked(wire, make(wire))
    assert (result.reason, server.requests, tuple(sorted(ran, key=ran.index))) == (
        expected.reason,
        expected.requests,
        expected.ran,
    ), words(session)
    if expected.text:
        assert result.text == expected.text
    assert server.problems == []
    assert expected.says in words(session)
    if expected.waits is not None:
        bounds = [wait if isinstance(wait, tuple) else (wait, wait) for wait in expected.waits]
        assert len(waits) == len(bounds) and all(
            low - RECORDING_SECONDS <= wait <= high for wait, (low, high) in zip(waits, bounds, strict=True)
        ), waits
    recorded = msgspec.json.encode(list(session.parts.values()))
    assert KEY.encode() not in recorded
    for part_ in session.parts.values():
        if isinstance(part_, Call):
            assert not isinstance(part_.state, (Open,))
        if isinstance(part_, Request) and isinstance(part_.state, Replied):
            assert part_.state.usage.total > 0


def test_the_matrix_is_large_enough():
    assert len(CELLS) == len(fault_connections.CELLS) + len(fault_streams.CELLS)
    assert len(CELLS) * len(WIRES) >= 250
