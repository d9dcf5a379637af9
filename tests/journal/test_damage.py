"""A journal whose file was damaged: it works, it is open for reading, or it is refused in a sentence and left alone."""

import asyncio
import random
import re
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, replace

import pytest

from bridle import Agent, Runtime, ScriptedModel, call, tool
from bridle.config.settings import Behavior, JournalSettings, Settings
from bridle.errors import BridleError, JournalRefused

CASES = 200
SESSIONS = ("ses_a", "ses_b", "ses_c")
TEXT = "The quick brown fox jumps over the lazy dog; " * 12


@tool
async def look(key: str = "") -> str:
    """Look at something."""
    return f"saw {key} " * 30


def runtime(path, *replies):
    agent = Agent("build", model=ScriptedModel(list(replies), then=TEXT), tools=[look])
    settings = Settings(behavior=Behavior(max_steps=8), journal=JournalSettings(durability="process"))
    return Runtime(replace(agent.config, journal=path, settings=settings))


@dataclass(frozen=True)
class Original:
    """A sound journal: its file, its log where it has one, and what the sessions hold."""

    file: bytes
    log: bytes
    sessions: dict


async def _fill(path):
    """Two sessions in the file and, until the journal is closed, a third in the log beside it."""
    kept = runtime(path, [call("look", key="x"), call("look", key="y")], TEXT)
    for id in SESSIONS:
        await kept.create(id)
        for prompt in range(3):
            await kept.wait(id, await kept.prompt(id, f"prompt {prompt}", id=f"{id}.{prompt}"))
        if id == SESSIONS[1]:
            kept.journal._database.writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    log = path.with_name(path.name + "-wal")
    beside = Original(path.read_bytes(), log.read_bytes(), {id: await kept.journal.load(id) for id in SESSIONS})
    await kept.close()
    return Original(path.read_bytes(), b"", beside.sessions), beside


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    return asyncio.run(_fill(tmp_path_factory.mktemp("sound") / "journal.db"))


