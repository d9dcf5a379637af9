"""Contexts that are full: of tools, of long prompts, of summaries."""

import asyncio
from dataclasses import replace
from pathlib import Path

from support.stories import tell
from support.virtual import run_virtually

from bridle import Agent, Reply, Runtime, ScriptedModel, call, tool
from bridle.core.messages import FRAME, UserMessage
from bridle.core.parts import Compaction
from bridle.core.session import Session
from bridle.core.states import Usage


@tool
async def fill(key: str = "", words: int = 3_000) -> str:
    """Say many words."""
    return f"{key} " + "word " * words


def counting(replies, *, fixed=0, summary="In short."):
    """Counts a token for four characters, and so many for tools and system."""

    def play(request):
        size = fixed + sum(len(str(message)) for message in request.messages) // 4
        if request.purpose == "compaction":
            return summary(request) if callable(summary) else Reply(text=summary, usage=Usage(size, 5))
        number = int(request.id.split(".")[1])
        said = replies[number - 1] if number <= len(replies) else "done"
        words, calls = (said, ()) if isinstance(said, str) else ("", (said,))
        return Reply(text=words, calls=calls, usage=Usage(size, 5))

    return ScriptedModel(play, context_window=10_000, max_output_tokens=1_024)


def test_a_context_that_is_full_of_tools_is_not_said_to_get_smaller():
    story = tell(counting([call("fill", key=str(n), words=60) for n in range(30)], fixed=8_700), tools=[fill])
    made = [part for part in story.parts(Compaction) if part.cause != "prune"]
    assert story.result.reason == "context_full"
    assert len(made) <= 3


def test_two_long_prompts_are_kept_whole_in_two_files_through_several_compactions(tmp_path):
    async def people(runtime, session, prompt):
        await runtime.prompt(session, "SECOND " + "two " * 3_000)

    async def work(seams):
        model = counting([call("fill", key=str(n)) for n in range(8)])
        agent = Agent("build", model=model, tools=[fill], seams=seams)
        runtime = Runtime(replace(agent.config, outputs=tmp_path))
        session = await runtime.create()
        prompt = await runtime.prompt(session, "FIRST " + "one " * 3_000)
        await people(runtime, session, prompt)
        result = await runtime.wait(session, prompt)
        await runtime.close()
        return result, model.requests[-1]

    result, last = run_virtually(work)
    assert result.reason in ("answered", "context_full")
    files = {path.read_text()[:5] for path in tmp_path.rglob("*.prompt.txt")}
    assert files == {"FIRST", "SECON"}
    shortened = [message.text for message in last.messages if "the whole is in" in message.text]
    for text in shortened:
        path = text.split("the whole is in ")[1].split("]")[0]
        assert len(Path(path).read_text()) > 10_000


def test_a_second_summary_is_made_from_the_whole_of_the_first():
    heard = []

    def summary(request):
        heard.append(request.messages[0].text)
        return Reply(text="START " + "fact " * 1_500 + "END OF THE FIRST", usage=Usage(2_000, 900))

    tell(counting([call("fill", key=str(n), words=1_500) for n in range(12)], summary=summary), tools=[fill])
    assert len(heard) >= 2
    assert "START" in heard[1] and "END OF THE FIRST" in heard[1] and heard[1].count("fact ") >= 1_400


def test_compacting_by_hand_does_not_start_what_waits_for_the_person():
    async def people(runtime, session, prompt):
        await asyncio.sleep(1)
        await runtime.prompt(session, "later", id="prm_later", queue=True)
        await runtime.abort(session)
        await runtime.wait(session, prompt)
        await runtime.compact(session)
        await runtime.parked(session)

    story = tell(ScriptedModel(lambda request: Reply(text="x " * 9_000, delay=5)), people=people)
    assert "prm_later" not in story.session.prompts


def test_density_is_learnt_from_the_whole_and_thoughts_are_not_words():
    session = Session()
    session.say(UserMessage("p", "x" * (400 - FRAME)))
    session.count(Usage(1_100))
    assert session.fixed == 1_000
    session.say(UserMessage("r", "x" * (79_600 - FRAME)))
    session.count(Usage(21_000, 10, reasoning=9_000))
    assert 0.24 < session.density < 0.26
    assert 2_000 < session.tokens_with(4_000) < 3_000
