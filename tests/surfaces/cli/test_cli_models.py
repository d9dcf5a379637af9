"""Models from the command line: real processes, real sockets, a provider on loopback."""

import base64
import json
import os
import shlex
import shutil
import signal
import time

import msgspec
import pytest
from support.cli_home import ForkedHome, settings
from support.paths import ROOT
from support.served_model import serving

from bridle.testing.scripted import Reply, ScriptedCall, ScriptedError

KEY = "sk-canary-of-the-command-line"
PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg=="
)


@pytest.fixture
def home(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    (project / "hello.txt").write_text("hello\nworld\n")
    return ForkedHome(tmp_path, project)


def provider(server, wire="chat", **more):
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in more.items())
    return f'[providers.ours]\nwire = "{wire}"\nbase_url = "{server.address}/v1"\nkey_env = "OUR_KEY"\n{lines}'


@pytest.mark.parametrize("wire", ["chat", "messages", "responses"])
def test_a_provider_of_the_settings_is_asked_and_its_key_leaves_no_trace(wire, home):
    reads = Reply(calls=(ScriptedCall("read", {"filePath": "hello.txt"}),))
    with serving(reads, "It says hello.") as server:
        settings(home, provider(server, wire))
        done = home.run("run", "--model", "ours/small", "What does it say?", OUR_KEY=KEY)
    assert (done.returncode, done.stdout.strip()) == (0, "It says hello."), done.stderr
    assert len(server.bodies) == 2 and "1\\thello" in json.dumps(server.bodies[1]).replace("\\\\", "\\")
    kept = b"".join(path.read_bytes() for path in home.folder.rglob("*") if path.is_file())
    assert KEY.encode() not in kept and KEY not in done.stdout + done.stderr


def test_a_key_in_the_environment_is_enough_and_the_choice_is_explained(home):
    with serving("Hello.") as server:
        done = home.run("run", "hi", ANTHROPIC_API_KEY=KEY, ANTHROPIC_BASE_URL=f"{server.address}/v1")
    assert (done.returncode, done.stdout.strip()) == (0, "Hello."), done.stderr
    assert "! model anthropic/claude-sonnet-" in done.stderr
    assert "there is a key for anthropic (ANTHROPIC_API_KEY)" in done.stderr
    assert server.bodies[0]["model"].startswith("claude-sonnet-")


def test_a_server_on_this_machine_is_found(home):
    with serving("Hello.") as server:
        address = server.address.removeprefix("http://")
        done = home.run("run", "hi", OLLAMA_HOST=address)
    assert (done.returncode, done.stdout.strip()) == (0, "Hello."), done.stderr
    assert f"! model ollama/scripted: ollama answers at http://{address}/v1" in done.stderr


def test_a_retry_is_shown_and_told_in_json_lines(home):
    busy = Reply(error=ScriptedError("busy", 429, {"retry-after": "0.6"}))
    with serving(busy, "Hello.") as server:
        settings(home, provider(server))
        code, lines = home.json("--model", "ours/small", "hi", OUR_KEY=KEY)
    told = [line for line in lines if line["type"] == "retry"]
    assert (code, lines[-1]["text"], len(told)) == (0, "Hello.", 1)
    assert "busy" in told[0]["message"] and told[0]["attempt"] == 1


def test_a_failure_is_one_sentence_with_what_the_provider_said(home):
    with serving(then=Reply(error=ScriptedError(f"bad key {KEY}", 401))) as server:
        settings(home, provider(server))
        done = home.run("run", "--model", "ours/small", "hi", OUR_KEY=KEY)
    assert (
        done.returncode == 1
        and "HTTP 401: bad key [key] (its key is missing or wrong: bridle auth login ours)" in done.stderr
    )
    assert "Traceback" not in done.stderr and KEY not in done.stderr


