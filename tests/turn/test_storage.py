"""When the journal cannot write: nothing starts unrecorded, and the turn says how it stands."""

import asyncio
from dataclasses import replace

import pytest
from support.stories import look, ran
from support.virtual import run_virtually

from bridle import Agent, Limits, Reply, ScriptedModel, call
from bridle.core.agent import ModelInfo
from bridle.core.events import Entry, PartPut, SessionInfo
from bridle.core.limits import NOTHING
from bridle.core.parts import Call, Notice, Prompt, Reasoning, Sentinel, Text, TurnFinish, TurnStart, Undone
from bridle.core.states import Usage
from bridle.core.stream import ReasoningDelta, StreamEnd, TextDelta
from bridle.errors import JournalFailed, JournalFull, LeaseLost
from bridle.journal.memory import MemoryJournal
from bridle.runtime import Runtime
from bridle.turn.record import copied


class FailingJournal(MemoryJournal):
    """A journal whose disk fills up, or dies, at the nth append."""

    def __init__(self, at, error, *, endings_too):
        super().__init__()
        self.at = at
        self.error = error
        self.endings_too = endings_too
        self.appends = 0

    async def append(self, lease, entry, *, weight="plain", **rest):
        self.appends += 1
        if self.appends >= self.at and (weight != "ending" or self.endings_too):
            raise self.error
        await super().append(lease, entry, weight=weight, **rest)


FULL = JournalFull("journal.db: the disk is full")


def start(journal, model):
    ran.clear()

    async def work(seams):
        agent = Agent("build", model=model, tools=[look], seams=seams)
        runtime = Runtime(replace(agent.config, journal=journal))
        session = await runtime.create()
        prompt = await runtime.prompt(session, "go")
        try:
            return await runtime.wait(session, prompt), await runtime.load(session)
        except JournalFailed as error:
            return error, await runtime.load(session)

    return run_virtually(work)


def script():
    return ScriptedModel([call("look", key="a"), call("look", key="b"), "done"])


APPENDS = 7


class SmallReserve(MemoryJournal):
    """A journal on a disk that is full once a model was asked, with room in its reserve for so many endings."""

    def __init__(self, endings):
        super().__init__()
        self.endings = endings
        self.full = False

    async def append(self, lease, entry, *, weight="plain", **rest):
        if self.full and (weight != "ending" or not self.endings):
            raise FULL
        self.endings -= self.full
        await super().append(lease, entry, weight=weight, **rest)


def test_a_reserve_that_is_used_up_before_the_calls_are_settled_leaves_the_turn_for_whoever_makes_room():
    journal = SmallReserve(endings=2)

    def play(request):
        journal.full = True
        return [call("look", key="a"), call("look", key="b")]

    async def work(seams):
        async with Agent(
            "build", model=ScriptedModel(play), tools=[look], seams=seams, journal=journal
        ).runtime() as own:
            session = await own.create()
            prompt = await own.prompt(session, "go")
            with pytest.raises(JournalFailed, match="the turn cannot be ended: "):
                await own.wait(session, prompt)
            journal.full = False
            await own.resume(session)
            result = await own.wait(session, prompt)
            return result, [
                part.state.refusal.name for part in (await own.load(session)).parts.values() if isinstance(part, Call)
            ]

    ran.clear()
    result, refusals = run_virtually(work)
    assert (result.reason, result.detail, refusals, ran) == ("error", str(FULL), ["superseded"] * 2, [])


def test_a_reply_is_written_from_the_reserve_though_its_turn_cannot_go_on():
    class Blind(SmallReserve):
        """Nor can the inbox be read once the disk is full."""

        async def inbox(self, session):
            if self.full:
                raise JournalFailed("a blink")
            return await super().inbox(session)

    journal = Blind(endings=1)

    def play(request):
        journal.full = True
        return "an answer"

    async def work(seams):
        async with Agent("build", model=ScriptedModel(play), seams=seams, journal=journal).runtime() as own:
            session = await own.create()
            prompt = await own.prompt(session, "go")
            await own.prompt(session, "later", queue=True)
            with pytest.raises(JournalFailed, match="a blink"):
                await own.wait(session, prompt)
            journal.full = False
            parts = (await own.load(session)).parts.values()
            return [part.text for part in parts if isinstance(part, Text)]

    assert run_virtually(work) == ["an answer"]


