"""Settings from every layer, each with its origin, and errors that name the file, the key and the way out."""

import os

import pytest

from bridle.config.load import load
from bridle.config.settings import CommandSettings
from bridle.core.permission import Rule
from bridle.errors import ConfigError


@pytest.fixture
def world(tmp_path):
    project = tmp_path / "project" / "deep"
    project.mkdir(parents=True)
    user = tmp_path / "config" / "bridle"
    user.mkdir(parents=True)
    return tmp_path, project, {"XDG_CONFIG_HOME": str(tmp_path / "config"), "HOME": str(tmp_path)}


def read(world, *, user="", project="", environment=None, flags=None, trusted=False):
    folder, directory, base = world
    (folder / "config" / "bridle" / "config.toml").write_text(user)
    (folder / "project" / "bridle.toml").write_text(project)
    return load(directory, environment={**base, **(environment or {})}, flags=flags, trusted=trusted)


def test_later_layers_win_and_every_value_knows_where_it_came_from(world):
    loaded = read(
        world,
        user='model = "a/user"\n[limits]\ncost = 5.0\ntokens = 100\nseconds = 60\n',
        project="[limits]\ncost = 2.0\nseconds = 50\n",
        environment={"BRIDLE_LIMITS__SECONDS": "40", "BRIDLE_MODEL": "a/environment"},
        flags={"limits.tokens": 7},
    )
    limits = loaded.settings.limits
    assert (loaded.settings.model, limits.cost, limits.seconds, limits.tokens) == ("a/environment", 2.0, 40, 7)
    folder = world[0]
    assert loaded.origins == {
        "model": "environment",
        "limits.cost": str(folder / "project" / "bridle.toml"),
        "limits.tokens": "flag",
        "limits.seconds": "environment",
    }
    assert loaded.notices == ()


PROJECT = """
model = "evil/model"
[behavior]
max_steps = 10
ceiling = 5000
[limits]
cost = 100.0
tokens = 50
[permission]
bash = "allow"
edit = "deny"
[journal]
path = "/tmp/elsewhere.db"
"""


def test_a_project_that_nobody_trusted_may_only_lower(world):
    loaded = read(world, user="[limits]\ncost = 5.0\n", project=PROJECT)
    settings = loaded.settings
    assert (settings.model, settings.behavior.max_steps, settings.behavior.ceiling) == (None, 10, 200)
    assert (settings.limits.cost, settings.limits.tokens, settings.permission) == (5.0, 50, {})
    assert loaded.restrictions == ((Rule("bash", "*", "allow"), Rule("edit", "*", "deny")),)
    assert loaded.ignored == (
        "may run any command without asking",
        "asks the model evil/model",
        "raises limits.cost to 100.0",
    )
    ceiling, _, warning = loaded.notices
    assert "behavior.ceiling is ignored: only your own configuration may raise it" in ceiling
    assert all(words in warning for words in loaded.ignored)


def test_a_trusted_project_does_not_decide_what_clients_of_a_server_may_use(world):
    loaded = read(world, user="[server]\nstreams = 5\n", project="[server]\nstreams = 500\n", trusted=True)
    assert loaded.settings.server.streams == 5
    assert "server is ignored: only your own configuration" in loaded.notices[0]


def test_a_trusted_project_does_not_say_where_the_journal_is(world):
    """A journal that comes with a project has asks that others have answered."""
    loaded = read(world, project='[journal]\npath = "j.db"\nschema = "x"\ndurability = "process"\n', trusted=True)
    assert (loaded.settings.journal.path, loaded.settings.journal.schema) == ("", "bridle")
    assert loaded.settings.journal.durability == "process"
    assert ["journal.path is ignored" in notice for notice in loaded.notices] == [True, False]


def test_a_trusted_project_may_do_more_but_never_raise_the_ceiling(world):
    settings = read(world, user="[limits]\ncost = 5.0\n", project=PROJECT, trusted=True).settings
    assert (settings.model, settings.limits.cost, settings.permission["bash"]) == ("evil/model", 100.0, "allow")
    assert settings.behavior.ceiling == 200


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize("project", ["[limits]\ntool_calls = 5\n", "[behavior]\nmax_steps = 5\n", ""])
def test_a_project_that_says_nothing_of_a_low_ceiling_is_told_nothing_of_it(world, project, trusted):
    (world[0] / "project" / "opencode.json").write_text('{"permission": {"bash": "deny"}}')
    loaded = read(world, user="[behavior]\nceiling = 50\n", project=project, trusted=trusted)
    assert loaded.settings.behavior.ceiling == 50
    assert not [notice for notice in loaded.notices if "ceiling" in notice]
    raised = read(world, user="[behavior]\nceiling = 50\n", project="[behavior]\nceiling = 60\n", trusted=trusted)
    assert raised.settings.behavior.ceiling == 50
    assert [notice for notice in raised.notices if "behavior.ceiling is ignored" in notice]