def test_a_project_that_nobody_trusts_names_no_provider(home):
    with serving("Stolen.") as server:
        (home.project / "bridle.toml").write_text(provider(server))
        done = home.run("run", "--model", "ours/small", "hi", OUR_KEY=KEY)
        assert f"sends prompts and your key in OUR_KEY to the provider ours at {server.address}" in done.stderr
    assert (done.returncode, server.bodies) == (2, [])
    assert "this project is not trusted" in done.stderr


def test_a_missing_key_says_where_it_may_come_from(home):
    done = home.run("run", "--model", "openai/gpt-5.5", "hi")
    assert done.returncode == 2
    assert "there is no key for openai: set OPENAI_API_KEY, or run: bridle auth login openai" in done.stderr


def test_login_list_and_logout(home):
    with serving() as server:
        settings(home, provider(server))
        address = {"OPENAI_BASE_URL": f"{server.address}/v1"}
        done = home.anew("auth", "login", "openai", given=f"{KEY}\n", **address)
        assert (done.returncode, done.stdout.strip()) == (0, "openai: logged in"), done.stderr
        assert "readable by you alone" in done.stderr and KEY not in done.stdout + done.stderr
        listed = home.anew("auth", "list")
        assert (listed.stdout.strip(), KEY in listed.stdout) == ("openai: stored by bridle auth login", False)
        assert "openai/gpt-" in home.anew("models").stdout.splitlines()[-1]
        assert home.anew("auth", "logout", "openai").stdout.strip() == "openai: logged out"
        again = home.run("auth", "logout", "openai")
        assert (again.returncode, "no key is stored for openai" in again.stderr) == (2, True)


def test_models_are_listed_with_what_they_hold_and_cost(home):
    done = home.run("models", ANTHROPIC_API_KEY=KEY)
    assert done.returncode == 0 and "anthropic: key from ANTHROPIC_API_KEY" in done.stdout
    assert "200k tokens, $5 in, $25 out, sees image and pdf" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("without --model: anthropic/claude-sonnet-")
    rows = [
        json.loads(line) for line in home.anew("models", "--format", "json", ANTHROPIC_API_KEY=KEY).stdout.splitlines()
    ]
    assert {row["provider"] for row in rows} == {"anthropic", "embedded"} and all("ref" in row for row in rows)
    none = home.anew("models", "--provider", "groq")
    assert (none.returncode, "groq is not available" in none.stderr) == (2, True)


def test_an_image_goes_to_a_model_that_takes_it_and_to_no_other(home):
    (home.project / "dot.png").write_bytes(PICTURE)
    with serving("A dot.") as server:
        settings(home, provider(server) + '[models."ours/sees"]\ntakes = ["image"]\n')
        blind = home.run("run", "--model", "ours/blind", "--file", "dot.png", "What is it?", OUR_KEY=KEY)
        done = home.run("run", "--model", "ours/sees", "--file", "dot.png", "What is it?", OUR_KEY=KEY)
    assert (blind.returncode, "dot.png: ours/blind does not accept image files" in blind.stderr) == (2, True)
    assert (done.returncode, done.stdout.strip()) == (0, "A dot."), done.stderr
    content = server.bodies[0]["messages"][-1]["content"]
    assert content[1]["image_url"]["url"] == f"data:image/png;base64,{base64.b64encode(PICTURE).decode()}"


def test_a_file_that_is_neither_text_nor_picture_is_refused(home):
    (home.project / "odd.bin").write_bytes(b"\x00\xff\xfe\x01")
    done = home.run("run", "--model", "ours/x", "--file", "odd.bin", "hi")
    assert (done.returncode, "is neither text nor PNG, JPEG, GIF, WebP or PDF" in done.stderr) == (2, True)


