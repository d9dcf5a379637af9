"""What reviews and attacks found in trees and long turns: each is a story that once went wrong."""

import asyncio

import pytest
from support.cut_process import WiredJournal
from support.stories import look
from support.trees import ROOT, family, spawn
from support.virtual import run_virtually

from bridle import Agent, Output, Reply, Rule, Runtime, RuntimeConfig, ScriptedModel, TreeLimits, call, tool
from bridle.config.settings import LimitSettings, Settings
from bridle.core.agent import AgentDefinition as Definition, Price
from bridle.core.events import Entry
from bridle.core.fold import load
from bridle.core.inbox import PromptItem, TurnOptions
from bridle.core.parts import Call, File, Halt, Notice
from bridle.core.states import Refused, Usage
from bridle.errors import JournalFailed

ASKS = (Rule("python", "look", "ask"),)


def make_runtime(journal, seams, *, root, child, outputs=None, permission=(), **settings):
    return Runtime(
        RuntimeConfig(
            journal=journal,
            settings=Settings(**settings),
            models={"c": ScriptedModel(child, ref="c")}
            | ({"m": ScriptedModel(root, ref="m")} if root is not None else {}),
            tools=[look],
            agents=[Definition("build", model="m", permission=permission), Definition("child", model="c")],
            subagents=["child"],
            outputs=outputs,
            directory="/project",
            seams=seams,
        )
    )


def test_a_long_report_that_cannot_be_stored_is_told_by_its_ends(tmp_path):
    (tmp_path / "file").write_text("in the way")

    async def work(seams):
        async with make_runtime(
            WiredJournal(),
            seams,
            root=[spawn("go"), "heard"],
            child=[" ".join(map(str, range(60_000)))],
            outputs=tmp_path / "file",
        ) as runtime:
            session = await runtime.create()
            result = await runtime.wait(session, await runtime.prompt(session, "go"))
            return result, await runtime.load(session)

    result, session = run_virtually(work)
    assert (result.reason, result.text) == ("answered", "heard")
    assert not any(isinstance(part, Halt) for part in session.parts.values())
    assert any("could not be stored" in message.text for message in session.messages)


def test_a_root_that_asks_while_its_subagents_work_is_not_left_until_they_rest():
    seen = []

    async def people(runtime, session, prompt):
        result = await runtime.wait(session, prompt)
        state = await runtime.load(session)
        seen.append(sorted(type(one).__name__ for one in state.turn.batch.values()))
        await runtime.answer(session, result.asks[0].id, "once")

    story = family(
        root=[[spawn("slow"), call("look", key="x")], "done"],
        child=lambda request: Reply(text="ok", delay=50),
        root_permission=ASKS,
        on_ask="pause",
        people=people,
    )
    assert seen == [["Asking", "Done"]]
    assert story.result.reason == "answered"


def test_another_process_that_aborts_a_child_leaves_the_rest_of_the_tree_alone():
    def root(request):
        return [spawn("long"), spawn("longer")] if len(request.messages) == 1 else Reply(text="told", delay=5)

    class Shared(WiredJournal):
        async def close(self):
            """The other process has it open still."""

    async def work(seams):
        journal = Shared()
        slow = {"root": root, "child": lambda request: Reply(text="ok", delay=60)}
        one = make_runtime(journal, seams, **slow)
        two = make_runtime(journal, seams, **slow)
        await one.create(ROOT)
        prompt = await one.prompt(ROOT, "go")
        waiting = asyncio.ensure_future(one.wait(ROOT, prompt))
        await asyncio.sleep(10)
        child = f"{ROOT}.1.1.1.0.0"
        await two.abort(child)
        await two.parked(child)
        await two.close()
        result = await waiting
        reasons = {id: (await one.load(id)).turn.finish.reason for id in journal._sessions}
        await one.close()
        return result.reason, reasons

    reason, reasons = run_virtually(work)
    assert reason == "answered"
    assert sorted(reasons.values()) == ["aborted", "answered", "answered"]


def test_calls_of_the_tree_that_are_used_up_close_the_turn():
    story = family(
        root=lambda request: (
            [call("look", key=f"{n} {request.id}") for n in range(2)] if request.tool_choice == "auto" else "closed"
        ),
        child=None,
        tree=TreeLimits(steps=1_000, tool_calls=3),
    )
    assert (story.result.reason, story.result.tool_calls, story.result.text) == ("tree_budget", 3, "closed")
    assert story.result.steps == 3


