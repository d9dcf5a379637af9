"""`bridle config`, `init` and `doctor`: the origin of each setting, problems, and no secrets."""

import json

import pytest
from support.agent_project import home_of_repository, write
from support.paths import ROOT


@pytest.fixture
def home(tmp_path):
    return home_of_repository(tmp_path)


def test_settings_are_listed_with_their_origin_and_without_secrets(home):
    write(
        home.folder,
        {
            ".config/bridle/config.toml": "[limits]\ncost = 2.5\n[mcp.a]\nurl = 'https://x'\n"
            "headers = { A = 'sk-secret', B = '{env:B}' }\n",
            "project/bridle.toml": "[limits]\ntool_calls = 7\n",
        },
    )
    rows = {line.split()[0]: line for line in home.run("config").stdout.splitlines()}
    config = home.folder / ".config" / "bridle" / "config.toml"
    assert rows["limits.cost"].endswith(f"2.5  ({config})")
    assert rows["limits.tool_calls"].endswith(f"7  ({home.project / 'bridle.toml'})")
    assert rows["limits.tokens"].endswith("null  (default)")
    assert "[hidden]" in rows["mcp.a.headers.A"] and "{env:B}" in rows["mcp.a.headers.B"]
    assert home.run("config", BRIDLE_AGENT="plan").stdout.splitlines()[3].endswith('"plan"  (environment)')


def test_config_check_names_every_problem_with_its_line(home):
    write(
        home.project,
        {
            "bridle.toml": 'modle = "x"\n[behavior]\nmax_steps = 0\n[limits]\ncost = "much"\n[agents.x]\nsteps = -3\n',
            ".opencode/agent/bad.md": "---\nsteps: 2\nsteps: 3\n---\nx",
        },
    )
    done = home.anew("config", "check")
    path = home.project / "bridle.toml"
    assert done.returncode == 2
    assert done.stdout.splitlines() == [
        f"{path}:1: modle is not known; did you mean model?",
        f"{path}:3: behavior.max_steps must be more than 0: leave it out for the ceiling alone",
        f"{path}:5: limits.cost must be a number, not 'much'",
        f"{path}:7: agents.x.steps must not be negative, not -3",
        f"{home.project}/.opencode/agent/bad.md: the agent bad is left out: line 3: the key 'steps' occurs twice",
    ]


def test_init_writes_a_file_of_comments_that_is_right_as_it_stands(home):
    assert home.anew("init").stdout == "written: bridle.toml\n"
    assert home.run("config", "check").stdout == "nothing is wrong\n"
    text = (home.project / "bridle.toml").read_text()
    assert "# max_steps = 25" in text and all(line.startswith("#") or not line for line in text.splitlines())
    assert home.run("init").returncode == 2
    # Taken out of their comments, its lines are settings that make sense.
    examples = [line[2:] for line in text.splitlines()[4:] if line.startswith("# ")]
    (home.project / "bridle.toml").write_text("\n".join(examples))
    assert home.run("config", "check").stdout == "nothing is wrong\n"


def test_the_published_schema_is_the_one_of_the_settings(home):
    assert json.loads((ROOT / "docs" / "bridle.schema.json").read_text()) == json.loads(
        home.anew("config", "schema").stdout
    )


@pytest.mark.parametrize(
    "files",
    [
        {".claude/agents/x.md": "---\nname: plan\ntools: [\n---\nx"},
        {"AGENTS.md": "---\ndescription: x\nname: build\nname: build\n---\nx"},
        {".bridle/agents/rev.md": "---\npermission: {edit: denyy}\n---\nx"},
        {"opencode.json": '{"agent": {"build": {"permission": "nope"}}}'},
    ],
    ids=["claude", "agents_md", "over_the_users", "opencode"],
)
def test_a_broken_definition_of_an_existing_agent_is_an_error(home, files):
    write(home.folder, {".config/bridle/agents/rev.md": "---\npermission: {edit: deny}\n---\nRev."})
    write(home.project, files)
    done = home.run("agents", "--trust")
    assert (done.returncode, str(home.project / next(iter(files))) in done.stderr) == (2, True)
    assert home.run("agents").returncode == 0


@pytest.mark.parametrize(
    "files",
    [
        {"bridle.toml": 'agents = "x"'},
        {"opencode.json": '{"provider": {"p": {"models": {"m": {"variants": {"v": 3}}}}}}'},
        {"opencode.json": '{"agent": {"x": {"options": 3, "request": {"body": {"a": 1}}}}}'},
        {"bridle.toml": 'instructions = ["/**x/*.md", "~nobody/x", "/", ""]'},
    ],
)
def test_nonsense_has_words(home, files):
    write(home.project, files)
    for words in (("agents",), ("agents", "--trust"), ("config", "check"), ("config", "prompt", "--trust")):
        done = home.run(*words, OPENAI_API_KEY="x", BRIDLE_MODEL="openai/gpt-4.1")
        assert "should not have happened" not in done.stderr and "Traceback" not in done.stderr


def test_config_hides_secrets_wherever_they_stand(home):
    secret = "hunter2hunter2"
    write(
        home.folder,
        {
            ".config/bridle/config.toml": f"""
[mcp.a]
command = ["srv", "--token", "{secret}", "--key=sk-{secret}{secret}", "--port", "80"]
[mcp.b]
url = "https://x/?api_key={secret}"
headers = {{ A = "Bearer {secret} {{env:X}}" }}
[[hooks]]
on = "turn_end"
command = "curl -H 'Authorization: Bearer sk-{secret}{secret}' x"
"""
        },
    )
    listed = home.run("config").stdout
    assert secret not in listed
    assert '"--port","80"' in listed and "{env:X}" in listed


def test_doctor_reports_a_broken_configuration_and_goes_on(home):
    write(home.folder, {".config/bridle/config.toml": 'modle = "a/b"\n'})
    done = home.run("doctor", BRIDLE_BEHAVIOR__EMBEDDED="false")
    assert (done.returncode, done.stderr) == (0, "")
    assert "modle is not known; did you mean model?" in done.stdout
    for section in ("machine", "project", "configuration", "models", "journal", "terminal"):
        assert f"{section}\n" in done.stdout
