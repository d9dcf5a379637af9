"""Inside a call nobody is a person: commands that grant something refuse, however they are started."""

import asyncio
import shlex
import sys

import pytest
from support.cli_home import BRIDLE, Home, calls, settings

from bridle import Runtime

FORK = (
    "import os, sys\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: os.execvp(sys.argv[1], sys.argv[1:])\n"
)


@pytest.fixture
def home(tmp_path):
    (tmp_path / "home" / "project").mkdir(parents=True)
    return Home(tmp_path / "home", tmp_path / "home" / "project")


PRICE = {"input": 1_000.0, "output": 1_000.0}


def inside(home, *lines, **more):
    """What each line of shell printed and left with, run as one call; {bridle} is the command."""
    script = home.folder / "inside.sh"
    told = (
        f"( ( {line} ) > {home.folder}/out.{place} 2>&1 < /dev/null; echo $? > {home.folder}/status.{place} ) &"
        for place, line in enumerate(lines)
    )
    script.write_text("\n".join(told).replace("{bridle}", shlex.quote(str(BRIDLE))) + "\nwait\n")
    model = home.script(calls(("bash", {"command": f"sh {script}", "timeout": 100_000})), {"text": "Done."}, **more)
    done = home.run("run", "--model", model, "--on-ask", "allow", "go")
    assert done.stdout == "Done.\n", done.stderr
    return [
        (int((home.folder / f"status.{place}").read_text()), (home.folder / f"out.{place}").read_text())
        for place in range(len(lines))
    ]


REFUSED = "for people: it is refused inside a tool call"


def test_commands_that_grant_something_are_refused_inside_a_call(home):
    (home.project / "bridle.toml").write_text('permission.bash = "allow"\n')
    model = home.script({"text": "Hi."}, name="other.json")
    commands = (
        *("extend ses_x --steps +5", "answer ses_x a once", "trust", "permissions revoke all"),
        *("auth list", "import x.json", f"run --trust --model {model} hi", f"run --on-ask allow --model {model} hi"),
        f"run --model {model} hi --attach=http://localhost",
        *("mcp add s -- true", "mcp approve s --yes", "mcp auth s", "mcp list --trust", "init", "config --trust"),
        *("database prune --days 1", "database copy a.db b.db", "serve --port 0", "serve token new x", "serve stop"),
        *("worker", "acp", "acp --login", "attach http://localhost", "web", "show --attach http://localhost"),
    )
    for (status, told), command in zip(
        inside(home, *(f"{{bridle}} {each}" for each in commands)), commands, strict=True
    ):
        assert (status, REFUSED in told) == (2, True), (command, told)
    assert not (home.folder / ".local/share/bridle/trust.json").exists()
    assert not (home.folder / ".config/bridle/config.toml").exists()


def test_no_trick_makes_a_call_a_person(home, tmp_path):
    """Without its variables, in sessions of its own, as an orphan, with other names for the same folder."""
    link = tmp_path / "link"
    link.symlink_to(home.folder)
    (home.project / "bridle.toml").write_text('permission.bash = "allow"\n')
    own = f'HOME={home.folder} PATH="$PATH"'
    (home.folder / "fork.py").write_text(FORK)
    ended = f"{home.folder}/ended"
    python = shlex.quote(sys.executable)
    orphan = f"{python} {home.folder}/fork.py sh -c 'sleep 0.3; \"$0\" trust; touch {ended}' {{bridle}}"
    orphan += f"; until [ -e {ended} ]; do sleep 0.05; done"
    model = home.script({"text": "Hi."}, name="other.json")
    pty = f"{python} -c 'import pty, sys; pty.spawn(sys.argv[1:])'"
    answers = f"printf 'y\\ny\\n' | {pty} {{bridle}} run --model {model} hi"
    alone = f"{python} -c 'import os, sys; os.setsid(); os.execvp(sys.argv[1], sys.argv[1:])'"
    tricks = (
        f"env -i {own} {{bridle}} trust",
        f"env -i {own} {alone} {{bridle}} trust",
        f"HOME={link} {{bridle}} trust",
        f'env -i HOME={tmp_path}/none XDG_DATA_HOME={link}/.local/share PATH="$PATH" {{bridle}} trust',
        orphan,
        answers,
        "{bridle}",
        f"unshare -r env {own} {{bridle}} trust",
        f"unshare -rpf --mount-proc env {own} {{bridle}} trust",
    )
    (home.folder / ".local/share/bridle").mkdir(parents=True)
    results = inside(home, *tricks)
    assert not (home.folder / ".local/share/bridle/trust.json").exists(), results
    for (status, told), trick in zip(results, tricks, strict=True):
        if "unshare" not in trick and trick not in (orphan, answers, "{bridle}"):
            assert (status, REFUSED in told) == (2, True), (trick, told)
    assert REFUSED in results[4][1], results[4]
    assert "Hi." in results[5][1] and "Trust them" not in results[5][1], results[5]