def test_a_report_that_came_is_part_of_what_the_closing_request_is_kept_for():
    kept = []

    async def people(runtime, session, prompt):
        for _ in range(30):
            await asyncio.sleep(1)
            account = await runtime.journal.account(f"{ROOT}/1")
            if account is not None and account.children:
                kept.append(account.kept.tokens)

    family(
        root=[[spawn("a"), spawn("b")], "done"],
        child=lambda request: Reply(
            text="words " * 6_000 if "a" in request.messages[0].text else "b",
            delay=5 if "a" in request.messages[0].text else 20,
        ),
        people=people,
    )
    assert kept[-1] > kept[0] + 7_000


def test_a_tree_goes_on_after_a_failure_of_the_disk_in_one_of_its_sessions():
    class Hiccup(WiredJournal):
        failed = False

        async def append(self, lease, entry: Entry, **rest):
            if "." in lease.session and not self.failed and len(self._kept(lease.session).entries) == 2:
                self.failed = True
                raise JournalFailed("a hiccup")
            await super().append(lease, entry, **rest)

    async def work(seams):
        runtime = make_runtime(Hiccup(), seams, root=[spawn("go"), "done"], child=["ok"])
        session = await runtime.create()
        prompt = await runtime.prompt(session, "go")
        with pytest.raises(JournalFailed):
            await runtime.wait(session, prompt)
        await runtime.resume(session)
        result = await runtime.wait(session, prompt)
        await runtime.close()
        return result.reason

    assert run_virtually(work) == "answered"


@pytest.mark.parametrize("at", ["create", "submit"])
def test_a_child_that_never_got_its_prompt_does_not_hold_up_an_abort(at):
    class Cut(WiredJournal):
        async def create(self, info):
            if at == "create" and "." in info.id:
                raise JournalFailed("the process died here")
            return await super().create(info)

        async def submit(self, session, item, *, wake=None):
            if "." in session and isinstance(item, PromptItem):
                raise JournalFailed("the process died here")
            return await super().submit(session, item, wake=wake)

    async def work(seams):
        journal = Cut()
        first = make_runtime(journal, seams, root=[spawn("go"), "done"], child=["ok"])
        session = await first.create(ROOT)
        prompt = await first.prompt(session, "go")
        with pytest.raises(JournalFailed):
            await first.wait(session, prompt)
        for kept in journal._sessions.values():
            kept.held = False
        second = make_runtime(journal, seams, root=None, child=["ok"])
        await second.abort(session)
        result = await second.wait(session, prompt)
        return result.reason, journal._accounts[f"{ROOT}/1"]

    reason, account = run_virtually(work)
    # The model is gone too, and that was found first.
    assert reason == "error"
    assert (account.children, account.live) == (0, 0)


def test_a_cut_synthesis_says_so_and_files_of_the_prompt_are_read():
    @tool
    async def gather() -> Output:
        """Gather."""
        return Output("found", synthesize=True)

    heard = []

    def play(request):
        if request.purpose == "synthesis":
            heard.append(request.messages[0].text)
            return Reply(text="half an ans", finish="length")
        return call("gather")

    async def work(seams):
        agent = Agent("build", model=ScriptedModel(play), tools=[gather], seams=seams)
        async with agent.runtime() as runtime:
            session = await runtime.create()
            prompt = await runtime.prompt(session, "read it", files=[File("a.txt", "the words of the file")])
            return await runtime.wait(session, prompt)

    result = run_virtually(work)
    assert (result.reason, result.cut) == ("synthesized", True)
    assert "the words of the file" in heard[0]


def test_a_month_that_is_limited_in_the_middle_of_a_day_holds_at_once():
    price = Price(1_000.0, 1_000.0)

    async def work(seams):
        journal = WiredJournal()
        ends = []
        for month in (None, 5.0):
            limits = LimitSettings()
            daily = type(limits.daily)(cost=100.0)
            limits = LimitSettings(daily=daily, monthly=type(limits.monthly)(cost=month))
            model = ScriptedModel(
                lambda request: Reply(text="ok", usage=Usage(1_000, 500)), price=price, max_output_tokens=1_024
            )
            agent = Agent("build", model=model, seams=seams, journal=journal, settings=Settings(limits=limits))
            ends += [(await agent.run("go")).reason for _ in range(4)]
        return ends

    ends = run_virtually(work)
    assert ends[:4] == ["answered"] * 4
    assert ends[-1] == "cost_budget"