def test_options_come_in_layers_and_the_variant_is_the_last(home):
    layers = """
[models."ours/small"]
options = { temperature = 0.2, extra = { model = true } }
variants = { careful = { reasoning_effort = "high", extra = { variant = true } } }
[agents.build]
options = { temperature = 0.4, extra = { agent = true } }
"""
    with serving(then="Hello.") as server:
        settings(home, provider(server) + "options = { top_p = 0.9, extra = { provider = true } }\n" + layers)
        home.anew("run", "--model", "ours/small", "--variant", "careful", "hi", OUR_KEY=KEY)
        wrong = home.run("run", "--model", "ours/small", "--variant", "hasty", "hi", OUR_KEY=KEY)
        settings(home, provider(server) + "options = { stream = false }\n")
        reserved = home.run("run", "--model", "ours/small", "hi", OUR_KEY=KEY)
    sent = server.bodies[0]
    assert (sent["top_p"], sent["temperature"], sent["reasoning_effort"]) == (0.9, 0.4, "high")
    assert sent["extra"] == {"provider": True, "model": True, "agent": True, "variant": True}
    assert (wrong.returncode, "has no variant 'hasty' (known: careful)" in wrong.stderr) == (2, True)
    assert (reserved.returncode, "may not set 'stream'" in reserved.stderr) == (2, True)


def test_the_prompt_can_be_looked_at(home):
    done = home.anew("config", "prompt", "--model", "scripted:x", "--system", "Speak French.")
    assert "cannot be read" in done.stderr and done.returncode == 2
    model = home.script("hi")
    shown = home.run("config", "prompt", "--model", model, "--system", "Speak French.").stdout
    assert shown.startswith("You are Bridle") and f"Directory: {home.project}" in shown
    assert shown.rstrip().endswith("Speak French.")
    small = home.run("config", "prompt", "--model", "embedded/smollm2").stdout
    assert len(small) < len(shown) and not (home.folder / ".local/share/bridle/journal.db").exists()


def test_requests_are_lean(home):
    with serving(then="Hello.") as server:
        settings(home, provider(server) + '[models."ours/tiny"]\nquirks = { small = true }\n')
        assert home.run("run", "--model", "ours/large", "hi", OUR_KEY=KEY).returncode == 0
        assert home.run("run", "--model", "ours/tiny", "hi", OUR_KEY=KEY).returncode == 0
    # The path of the project stands in each of them, and is not ours to shorten.
    large, tiny = (len(msgspec.json.encode(body)) - len(str(home.project)) for body in server.bodies)
    assert large <= 14_000 and tiny <= 3_000, (large, tiny)
    assert [tool["function"]["name"] for tool in server.bodies[1]["tools"]] == ["read", "write", "edit", "bash"]


def test_the_words_of_a_try_that_failed_are_not_part_of_the_answer(home):
    cut = Reply(text="The answer is not", chunk=4, cut=6)
    with serving(cut, "It is 42.") as server:
        settings(home, provider(server))
        done = home.run("run", "--model", "ours/small", "what is it?", OUR_KEY=KEY)
    assert (done.returncode, done.stdout) == (0, "It is 42.\n"), done.stderr


def test_a_name_that_a_model_made_up_does_not_drive_the_terminal(home):
    odd = Reply(calls=(ScriptedCall("a b/\n\x1b[31mred", {"x": "\x1b[2J"}),))
    with serving(odd, "Done.") as server:
        settings(home, provider(server))
        done = home.run("run", "--model", "ours/small", "go", OUR_KEY=KEY)
    assert done.returncode == 0 and "\x1b" not in done.stderr and "✗ a b/ �[31mred:" in done.stderr


@pytest.mark.parametrize(
    ("words", "environment", "said"),
    [
        (["models"], {"OLLAMA_HOST": "x:99999"}, "OLLAMA_HOST"),
        (["models"], {"OLLAMA_HOST": "http://["}, "OLLAMA_HOST"),
        (
            ["run", "--model", "openai/gpt-5.5", "hi"],
            {"OPENAI_BASE_URL": "http://[", "OPENAI_API_KEY": KEY},
            "OPENAI_BASE_URL",
        ),
        (["auth", "login", "openai"], {"ALL_PROXY": "socks5://127.0.0.1:1"}, "could not be reached"),
        (["auth", "login", "openai"], {"HTTPS_PROXY": "foo://x"}, "could not be reached"),
        (["auth", "login", "openai"], {"SSL_CERT_FILE": "/nowhere"}, "could not be reached"),
    ],
)
def test_nonsense_in_the_environment_is_named(home, words, environment, said):
    done = home.run(*words, given=f"{KEY}\n", **environment)
    assert said in done.stderr and "this should not have happened" not in done.stderr
    assert "the output cannot be written" not in done.stderr and KEY not in done.stderr