@pytest.mark.parametrize("at", range(2, APPENDS + 1))
def test_a_full_disk_ends_the_turn_with_a_word_and_starts_no_further_call(at):
    whole = FailingJournal(10**6, FULL, endings_too=False)
    result, _ = start(whole, script())
    assert (result.reason, whole.appends) == ("answered", APPENDS)
    result, session = start(FailingJournal(at, FULL, endings_too=False), script())
    kinds = [type(part) for part in session.parts.values()]
    assert (kinds.count(TurnFinish), kinds.count(Sentinel)) == (1, result.reason == "error")
    assert (result.reason, result.detail) in (("error", str(FULL)), ("answered", ""))
    recorded = [part for part in session.parts.values() if isinstance(part, Call)]
    assert len(ran) <= len(recorded)
    assert all(type(part.state).__name__ in ("Done", "Refused") for part in recorded)


@pytest.mark.parametrize("at", range(2, APPENDS + 1))
def test_when_the_ending_cannot_be_written_the_turn_has_not_ended(at):
    broken = JournalFailed("journal.db: disk I/O error")
    error, session = start(FailingJournal(at, broken, endings_too=True), script())
    assert error is broken
    assert session.running is not None
    assert not any(isinstance(part, TurnFinish) for part in session.parts.values())
    assert len(ran) <= sum(isinstance(part, Call) for part in session.parts.values())


def test_a_holder_that_lost_its_lease_stops():
    class Stolen(MemoryJournal):
        async def append(self, lease, entry, **rest):
            if entry.sequence == 5:
                self._kept(lease.session).epoch += 1
            await super().append(lease, entry, **rest)

    async def work(seams):
        agent = Agent("build", model=script(), tools=[look], seams=seams)
        runtime = Runtime(replace(agent.config, journal=Stolen()))
        session = await runtime.create()
        prompt = await runtime.prompt(session, "go")
        with pytest.raises(LeaseLost):
            await runtime.wait(session, prompt)
        return (await runtime.status(session)).state

    assert run_virtually(work) in ("busy", "interrupted")


def test_streamed_text_is_in_the_journal_within_a_second():
    lags = []

    async def work(seams):
        model = ScriptedModel([Reply(text="x" * 300, chunk=1, pace=0.1)])
        runtime = Agent("build", model=model, seams=seams).runtime()
        session = await runtime.create()
        prompt = await runtime.prompt(session, "go")
        for second in range(1, 30):
            await asyncio.sleep(1)
            texts = [part.text for part in (await runtime.load(session)).parts.values() if isinstance(part, Text)]
            lags.append(10 * second - len(texts[0]))
        assert (await runtime.wait(session, prompt)).text == "x" * 300
        entries = await runtime.journal.load(session)
        return sum(len(str(entry)) for entry in entries)

    written = run_virtually(work)
    assert max(lags) <= 10
    assert written < 300 * 60


def test_text_that_stalls_is_recorded_all_the_same():
    async def work(seams):
        model = ScriptedModel([Reply(text="ab", chunk=1, pace=60.0), "b"])
        runtime = Agent("build", model=model, seams=seams).runtime()
        session = await runtime.create()
        await runtime.prompt(session, "go")
        await asyncio.sleep(61)
        found = [part.text for part in (await runtime.load(session)).parts.values() if isinstance(part, Text)]
        await runtime.close()
        return found

    assert run_virtually(work) == ["a"]


class Paced:
    """A model that says these words, each at its second."""

    def __init__(self, *said):
        self.said = said
        self.info = ModelInfo("paced")

    async def stream(self, request):
        begun = asyncio.get_running_loop().time()
        for second, event in self.said:
            await asyncio.sleep(begun + second - asyncio.get_running_loop().time())
            yield event
        yield StreamEnd()