def test_a_budget_of_the_tree_is_announced_at_four_fifths():
    story = family(
        root=[spawn("a"), spawn("b"), spawn("c"), "done"],
        child=lambda request: "ok" if len(request.messages) > 3 else call("look", key=request.id),
        tree=TreeLimits(steps=12),
    )
    notices = [
        part.text for session in story.sessions.values() for part in session.parts.values() if isinstance(part, Notice)
    ]
    assert any(text.startswith("Tree step limit nearly reached (") and "of 12" in text for text in notices)


def test_an_ask_whose_teller_died_is_found_by_whoever_waits():
    class Mute(WiredJournal):
        mute = True

        async def submit(self, session, item, *, wake=None):
            if self.mute and type(item).__name__ == "ChildAsksItem":
                raise JournalFailed("the process died here")
            return await super().submit(session, item, wake=wake)

    async def work(seams):
        journal = Mute()
        options = {"root": [spawn("go"), "done"], "child": [call("look", key="x"), "ok"], "permission": ASKS}
        first = make_runtime(journal, seams, **options)
        session = await first.create(ROOT)
        prompt = await first.prompt(session, "go", options=TurnOptions(on_ask="pause"))
        with pytest.raises(JournalFailed):
            await first.wait(session, prompt)
        journal.mute = False
        second = make_runtime(journal, seams, **options)
        await second.resume(session)
        result = await second.wait(session, prompt)
        return [ask.text for ask in result.asks]

    assert run_virtually(work) == ["Allow python: look?"]


def test_refusals_say_what_is_true():
    deep = family(root=[spawn("x"), "told"], child=None, tree=TreeLimits(depth=0))
    (made,) = deep.calls()
    assert isinstance(made.state, Refused) and "a tree may be 0 deep" in made.state.output


@pytest.mark.parametrize("at", range(2, 16))
def test_what_has_happened_is_written_though_the_journal_cannot_be_read_for_once(at):
    class Blink(WiredJournal):
        looks = 0

        async def inbox(self, session):
            self.looks += 1
            if self.looks == at:
                raise JournalFailed("a blink")
            return await super().inbox(session)

    async def work(seams):
        journal = Blink()
        script = [call("look", key="a"), call("look", key="b"), "done"]
        runtime = make_runtime(journal, seams, root=script, child=["ok"])
        session = await runtime.create(ROOT)
        prompt = await runtime.prompt(session, "go", id="prm_one")
        await runtime.prompt(session, "later", id="prm_two", queue=True)
        for one in (prompt, "prm_two"):
            try:
                await runtime.wait(session, one)
            except JournalFailed:
                await runtime.resume(session)
                await runtime.wait(session, one)
        result = await runtime.wait(session, prompt)
        states = [part.state for part in (await runtime.load(session)).parts.values() if isinstance(part, Call)]
        await runtime.close()
        return result, [type(state).__name__ for state in states]

    result, states = run_virtually(work)
    assert (result.reason, result.tool_calls, set(states)) == ("answered", 2, {"Done"})


def test_closing_ends_a_tree_whose_child_was_about_to_begin():
    class Closing(WiredJournal):
        runtime = None
        closing = None

        async def submit(self, session, item, *, wake=None):
            fresh = await super().submit(session, item, wake=wake)
            if "." in session and isinstance(item, PromptItem):
                self.closing = asyncio.ensure_future(self.runtime.close())
                await asyncio.sleep(0)
            return fresh

    async def work(seams):
        journal = Closing()
        journal.runtime = make_runtime(journal, seams, root=[spawn("go"), "done"], child=["ok"])
        await journal.runtime.create(ROOT)
        await journal.runtime.prompt(ROOT, "go")
        await asyncio.sleep(5)
        await journal.closing
        return {id: load(kept.entries).turn.finish.reason for id, kept in journal._sessions.items()}

    assert set(run_virtually(work).values()) == {"aborted"}