def test_a_file_that_never_ends_is_not_read(home):
    os.mkfifo(home.project / "fifo")
    for path in ("fifo", "/dev/zero", "."):
        done = home.run("run", "--model", "ours/x", "--file", path, "hi")
        assert (done.returncode, "is no file" in done.stderr) == (2, True)


def test_commands_get_no_keys(home):
    shown = Reply(calls=(ScriptedCall("bash", {"command": "env; echo done"}),))
    with serving(then=shown) as server:
        settings(home, provider(server) + '[shell]\npasses = ["NPM_TOKEN"]\n')
        secrets = {
            "OUR_KEY": KEY,
            "ANTHROPIC_API_KEY": KEY,
            "DB_PASSWORD": KEY,
            "GITHUB_TOKEN": KEY,
            "NPM_TOKEN": "let-pass",
        }
        home.run("run", "--on-ask", "allow", "--steps", "2", "--model", "ours/x", "go", PLAIN="plain-value", **secrets)
        told = json.dumps(server.bodies[1])
    assert "done" in told and "plain-value" in told and "let-pass" in told
    assert KEY not in told
    kept = b"".join(
        path.read_bytes() for path in home.folder.rglob("*") if path.is_file() and path.name != "config.toml"
    )
    assert KEY.encode() not in kept


def test_fetching_runs_nothing_that_lies_in_the_project(home):
    (home.project / "pip.py").write_text("open('PWNED', 'w')")
    done = home.anew("models", "fetch", PIP_INDEX_URL="http://127.0.0.1:1/simple", PIP_NO_INDEX="1", PIP_FIND_LINKS="")
    assert done.returncode in (0, 2) and not (home.project / "PWNED").exists()


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_leaves_an_embedded_turn_at_once(home, times):
    process = home.start("run", "--model", "embedded/smollm2", "What is in hello.txt? Tell me everything about it.")
    for line in process.stderr:
        if line.startswith("step 1"):
            break
    time.sleep(0.5)
    for _ in range(times):
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in said and "FATAL" not in said
    assert "length limit" not in said


@pytest.mark.parametrize("place", ["here", "src/somewhere-else"])
def test_the_demo_answers_wherever_it_lies(home, place):
    """A tiny model is easily led astray by a path or a date: the first command that anybody runs must not be luck."""
    command = shlex.split((ROOT / "scripts/demo").read_text().splitlines()[-1])
    home.project = home.project / place
    shutil.copytree(ROOT / "examples", home.project / "examples")
    done = home.run(*command[2:])
    assert (done.returncode, done.stdout.strip()) == (0, (ROOT / "examples/notes.txt").read_text().strip())
    assert "answered: 2 steps, 1 call" in done.stderr


def test_models_of_your_own_providers_are_listed(home):
    with serving("Hello.") as server:
        address = f"{server.address}/v1"
        settings(
            home,
            f'model = "mock/fake"\n[providers.mock]\nwire = "chat"\nbase_url = "{address}"\n[models."mock/other"]\n'
            f'[providers.far]\nwire = "chat"\nbase_url = "https://far.invalid/v1"\nkey_env = "FAR_KEY"\n'
            '[models."far/model"]\ncontext_window = 9999\n',
        )
        listed = home.run("models", FAR_KEY="key").stdout
        alone = home.run("models", "--provider", "mock")
    assert f"mock: configured at {address}\n  mock/fake " in listed and "  mock/other " in listed
    assert "far: key from FAR_KEY\n  far/model " in listed
    assert (alone.returncode, "  mock/fake " in alone.stdout, "far/" in alone.stdout) == (0, True, False)
    assert "far/model" not in home.run("models").stdout