class SlowDisk(MemoryJournal):
    """A journal that takes its time for words, or has no room for those that come late."""

    def __init__(self, *, seconds=0.0, room=99):
        super().__init__()
        self.seconds = seconds
        self.turns = room

    async def append(self, lease, entry, *, weight="plain", **rest):
        if weight == "words":
            await asyncio.sleep(self.seconds)
            self.turns -= 1
            if self.turns < 0:
                raise FULL
        await super().append(lease, entry, weight=weight, **rest)


def streamed(model, journal, *, after):
    """What the journal has of the words so many seconds after the prompt, and at the end; and all its entries."""

    async def work(seams):
        async with Agent("build", model=model, seams=seams, journal=journal).runtime() as runtime:
            session = await runtime.create()
            prompt = await runtime.prompt(session, "go")
            await asyncio.sleep(after)
            early = words(await runtime.load(session))
            assert (await runtime.wait(session, prompt)).reason == "answered"
            return early, words(await runtime.load(session)), await journal.load(session)

    return run_virtually(work)


def words(session):
    return [part.text for part in session.parts.values() if isinstance(part, (Text, Reasoning))]


def test_words_that_come_while_others_are_written_are_written_after_them():
    said = (0, TextDelta("a")), (1, TextDelta("b")), (60, TextDelta("c"))
    early, whole, _ = streamed(Paced(*said), SlowDisk(seconds=2), after=6)
    assert (early, whole) == (["ab"], ["abc"])


def test_a_sign_of_life_without_words_is_nothing_to_write():
    said = (0, TextDelta("a")), (2, TextDelta("")), (4, TextDelta("b")), (6, TextDelta(""))
    early, whole, entries = streamed(Paced(*said), SlowDisk(), after=3)
    assert (early, whole) == (["a"], ["ab"])
    assert all(entry.events for entry in entries)


def test_words_for_which_there_was_no_room_as_they_came_are_written_with_their_reply():
    said = (0, ReasoningDelta("hm")), (2, TextDelta("a")), (4, TextDelta("b"))
    early, whole, _ = streamed(Paced(*said), SlowDisk(room=1), after=3)
    assert (early, whole) == (["hm"], ["hm", "ab"])


SESSION = SessionInfo("ses_elsewhere", "/elsewhere")
TURN = TurnStart("1.start", 1, "build", "m", 5, Limits(), "deny")
ENTRIES = [
    Entry(2, 1.0, 0.0, (PartPut(TURN), PartPut(Prompt("p", "first", turn=1)))),
    Entry(3, 2.0, 0.0, (PartPut(TurnFinish("1.finish", 1, "answered", NOTHING, Usage())),)),
    Entry(4, 3.0, 0.0, (PartPut(Undone("u", 1, 1)),)),
]


def test_a_session_from_elsewhere_is_written_as_it_was_and_not_while_somebody_drives_it():
    async def work():
        journal = MemoryJournal()
        await copied(journal, SESSION, ENTRIES[:2])
        lease = await journal.acquire(SESSION.id)
        with pytest.raises(LeaseLost, match="is being driven"):
            await copied(journal, SESSION, ENTRIES[2:])
        await journal.release(lease)
        return await journal.load(SESSION.id)

    _, *written = asyncio.run(work())
    assert written == ENTRIES[:2]


def test_an_undo_that_the_files_did_not_follow_is_told_to_whoever_goes_on():
    async def work(seams):
        journal = MemoryJournal()
        await copied(journal, SESSION, ENTRIES)
        async with Agent(model=ScriptedModel(["done"]), journal=journal, seams=seams).runtime() as runtime:
            await runtime.wait(SESSION.id, await runtime.prompt(SESSION.id, "go on"))
            parts = (await runtime.load(SESSION.id)).parts.values()
            return [part.text for part in parts if isinstance(part, Notice)]

    assert run_virtually(work) == [
        "an undo or redo was interrupted: the history has changed, but not all files have been restored"
    ]
