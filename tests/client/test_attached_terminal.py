"""The terminal application on a server, in real processes: it goes on after the server has died in mid-answer."""

import shlex
import shutil

from support.cli_home import BRIDLE, calls
from support.served_home import new_home
from support.tmux_terminal import Terminal

LONG = " ".join(f"word{number}" for number in range(80))
SCRIPT = (
    {"text": "I will look.", **calls(("bash", {"command": "touch made-by-bash"}))},
    {"text": f"{LONG} finally.", "chunk": 8, "pace": 0.05},
)


def test_the_application_recovers_from_the_death_of_its_server(served):
    served.home.environment["BRIDLE_MODEL"] = served.home.script(*SCRIPT)
    server = served.serve()
    # Without an address it is the one server that runs here.
    terminal = Terminal(served.home, [shlex.join([str(BRIDLE), "attach"])])
    try:
        terminal.until("Every turn here is counted")
        terminal.press("please look", "Enter")
        terminal.until("Allow bash: touch made-by-bash?")
        assert not (served.project / "made-by-bash").exists()
        terminal.until_pressed("Enter", "word3")
        assert (served.project / "made-by-bash").exists()
        server.kill()
        terminal.until("the server is away")
        assert "finally." not in terminal.read()
        again = served.serve("--port", str(server.port))
        terminal.until("finally.", "answered ·")
        assert terminal.read().count("word1 ") == 1, "the text that the dead server had streamed is gone"
        assert any("continues ses_" in line for line in again.told) or "continues ses_" in again.stop()
        terminal.press("C-c")
        terminal.gone()
    finally:
        terminal.close()


def test_a_run_on_a_terminal_asks_there_and_goes_on_with_the_next_server(served):
    served.home.environment["BRIDLE_MODEL"] = served.home.script(*SCRIPT)
    server = served.serve()
    command = shlex.join([str(BRIDLE), "run", "--attach", server.url, "please look"])
    terminal = Terminal(served.home, [f"{command}; echo status $?; cat"])
    try:
        terminal.until("? Allow bash: touch made-by-bash?", "[o]nce")
        terminal.press("o", "Enter")
        terminal.until("word3")
        server.kill()
        served.serve("--port", str(server.port))
        terminal.until("finally.", "answered: 2 steps, 1 call", "status 0")
        assert "\nword0 word1" in terminal.read(), "the next attempt begins on a line of its own"
    finally:
        terminal.close()


def test_a_token_is_asked_for_once_and_kept_for_this_person_alone(served):
    served.home.environment["BRIDLE_MODEL"] = served.home.script("Hello.")
    server = served.serve()
    elsewhere = new_home()
    terminal = Terminal(elsewhere.home, [shlex.join([str(BRIDLE), "attach", server.url])])
    try:
        terminal.until("bridle serve token new", "token for")
        terminal.press(served.token, "Enter")
        terminal.until("Every turn here is counted")
        terminal.press("C-c")
        terminal.gone()
        listed = elsewhere.home.run("sessions", "--attach", server.url)
        assert (listed.returncode, listed.stderr) == (0, "")
        kept = elsewhere.folder / ".local" / "share" / "bridle" / "server-tokens.json"
        assert kept.stat().st_mode & 0o777 == 0o600
        # A revoked one is asked for anew.
        assert served.home.run("serve", "token", "revoke", "ann").returncode == 0
        refused = elsewhere.home.run("sessions", "--attach", server.url)
        assert (refused.returncode, "a valid token is needed" in refused.stderr) == (2, True)
        terminal = Terminal(elsewhere.home, [shlex.join([str(BRIDLE), "attach", server.url])])
        terminal.until("a valid token is needed", "token for")
        terminal.press(served.new_token("again"), "Enter")
        terminal.until("Every turn here is counted")
        assert elsewhere.home.run("sessions", "--attach", server.url).returncode == 0
    finally:
        terminal.close()
        shutil.rmtree(elsewhere.folder, ignore_errors=True)
