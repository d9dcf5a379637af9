"""Files with settings: Bridle's own TOML, and the JSON of others."""

from collections.abc import Callable

from support.config_project import ENVIRONMENT, harmless, project

from bridle.config.agents import all_agents
from bridle.config.load import faults, load
from bridle.errors import ConfigError
from fuzz.target import Target


def check_of(name: str) -> Callable[[bytes], None]:
    def check(data: bytes) -> None:
        with project({name: data}) as folder:
            try:
                loaded = load(folder, environment=ENVIRONMENT, trusted=True)
                all_agents(loaded.settings, loaded.origins)
                refused = False
            except ConfigError as error:
                refused = True
                assert name in str(error), "a refusal that names no file"
            told = faults(folder, environment=ENVIRONMENT)
            assert not refused or told, "refused, and nothing is wrong with it"
            try:
                loaded = load(folder, environment=ENVIRONMENT, trusted=False)
                found = loaded, all_agents(loaded.settings, loaded.origins)
            except ConfigError:
                return
            harmless(found)

    return check


TOML = (
    b'model = "a/b"\n[behavior]\nmax_steps = 20\nceiling = 90\n[limits]\ncost = 1.5\n[agents.build]\nsteps = 5\n'
    b'prompt = "p"\ntools = { bash = false }\n[agents.build.permission]\nbash = { "*" = "ask", "git *" = "allow" }\n',
    b'[permission]\nedit = "deny"\n[sandbox]\nmode = "off"\n[mcp.one]\ncommand = ["x"]\n[providers.p]\n'
    b'base_url = "http://x/"\n[commands.c]\ntemplate = "$1"\n[journal]\ndurability = "process"\n',
)
JSON = (
    b'{"$schema": "x", "model": "a/b", "agent": {"build": {"steps": 3, "tools": {"bash": false}, "mode": "primary",\n'
    b'"permission": {"bash": {"*": "ask"}, "edit": "deny"}, "temperature": 0.1}}, "instructions": ["a.md"]}',
    b'{// note\n"mcp": {"one": {"type": "local", "command": ["x"], "environment": {"A": "{env:HOME}"}}},\n'
    b'"provider": {"p": {"npm": "@ai-sdk/openai", "options": {"baseURL": "http://x/", "apiKey": "{file:k}"}}},\n'
    b'"command": {"c": {"template": "$ARGUMENTS"}}, "permission": "allow",}',
)
WORDS = (
    *(b"steps", b"max_steps", b"limits", b"permission", b"agents", b"agent", b"tools", b"mcp", b"providers", b"hooks"),
    *(b"bash", b"*", b"allow", b"ask", b"deny", b"model", b"prompt", b"mode", b"hidden", b"disable", b"options"),
    *(b'"', b"'''", b"[[", b"]]", b" = ", b"{env:HOME}", b"{file:/etc/passwd}", b"inf", b"nan", b"1979-05-27", b"/*"),
)
HOLDS = (
    "A file is taken, or refused in words that name it and that `faults` tells too; untrusted, it never gives more "
    "authority than no file."
)
TARGETS = tuple(
    Target(kind, HOLDS, check_of(name), seeds, WORDS, 50)
    for kind, name, seeds in (("toml", "bridle.toml", TOML), ("json", "opencode.json", JSON))
)
