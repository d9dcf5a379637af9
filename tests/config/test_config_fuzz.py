"""Generated settings files: never a traceback, and never more permissions than without them."""

import json
import os

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from support.config_project import ENVIRONMENT, harmless, project

from bridle.config.agents import all_agents, builtin_agents, rules
from bridle.config.load import faults, load
from bridle.config.settings import Settings
from bridle.core.permission import Access, judge
from bridle.errors import ConfigError

FUZZED = settings(
    max_examples=int(os.environ.get("FUZZ", "250")),
    # The same examples each time; with a number of its own, others.
    derandomize="FUZZ" not in os.environ,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
"""Eight properties, so two thousand examples in all; FUZZ=5000 for each of them looks further."""

WORDS = st.sampled_from(
    [
        *("steps", "maxSteps", "max_steps", "maxTurns", "limits", "tool_calls", "cost", "model", "prompt", "mode"),
        *("permission", "permissions", "tools", "bash", "edit", "*", "allow", "ask", "deny", "agent", "agents"),
        *("mcp", "command", "commands", "provider", "options", "baseURL", "apiKey", "npm", "instructions", "hidden"),
        *("build", "plan", "x", "disable", "disabled", "output", "behavior", "ceiling", "tree", "depth", "action"),
        *(
            "resource",
            "effect",
            "request",
            "body",
            "variant",
            "description",
            "name",
            "{env:HOME}",
            "{file:/etc/passwd}",
        ),
    ]
)
TEXT = st.one_of(WORDS, st.text(max_size=12))
LEAF = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0, -1, 5, 10**9, 10**400, 1e300]),
    TEXT,
)
JSON = st.recursive(
    LEAF, lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXT, inner, max_size=5)), max_leaves=20
)
TABLE = st.dictionaries(WORDS, JSON, max_size=6)
NAMES = st.sampled_from(
    [
        *("opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".mcp.json"),
        *(".opencode/agent/build.md", ".opencode/agent/x.md", ".claude/agents/x.md", ".claude/agents/plan.md"),
        *("AGENTS.md", "bridle.toml", ".bridle/agents/x.md", ".bridle/commands/x.md"),
    ]
)
LINES = st.lists(
    st.one_of(
        st.just("---"),
        st.builds("{}: {}".format, TEXT, LEAF),
        st.builds("  {}: {}".format, TEXT, LEAF),
        st.builds("{} = {}".format, TEXT, LEAF.map(lambda value: json.dumps(value))),
        st.builds("[{}.{}]".format, WORDS, WORDS),
        st.builds("- {}".format, TEXT),
        st.text(max_size=30),
    ),
    max_size=14,
).map("\n".join)


def read(folder, *, trusted):
    """The settings and the agents, or None if the file is refused in words; anything else is a defect."""
    try:
        loaded = load(folder, environment=ENVIRONMENT, trusted=trusted)
        return loaded, all_agents(loaded.settings, loaded.origins)
    except ConfigError as error:
        assert str(error)
        return None


def least(agents):
    return {name: agent for name, agent in agents.items() if name in builtin_agents()}


@FUZZED
@given(NAMES, LINES)
def test_lines_of_anything_in_any_file(name, text):
    with project({name: text}) as folder:
        read(folder, trusted=True)
        faults(folder, environment=ENVIRONMENT)


@FUZZED
@given(NAMES, st.binary(max_size=200))
def test_bytes_of_anything_in_any_file(name, content):
    with project({name: content}) as folder:
        read(folder, trusted=True)


@FUZZED
@given(st.sampled_from(["opencode.json", ".mcp.json"]), TABLE)
def test_tables_of_anything_as_json(name, table):
    with project({name: json.dumps(table)}) as folder:
        read(folder, trusted=True)


@FUZZED
@given(TABLE, st.text(max_size=40))
def test_tables_of_anything_as_the_head_of_an_agent(table, body):
    import yaml

    head = yaml.safe_dump(table, allow_unicode=True)
    with project(
        {".opencode/agent/x.md": f"---\n{head}---\n{body}", ".claude/agents/y.md": f"---\n{head}---\n"}
    ) as folder:
        read(folder, trusted=True)


@FUZZED
@given(st.lists(st.tuples(NAMES, st.one_of(LINES, TABLE.map(json.dumps))), max_size=4))
def test_an_untrusted_project_gains_nothing(files):
    with project(dict(files)) as folder:
        found = read(folder, trusted=False)
        if found is not None:
            harmless(found)


@FUZZED
@given(LINES, LINES)
def test_a_deny_and_a_cap_hold_among_any_other_rules(before, after):
    """Either the definition is refused, or what it says counts: never the one without the other."""
    head = f"{before}\npermission:\n  bash: deny\nsteps: 3\n{after}"
    with project({".opencode/agent/careful.md": f"---\n{head}\n---\nBe careful.\n"}) as folder:
        found = read(folder, trusted=True)
        if found is None or "careful" not in found[1]:
            return
        agent = found[1]["careful"]
        text = (folder / ".opencode/agent/careful.md").read_text()
        if text.split("---")[1].count("steps") == 1 and "steps: 3" in text.split("---")[1]:
            assert agent.steps == 3
            assert judge(rules({}, agent, sandboxed=True), Access("bash", "ls")) == "deny"


@FUZZED
@given(TABLE)
def test_settings_survive_their_own_format(table):
    """What is taken as settings can be written down and read again."""
    try:
        made = msgspec.convert(table, Settings)
    except msgspec.ValidationError:
        return
    assert msgspec.convert(msgspec.to_builtins(made), Settings) == made


@FUZZED
@given(st.sampled_from(["steps", "maxSteps", "max_steps", "maxTurns"]), JSON)
def test_a_cap_is_a_whole_number_or_an_error(key, value):
    content = json.dumps({"agent": {"x": {key: value, "prompt": "p"}}})
    with project({"opencode.json": content}) as folder:
        found = read(folder, trusted=True)
    if found is not None and "x" in found[1]:
        whole = isinstance(value, int) and not isinstance(value, bool) and value >= 0
        assert found[1]["x"].steps == (value if whole else None)
        assert whole or value is None


@pytest.mark.parametrize("depth", [50, 5_000])
def test_deeply_nested_files_are_refused_with_a_message(depth):
    deep = "[" * depth + "]" * depth
    with project(
        {"opencode.json": f'{{"agent": {deep}}}', ".opencode/agent/x.md": f"---\ntools: {deep}\n---\nx"}
    ) as folder:
        read(folder, trusted=True)
        read(folder, trusted=False)