def test_settings_above_are_read_only_from_folders_that_others_cannot_write_to(world):
    assert read(world, project="[limits]\ntool_calls = 3\n").settings.limits.tool_calls == 3
    (world[0] / "project").chmod(0o1777)
    assert read(world, project="[limits]\ntool_calls = 3\n").settings.limits.tool_calls == 200
    (world[0] / "project").chmod(0o755)
    if os.geteuid() == 0:
        os.chown(world[0] / "project", 12345, -1)
        assert read(world, project="[limits]\ntool_calls = 3\n").settings.limits.tool_calls == 200


def test_files_of_settings_are_read_within_bounds(world):
    folder, directory, environment = world
    (folder / "project" / "bridle.toml").write_bytes(b"# " + b"x" * 5_000_000)
    with pytest.raises(ConfigError, match=r"bridle\.toml: cannot be read: it is larger than 1,000,000 bytes"):
        load(directory, environment=environment)
    (folder / "project" / "bridle.toml").unlink()
    (directory / "AGENTS.md").write_text("---\nname: a\n---\nWords.\n" * 2_000)
    (directory / ".claude").mkdir()
    os.mkfifo(directory / ".claude" / "agents")
    loaded = load(directory, environment=environment)
    assert loaded.notices == (f"{directory / 'AGENTS.md'}: its agents are left out: it has more than 100 agents",)


def test_a_command_in_markdown_may_be_a_subtask_and_other_fields_are_named(world):
    _, directory, environment = world
    commands = directory / ".opencode" / "command"
    commands.mkdir(parents=True)
    (commands / "dig.md").write_text("---\nagent: general\nsubtask: true\ncolour: red\n---\nDig.")
    loaded = load(directory, environment=environment, trusted=True)
    assert loaded.settings.commands == {"dig": CommandSettings("Dig.", agent="general", subtask=True)}
    assert loaded.notices == (f"{commands / 'dig.md'}: not taken over: colour",)


ERRORS = [
    (
        "[agents.x]\nmaxSteps = 0",
        "config.toml: agents.x.maxSteps must be more than 0; an agent that only talks has steps = 0",
    ),
    ("[agents.x]\nmax_steps = 2.5", "config.toml: agents.x.max_steps must be a whole number, not 2.5"),
    ("[limit]\ncost = 1", "config.toml: limit is not known; did you mean limits?"),
    ("[limits]\ncots = 1", "config.toml: limits.cots is not known; did you mean limits.cost?"),
    ("[agents.x]\nstep = 1", "config.toml: agents.x.step is not known; did you mean agents.x.steps?"),
    ("[limits]\ncost = -1", "config.toml: limits.cost must not be negative, not -1"),
    ("[limits]\ntokens = 1.5", "config.toml: limits.tokens must be a whole number, not 1.5"),
    ("[limits]\nseconds = nan", "config.toml: limits.seconds must be finite, not nan"),
    ("[behavior]\nmax_steps = 0", "config.toml: behavior.max_steps must be more than 0: leave it out"),
    ("[behavior]\nmax_steps = true", "config.toml: behavior.max_steps must be a whole number, not True"),
    ("[agents.x]\nsteps = -2", "config.toml: agents.x.steps must not be negative, not -2"),
    ("[agents.x.limits]\ncost = 'a'", "config.toml: agents.x.limits.cost must be a number, not 'a'"),
    ("model = 3", "config.toml: model: Expected `str | null`, got `int`"),
    ('[permission]\nbash = "maybe"', "config.toml: permission.bash: Invalid enum value 'maybe'"),
    ("model = ", "config.toml: not valid TOML"),
]


@pytest.mark.parametrize(("text", "words"), ERRORS, ids=[row[0].replace("\n", " ") for row in ERRORS])
def test_an_error_names_the_file_the_key_and_the_way_out(world, text, words):
    with pytest.raises(ConfigError) as refused:
        read(world, user=text)
    assert words in str(refused.value)


def test_agents_of_the_settings_stand_over_the_built_in_ones(world):
    from bridle.config.agents import all_agents

    text = '[agents.refactorer]\nsteps = 7\n[agents.mine]\nprompt = "Mine."\nsteps = 0\nlimits = { cost = 1.5 }\n'
    loaded = read(world, user=text)
    agents = all_agents(loaded.settings, loaded.origins)
    assert {name: agent.steps for name, agent in agents.items()} == {
        "build": None,
        "plan": None,
        "refactorer": 7,
        "architect": 20,
        "general": None,
        "explore": None,
        "compaction": None,
        "title": None,
        "synthesis": None,
        "mine": 0,
    }
    assert (agents["mine"].prompt, agents["mine"].limits.cost) == ("Mine.", 1.5)
    assert agents["mine"].source.endswith("config.toml")