def damaged(file, chance):
    """The file with 1 to 64 bits flipped, or cut short."""
    if chance.random() < 0.25:
        return file[: chance.choice([0, chance.randrange(1, 100), chance.randrange(len(file)), len(file) // 2])]
    found = bytearray(file)
    # Half of the cases hit the pages that all others hang on, which are few among many.
    end = chance.choice([100, 4096, len(found), len(found)])
    for _ in range(chance.choice([1, 1, 4, 16, 64])):
        found[chance.randrange(end)] ^= 1 << chance.randrange(8)
    return bytes(found)


def lay(folder, original, file):
    path = folder / "journal.db"
    path.write_bytes(file)
    if original.log:
        path.with_name("journal.db-wal").write_bytes(original.log)
    return path


async def _read(path, original):
    """Everything that can be asked of the journal, and whether it holds what it held."""
    kept = runtime(path)
    journal = kept.journal
    try:
        rows = await journal.sessions()
        found = {id: await journal.load(id) for id in SESSIONS}
        for id in SESSIONS:
            await kept.load(id)
            await journal.inbox(id)
            await journal.account(f"{id}/1")
        await journal.holding("")
        return journal.notice, found == original.sessions and {row.info.id for row in rows} == set(SESSIONS)
    finally:
        await kept.close()


async def _drive(path):
    kept = runtime(path, [call("look", key="z")], "done")
    try:
        for id in SESSIONS:
            await kept.wait(id, await kept.prompt(id, "and now?"))
    finally:
        await kept.close()


def refusal(words):
    """A file that was refused; or a session whose entries are sound but make no sense, in a file that others use on."""
    if "it is open for reading only" in words:
        return "for reading only"
    return "refused in part" if words.startswith("session ") else "refused"


def use(path, original):
    """Open it, load everything, drive a turn in each session: a word for what became of that, and the sentence."""

    async def work():
        async with asyncio.timeout(60):
            notice, same = await _read(path, original)
            await _drive(path)
        return ("works" if same else "works, and holds something else"), notice

    try:
        return asyncio.run(work())
    except JournalRefused as error:
        return refusal(str(error)), str(error)
    except BridleError as error:
        return type(error).__name__, str(error)
    except Exception as error:
        # Whatever else comes out is what this file is looking for.
        return "crashed", f"{type(error).__name__}: {error}"


UNTOUCHED = ("refused", "for reading only")
SENTENCES = (*UNTOUCHED, "refused in part", "JournalFailed", "LeaseLost", "NoSuchSession", "ConfigError")
FINE = ("works", "works, and holds something else", *SENTENCES)


def trouble(folder, original, file):
    """What became of a damaged file, and what is wrong with that; nothing, if all is as it should be."""
    path = lay(folder, original, file)
    outcome, words = use(path, original)
    wrong = []
    if outcome not in FINE:
        wrong.append(f"{outcome}: {words}")
    if outcome in SENTENCES and (not words or "\n" in words):
        wrong.append(f"not a sentence: {words!r}")
    if outcome in UNTOUCHED and path.read_bytes() != file:
        wrong.append(f"written to, although {outcome}: {words}")
    log = path.with_name("journal.db-wal")
    if outcome == "refused" and original.log and not (log.exists() and log.read_bytes().startswith(original.log)):
        wrong.append(f"the log was lost, although {outcome}: {words}")
    return outcome, wrong


def all_trouble(tmp_path, cases):
    """Every case in a folder of its own: how often each outcome came, and what is wrong, by case."""
    told, wrong = Counter(), {}
    for number, (original, file) in enumerate(cases):
        folder = tmp_path / str(number)
        folder.mkdir()
        outcome, found = trouble(folder, original, file)
        told[outcome] += 1
        if found:
            wrong[number] = found
        shutil.rmtree(folder)
    print(dict(told))
    return told, wrong


@pytest.mark.slow
def test_flipped_bits_and_lost_ends_are_survived_or_refused_and_never_made_worse(tmp_path, originals):
    cases = []
    for seed in range(CASES):
        original = originals[seed % 2]
        cases.append((original, damaged(original.file, random.Random(seed))))
    told, wrong = all_trouble(tmp_path, cases)
    assert wrong == {}
    assert told["refused"] > CASES / 4 and told["works"] > CASES / 10


@pytest.mark.slow
def test_damage_inside_a_value_is_refused_where_it_shows_and_otherwise_cannot_be_seen(tmp_path, originals):
    """No page is wrong, so SQLite sees nothing: only what cannot be read any more is refused."""
    sound = originals[0]
    places = [match.start() for match in re.finditer(b"The quick brown fox|session|prompt|saw|tokens", sound.file)]
    cases = []
    for seed in range(CASES // 2):
        chance = random.Random(seed)
        file = bytearray(sound.file)
        file[chance.choice(places) + chance.randrange(3)] ^= 1 << chance.randrange(8)
        cases.append((sound, bytes(file)))
    told, wrong = all_trouble(tmp_path, cases)
    assert wrong == {}
    assert told["refused"] and told["works, and holds something else"]


SESSION = "(SELECT number FROM session WHERE id = 'ses_a')"
ENTRY = f"WHERE key = {SESSION} * 4294967296 + 5"
DAMAGE = {
    "a session that is no JSON": "UPDATE session SET info = CAST('{' AS BLOB) WHERE id = 'ses_a'",
    "a session that is another shape": "UPDATE session SET info = CAST('{}' AS BLOB) WHERE id = 'ses_a'",
    "a session that is no text": """UPDATE session SET info = x'7b226964223a22ff227d' WHERE id = 'ses_a'""",
    "a session without entries": f"DELETE FROM entry WHERE key / 4294967296 = {SESSION}",
    "an entry that is no JSON": f"UPDATE entry SET events = CAST('[' AS BLOB) {ENTRY}",
    "an entry that is no text": (
        """UPDATE entry SET events = CAST('[{"event":"call","id":"' || CAST(x'ff' AS TEXT) || """
        f"""'","state":{{"type":"running"}}}}]' AS BLOB) {ENTRY}"""
    ),
    "an entry that is gone": f"DELETE FROM entry {ENTRY}",
    "an entry that is elsewhere": f"UPDATE entry SET key = key + 1000 {ENTRY}",
    "an entry about a call that nobody made": (
        f"UPDATE entry SET events = CAST(replace(CAST(events AS TEXT), '1.1.1.0.0', '1.1.9.0.0') AS BLOB) {ENTRY}"
    ),
    "an account that is no JSON": "UPDATE account SET account = CAST('{' AS BLOB) WHERE id = 'ses_a/1'",
    "an account that is no text": "UPDATE account SET account = x'7b226964223a22ff227d' WHERE id = 'ses_a/1'",
    "a schema that is no SQL": "UPDATE sqlite_schema SET sql = 'CREATE' || char(10) || 'TAB' WHERE name = 'inbox'",
    "a schema that is no text": "UPDATE sqlite_schema SET sql = CAST(x'435245415445ff' AS TEXT) WHERE name = 'inbox'",
}


def spoil(path, statement):
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        raw.execute("PRAGMA writable_schema = ON")
        assert raw.execute(statement).rowcount
        raw.execute("PRAGMA journal_mode = DELETE")
        raw.execute("PRAGMA journal_mode = WAL")


@pytest.mark.parametrize("damage", DAMAGE)
def test_every_kind_of_damage_has_its_sentence(tmp_path, originals, damage):
    path = lay(tmp_path, originals[0], originals[0].file)
    spoil(path, DAMAGE[damage])
    before = path.read_bytes()
    outcome, words = use(path, originals[0])
    assert (outcome in ("refused", "refused in part"), words.count("\n")) == (True, 0), (outcome, words)
    assert "damaged" in words and words.startswith((str(path), "session ses_a"))
    assert path.read_bytes() == before


def test_an_empty_file_beside_a_log_is_not_taken_for_a_new_journal(tmp_path, originals):
    for size in (0, 1, 99):
        folder = tmp_path / str(size)
        folder.mkdir()
        assert trouble(folder, originals[1], originals[1].file[:size]) == ("refused", [])