def test_another_persons_folders_are_another_matter(home, tmp_path):
    (tmp_path / "other").mkdir()
    (told,) = inside(home, f"env HOME={tmp_path}/other {{bridle}} trust")
    assert told == (0, f"{home.project} is trusted, as it is now\n")


def test_other_folders_with_the_same_journal_are_no_way_out(home, tmp_path):
    """A journal has limits, asks and tokens of servers: whoever names it another way changes the same ones."""
    (home.project / "bridle.toml").write_text('permission.bash = "allow"\n')
    data = home.folder / ".local/share/bridle"
    (tmp_path / "linked" / "bridle").mkdir(parents=True)
    (tmp_path / "linked" / "bridle" / "journal.db").symlink_to(data / "journal.db")
    elsewhere = f'env -i HOME={tmp_path}/none PATH="$PATH"'
    ways = (
        f"{elsewhere} BRIDLE_JOURNAL__PATH={data}/journal.db",
        f"{elsewhere} XDG_DATA_HOME={tmp_path}/linked",
        f"{elsewhere} BRIDLE_JOURNAL__URL=postgresql:///any",
    )
    for (status, told), way in zip(
        inside(home, *(f"{way} {{bridle}} extend ses_x --steps +5" for way in ways)), ways, strict=True
    ):
        assert (status, REFUSED in told) == (2, True), (way, told)


@pytest.mark.parametrize("named", ["by the environment", "by the configuration", "by nothing"])
def test_a_driver_that_cannot_be_seen_is_known_by_the_locks_of_its_journal(home, tmp_path, named):
    """Also where the command names another journal, or has settings that cannot be read."""
    journal = str(tmp_path / "elsewhere.db")
    if named == "by the environment":
        home.environment["BRIDLE_JOURNAL__PATH"] = journal
    if named == "by the configuration":
        settings(home, f'journal.path = "{journal}"\n')
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "bridle.toml").write_text("no settings\n")
    ways = ['"$0" permissions']
    ways += ['env BRIDLE_JOURNAL__PATH=/nowhere/j.db "$0" permissions'] if named != "by the environment" else []
    ways += [f'cd {tmp_path}/broken && "$0" permissions'] if named == "by nothing" else []
    alone = [f"unshare -rpf --mount-proc sh -c '{way}' {{bridle}}" for way in ways]
    for way, told in zip(ways, inside(home, *alone), strict=True):
        assert (told[0], REFUSED in told[1]) == (2, True), (way, told)


def test_a_session_in_which_a_person_approves_all_calls_takes_no_prompt_from_a_call(home):
    inner = home.script(calls(("bash", {"command": "touch made"})), {"text": "Hi."}, name="other.json")
    _, lines = home.json("--model", home.script({"text": "Hello."}, name="first.json"), "hi")
    session = lines[0]["session"]

    async def approve():
        async with Runtime.open(home.project, environment=home.environment) as runtime:
            await runtime.set_approvals(session, "auto")

    asyncio.run(approve())
    lines = (f"--session {session}", f"--session {session} --fork")
    for status, told in inside(home, *(f"{{bridle}} run {line} --model {inner} hi" for line in lines)):
        assert (status, REFUSED in told) == (2, True), told
    assert not (home.project / "made").exists()
    assert home.run("run", "--session", session, "--model", inner, "hi").returncode == 0
    assert (home.project / "made").exists()


def test_a_plain_run_inside_a_call_works_and_is_charged_to_the_same_day_and_month(home):
    folder = home.folder / ".config" / "bridle"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("[limits]\ndaily.cost = 100.0\nmonthly.cost = 500.0\n")
    usage = {"input": 1_000, "output": 1_000}
    inner = home.script({"text": "Hi.", "usage": usage}, name="other.json", price=PRICE)
    ((status, told),) = inside(home, f"{{bridle}} run --model {inner} hi", price=PRICE)
    assert (status, told.splitlines()[-1]) == (0, told.splitlines()[-1]) and "Hi." in told

    async def spent():
        async with Runtime.open(home.project, environment=home.environment) as runtime:
            use = await runtime.account()
            return [round(period.spent.cost, 1) for period in (use.today, use.month)]

    # The call's own turn costs a few cents, and the one that it started two dollars.
    assert asyncio.run(spent()) == [2.0, 2.0]


def test_what_a_tool_in_bridles_own_process_starts_is_inside_a_call(home):
    """A tool in Python has no supervisor: the process that drives its session is above the command."""
    locks = home.folder / ".local/share/bridle/journal.db.locks"
    locks.mkdir(parents=True)
    assert home.run("permissions").returncode == 0
    with (locks / "ses_x.lock").open("w"):
        done = home.run("permissions")
    assert (done.returncode, REFUSED in done.stderr) == (2, True)
