"""Describes for people what trusting a project would allow: permissions, commands, limits and other settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from bridle.config.agents import builtin_agents, rules_of
from bridle.config.display import value_in_words, without_secret_words
from bridle.config.merge import table_in
from bridle.config.settings import STEP_SPELLINGS, TEMPLATE_SHELL, AnyPermissions
from bridle.config.untrusted_project import MAY_ONLY_LOWER, leaves
from bridle.core.permission import DEFAULT_RULES, Access, Rule, judge, matches
from bridle.values.known_providers import BUILT_IN
from bridle.values.provider import Provider
from bridle.values.secrets import redacted
from bridle.workspace.substitution import PLACE

Table = Mapping[str, Any]

DEEDS = {
    "*": ("do anything", "do anything that matches `{}`"),
    "bash": ("run any command", "run `{}`"),
    "read": ("read any file", "read `{}`"),
    "grep": ("search any file", "search `{}`"),
    "edit": ("change any file", "change `{}`"),
    "external_directory": ("reach files outside the project", "reach `{}` outside the project"),
    "webfetch": ("fetch any web page", "fetch `{}`"),
    "network": ("use the network in commands", "reach `{}` in commands"),
    "private_network": ("reach addresses of the local network", "reach `{}` on the local network"),
    "git_config": ("change git's configuration", "change git's configuration in `{}`"),
    "protected": ("change protected places", "change the protected place `{}`"),
    "task": ("start any subagent", "start the subagent `{}`"),
    "doom_loop": ("repeat the same call without end", "repeat calls of `{}` without end"),
}
WITH_SECRETS = ("read", "grep", "edit")
"""Permissions that by default ask for `.env` files."""
ANYTHING = ("*", "**")
CHOSEN = {
    "model": "asks the model {}",
    "small_model": "asks the model {} for titles",
    "agent": "begins with the agent {}",
}
RUN = {"hooks": ("hook", "on"), "formatters": ("formatter", "files"), "diagnostics": ("diagnostic", "files")}
"""The commands of a project, and the key that says when they run."""


def granted_rights(rest: Table, permission: Any, user: Table) -> Iterator[str]:
    """Describe the permissions that a project gains by trust.

    `rest` are the settings that need trust, `permission` the project's rules, and `user` the user's own settings.
    """
    mine = (*DEFAULT_RULES, *_rules(user.get("permission")))
    yield from (f"may {deed}" for deed in _deeds(_rules(permission), mine))
    known = dict(_named(user.get("agents")))
    for name, fields in _named(rest.get("agents")):
        own = builtin_agents().get(name)
        theirs = _rules(known.get(name, {}).get("permission"))
        before = (*mine, *(own.permission if own is not None else ()), *theirs)
        yield from (f"agent {name} may {deed}" for deed in _deeds(_rules(fields.get("permission")), before))


def granted_settings(rest: Table) -> Iterator[str]:
    """Describe the effects of trust besides permissions: commands, limits and other settings."""
    for section, value in rest.items():
        yield from _SECTIONS.get(section, _plain)(section, value)
    for key, value in leaves({name: rest[name] for name in ("mcp", "providers") if name in rest}):
        yield from _substituted(key, value)


def _rules(permission: Any) -> tuple[Rule, ...]:
    try:
        return rules_of(msgspec.convert(permission or {}, AnyPermissions))
    except msgspec.ValidationError:
        # An invalid table grants nothing: it is rejected once the project is trusted.
        return ()


def _deeds(rules: Iterable[Rule], before: Sequence[Rule]) -> Iterator[str]:
    """Describe what the rules allow that was not allowed before."""
    for rule in rules:
        beginning = rule.pattern.partition("*")[0].partition("?")[0]
        named = "*" not in rule.permission and "?" not in rule.permission
        was = judge(before, Access(rule.permission, beginning, "open" if beginning else "any")) if named else "ask"
        if rule.verdict == "allow" and was != "allow":
            secrets = rule.permission in WITH_SECRETS and rule.pattern in ANYTHING
            yield f"{_deed(rule)} without asking" + (", .env included" if secrets else "")
        elif rule.verdict == "ask" and _denied(rule, before):
            yield f"{_deed(rule)} after asking, although you deny it"


def _denied(rule: Rule, before: Iterable[Rule]) -> bool:
    return any(
        each.verdict == "deny"
        and (matches(rule.permission, each.permission) or matches(each.permission, rule.permission))
        and (matches(rule.pattern, each.pattern) or matches(each.pattern, rule.pattern))
        for each in before
    )


def _deed(rule: Rule) -> str:
    whole, some = DEEDS.get(rule.permission, (f"use {rule.permission}", f"use {rule.permission} for `{{}}`"))
    return whole if rule.pattern in ANYTHING else some.replace("{}", rule.pattern)


def _plain(section: str, value: Any, told: Sequence[str] = ()) -> Iterator[str]:
    """Describe each setting of a section, except those in `told`, which are described already."""
    rest = {key: each for key, each in value.items() if key not in told} if isinstance(value, Mapping) else value
    for key, each in leaves({section: rest}) if rest != {} else ():
        yield f"{'raises' if key.startswith(MAY_ONLY_LOWER) else 'sets'} {key} to {value_in_words(key, each)}"


def _chosen(section: str, value: Any) -> Iterator[str]:
    yield CHOSEN[section].format(value)


def _instructions(section: str, value: Any) -> Iterator[str]:
    for name in value if isinstance(value, list) else [value]:
        address = str(name).startswith(("http://", "https://"))
        yield f"fetches instructions from {redacted(str(name))}" if address else f"reads instructions from {name}"


def _run(section: str, value: Any) -> Iterator[str]:
    name, key = RUN[section]
    for entry in value if isinstance(value, list) else ():
        if isinstance(entry, Mapping):
            when = f"({entry.get(key)})" if key == "on" else f"on {entry.get(key)}"
            yield f"runs the {name} `{entry.get('command')}` {when}"


def _servers(section: str, value: Any) -> Iterator[str]:
    for name, server in _named(value):
        command = server.get("command")
        network = " with the network" if server.get("network") is True else ""
        if server.get("enabled") is False:
            yield f"switches the MCP server {name} off"
        elif isinstance(command, list) and command:
            words = " ".join(without_secret_words([str(word) for word in command]))
            where = f" in {server['folder']}" if server.get("folder") else ""
            yield f"starts the MCP server {name}{network}{where}: {redacted(words)}"
        else:
            yield f"connects to the MCP server {name} at {redacted(str(server.get('url', '')))}"
        yield from _plain(f"{section}.{name}", server, told=("command", "url", "network", "folder", "enabled"))
    others = {key: each for key, each in table_in(value).items() if not isinstance(each, Mapping)}
    yield from _plain(section, others)


def _providers(section: str, value: Any) -> Iterator[str]:
    for name, provider in _named(value):
        address, variable = provider.get("base_url"), provider.get("key_env")
        variable = variable or (BUILT_IN.get(name) or Provider()).key_env
        where = f"the provider {name}" + (f" at {redacted(str(address))}" if address else "")
        if provider.get("auth") == "none" or provider.get("key"):
            yield f"sends prompts to {where}"
        elif variable:
            yield f"sends prompts and your key in {variable} to {where}"
        else:
            yield f"sends prompts to {where}, and your key for {name} if you have one"
        yield from _plain(f"{section}.{name}", provider, told=("base_url", "key_env"))


def _models(section: str, value: Any) -> Iterator[str]:
    for name, fields in _named(value):
        yield f"changes the model {name} ({', '.join(map(str, fields))})"


def _commands(section: str, value: Any) -> Iterator[str]:
    for name, command in _named(value):
        shells = TEMPLATE_SHELL.findall(str(command.get("template", "")))
        yield from (f"runs `{shell}` in the command /{name}" for shell in shells)
        if not shells:
            yield f"defines the command /{name}"


def _agents(section: str, value: Any) -> Iterator[str]:
    for name, fields in _named(value):
        known = name in builtin_agents()
        file = f" with the prompt in {fields['prompt_file']}" if fields.get("prompt_file") else ""
        keys = [words for key, each in fields.items() if key != "permission" for words in _changed(key, each)]
        if fields.get("disable") is True:
            yield f"switches the agent {name} off"
        elif not known:
            yield f"defines the agent {name}{file}"
        elif keys:
            yield f"changes the agent {name} ({', '.join(keys)}){file}"


def _changed(key: str, value: Any) -> Iterator[str]:
    """Describe a field of an agent; each limit with its value."""
    if key == "limits" and isinstance(value, Mapping):
        yield from (f"{limit} {value_in_words(limit, each)}" for limit, each in value.items())
    else:
        yield f"{key} {value}" if key in STEP_SPELLINGS else key


def _sandbox(section: str, value: Any) -> Iterator[str]:
    given = dict(table_in(value))
    if given.get("mode") == "off":
        del given["mode"]
        yield "switches the sandbox off"
    if given.get("network") is True:
        del given["network"]
        yield "gives every command network access"
    if isinstance(given.get("writable"), list):
        yield from (f"lets commands write to {folder}" for folder in given.pop("writable"))
    yield from _plain(section, given)


def _shell(section: str, value: Any) -> Iterator[str]:
    passes = table_in(value).get("passes")
    yield from (f"passes {name} to commands" for name in passes) if isinstance(passes, list) else _plain(section, value)


def _named(value: Any) -> list[tuple[str, Table]]:
    return [(name, each) for name, each in table_in(value).items() if isinstance(each, Mapping)]


def _substituted(key: str, value: Any) -> Iterator[str]:
    for text in value if isinstance(value, list) else [value]:
        for place in PLACE.finditer(text) if isinstance(text, str) else ():
            what = "file" if place[1] == "file" else "environment variable"
            yield f"reads the {what} {place[2].partition(':-')[0]} for {key}"


_SECTIONS: dict[str, Callable[[str, Any], Iterator[str]]] = {
    **dict.fromkeys(CHOSEN, _chosen),
    "instructions": _instructions,
    **dict.fromkeys(RUN, _run),
    "mcp": _servers,
    "providers": _providers,
    "models": _models,
    "commands": _commands,
    "agents": _agents,
    "sandbox": _sandbox,
    "shell": _shell,
}
