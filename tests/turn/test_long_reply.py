"""A reply that takes ten minutes: it is on disk as it grows, and the disk is not worn by it."""

from pathlib import Path

from support.stories import tell
from support.virtual import run_virtually

from bridle import Limits, Runtime, RuntimeConfig
from bridle.core.agent import AgentDefinition
from bridle.core.parts import Text
from bridle.testing.scripted import Reply, ScriptedModel

LINES = "".join(f"Line {number}: {number * 7919 % 99991} and so it goes on and on.\n" for number in range(23_500))
SECONDS = 600
PIECES = 12_000


def written():
    """Bytes that this process has handed to the system so far."""
    fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(fields["wchar"])


def test_a_megabyte_over_ten_minutes_writes_at_most_five(tmp_path):
    assert len(LINES) >= 1_000_000
    reply = Reply(text=LINES, chunk=-(-len(LINES) // PIECES), pace=SECONDS / PIECES)
    model = ScriptedModel([reply], max_output_tokens=300_000)

    async def work(seams):
        path = tmp_path / "journal.db"
        runtime = Runtime(
            RuntimeConfig(journal=path, models={"m": model}, agents=[AgentDefinition("build", model="m")], seams=seams)
        )
        async with runtime:
            session = await runtime.create()
            before = written()
            result = await runtime.wait(session, await runtime.prompt(session, "go"))
            after = written()
            return result, after - before, await runtime.load(session)

    result, bytes_written, session = run_virtually(work)
    assert (result.reason, result.text) == ("answered", LINES)
    assert result.seconds >= SECONDS * 0.98
    assert [part.text for part in session.parts.values() if isinstance(part, Text)] == [LINES]
    assert bytes_written <= 5_000_000, bytes_written


def test_a_reply_that_ignores_its_length_limit_is_cut_off_there():
    """As from a server that knows no such limit: what it writes beyond it would be paid for all the same."""
    endless = Reply(text=LINES, chunk=100)
    story = tell(ScriptedModel([endless], max_output_tokens=2_000), limits=Limits(tokens=10_000))
    assert (story.result.reason, story.result.cut) == ("answered", True)
    assert len(story.result.text) <= 2_000 * 8 + 100
    assert story.result.tokens <= 10_000
