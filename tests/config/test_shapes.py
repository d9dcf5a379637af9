"""Files of other programs in every version: the imported settings, and the messages about invalid files."""

import os

import pytest
from support.agent_files import AGENTS_MD, CLAUDE_AGENTS, OPENCODE_AGENTS, OPENCODE_JSON

from bridle.config.agents import all_agents, rules
from bridle.config.check import problems
from bridle.config.load import load
from bridle.core.permission import Access, denied_outright, judge
from bridle.errors import ConfigError
from bridle.runtime import Runtime

ALL = {
    f"{kind}-{shape.name}": shape
    for kind, shapes in (
        ("opencode_json", OPENCODE_JSON),
        ("opencode_agents", OPENCODE_AGENTS),
        ("claude_agents", CLAUDE_AGENTS),
        ("agents_md", AGENTS_MD),
    )
    for shape in shapes
}


@pytest.fixture
def project(tmp_path):
    (tmp_path / "project" / ".git").mkdir(parents=True)
    return tmp_path / "project"


def write(project, shape):
    for name, content in shape.files.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode())


def environment(project):
    return {"HOME": str(project.parent / "home"), "PATH": os.environ["PATH"]}


def taken(agent, settings, wanted):
    """Of an agent, what a case speaks of."""
    options = dict(agent.options)
    verdicts = rules(settings.permission, agent, sandboxed=False)
    found = {
        "description": agent.description,
        "mode": agent.mode,
        "model": agent.model,
        "variant": agent.variant,
        "prompt": (agent.prompt or "").strip(),
        "steps": agent.steps,
        "temperature": options.get("temperature"),
        "top_p": options.get("top_p"),
        "hidden": agent.hidden,
        "color": agent.color,
        "offers": sorted(agent.offers) if agent.offers is not None else None,
        "off": [name for name in wanted.get("off", ()) if agent.tools.get(name) is False or denied(verdicts, name)],
        "verdicts": {asked: judge(verdicts, Access(*asked.split(" ", 1))) for asked in (wanted.get("verdicts") or {})},
    }
    return {key: found[key] for key in wanted}


def denied(verdicts, name):
    return denied_outright(verdicts, {"write": "edit"}.get(name, name))


def setting(settings, key, project):
    if key == "instructions":
        return [path.removeprefix(f"{project}/") for path in settings.instructions]
    section, _, rest = key.partition(".")
    value = getattr(settings, section)
    if section in ("providers", "models", "commands"):
        name = next(name for name in sorted(value, key=len, reverse=True) if rest.startswith(f"{name}."))
        value, rest = value[name], rest.removeprefix(f"{name}.")
    for name in rest.split(".") if rest else ():
        value = getattr(value, name)
    return value


@pytest.mark.parametrize("shape", ALL.values(), ids=ALL)
def test_a_file_that_somebody_has_means_what_it_says(project, shape):
    write(project, shape)
    try:
        loaded = load(project, environment=environment(project), trusted=True)
        agents = all_agents(loaded.settings, loaded.origins)
        said = "\n".join(loaded.notices)
    except ConfigError as error:
        assert shape.problems, error
        loaded, said, agents = None, str(error), {}
    assert [words for words in shape.problems if words not in said] == [], said
    if loaded is None:
        return
    gone = {name for name, wanted in shape.agents.items() if wanted.get("disabled")}
    assert gone & set(agents) == set()
    wanted = {name: wanted for name, wanted in shape.agents.items() if name not in gone}
    assert {name: taken(agents[name], loaded.settings, each) for name, each in wanted.items()} == wanted
    assert {key: setting(loaded.settings, key, project) for key in shape.settings} == shape.settings
    if shape.instructions:
        system = Runtime.open(
            project, trusted=True, environment=environment(project), in_memory=True, flags={"model": "openai/gpt-5"}
        ).turns.user.instructions()
        assert [words for words in shape.instructions if words not in system] == []


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"sesions": "f2"}, "keys.sesions is not known; did you mean keys.sessions?"),
        ({"sessions": "f99"}, 'keys.sessions names no key: f99, as in "f2", "ctrl+o" or "leader l"'),
        ({"help": "pagdown"}, "keys.help names no key: pagdown; did you mean pagedown?"),
        ({"help": "q"}, "keys.help cannot be the plain key q, which is typed: add ctrl+, alt+ or leader"),
        ({"help": 1}, 'keys.help must be keys as text, as in "f2, leader l", not 1'),
        ({"help": "f2"}, "keys.help has the key f2, as has keys.sessions: choose another, or empty that one"),
        ({"help": "f2", "sessions": ""}, ""),
        ({"help": "f1,Leader  H , ctrl+h", "leader": "ctrl+b"}, ""),
    ],
)
def test_keys_are_named_once_and_exist(given, words):
    assert [problem.text for problem in problems({"keys": given})] == [words] * bool(words)
