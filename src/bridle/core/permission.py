"""Rules and a request give allow, ask or deny; the last rule that matches wins."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal

import msgspec

from bridle.errors import ConfigError

Verdict = Literal["allow", "ask", "deny"]
VERDICTS: tuple[Verdict, ...] = ("allow", "ask", "deny")

DOOM_LOOP = "doom_loop"


class Rule(msgspec.Struct, frozen=True):
    """What to do when a permission is asked for something that fits the pattern."""

    permission: str
    pattern: str
    verdict: Verdict

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ConfigError(f"Rule: verdict must be allow, ask or deny, not {self.verdict!r}")


Reach = Literal["exact", "open", "runs", "runs_open", "any"]
"""How much the pattern of an access says: everything, only how it begins, or nothing; `runs` says that it names a
program which runs others, so that only a rule that names it too can allow it."""


class Access(msgspec.Struct, frozen=True, omit_defaults=True):
    """One permission that a call needs, and for what."""

    permission: str
    pattern: str
    reach: Reach = "exact"
    always: str = ""
    """The pattern that a person who says always lets pass from then on, if it is not the one that was asked for."""


RUN_LATER = (
    ".envrc",
    "*/.envrc",
    ".vscode/*",
    ".husky/*",
    ".githooks/*",
    ".claude/*",
    ".opencode/*",
    ".mcp.json",
    "opencode.json*",
    "*AGENTS.md",
    ".devcontainer/*",
)
"""Files that other programs run or obey, without a question, when the project is opened the next time."""

DEFAULT_RULES: tuple[Rule, ...] = (
    Rule("*", "*", "ask"),
    Rule("read", "*", "allow"),
    Rule("read", "*.env", "ask"),
    Rule("read", "*.env.*", "ask"),
    Rule("read", "*.env.example", "allow"),
    Rule("glob", "*", "allow"),
    Rule("list", "*", "allow"),
    Rule("grep", "*", "allow"),
    Rule("grep", "*.env", "ask"),
    Rule("grep", "*.env.*", "ask"),
    Rule("edit", "*", "allow"),
    Rule("edit", "*.env", "ask"),
    Rule("edit", "*.env.*", "ask"),
    *(Rule("edit", pattern, "ask") for pattern in RUN_LATER),
    Rule("bash", "*", "ask"),
    Rule("protected", "*", "deny"),
    Rule("git_config", "*", "ask"),
    Rule("network", "*", "ask"),
    Rule("webfetch", "*", "ask"),
    Rule("private_network", "*", "ask"),
    Rule("question", "*", "allow"),
    Rule("skill", "*", "allow"),
    Rule("python", "*", "allow"),
    Rule("task", "*", "allow"),
    Rule("external_directory", "*", "ask"),
    Rule(DOOM_LOOP, "*", "ask"),
)


SANDBOXED_RULES: tuple[Rule, ...] = (Rule("bash", "*", "allow"),)
"""What is allowed besides, where commands are shut in."""


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile("".join(_piece(letter) for letter in pattern), re.DOTALL)


def _piece(letter: str) -> str:
    return {"*": ".*", "?": "."}.get(letter) or re.escape(letter)


def matches(pattern: str, text: str) -> bool:
    """Whether a wildcard pattern fits the whole text; a trailing " *" also fits the bare word before it."""
    if _compiled(pattern).fullmatch(text):
        return True
    return pattern.endswith(" *") and text == pattern[:-2]


def judge(rules: Sequence[Rule], access: Access, default: Verdict = "ask") -> Verdict:
    """The verdict of the last rule that matches; without one, the default.

    Where the pattern says only how something begins, or nothing, every rule that may match has a say.
    """
    match access.reach:
        case "exact":
            rule = _last(rules, access)
            return rule.verdict if rule is not None else default
        case "runs":
            rule = _last(rules, access)
            if rule is None or rule.verdict != "allow" or _names(rule, access):
                return rule.verdict if rule is not None else default
            return _mixed(_possible(rules, access, ""), default)
        case "open":
            return _mixed(_possible(rules, access, access.pattern), default)
        case "runs_open":
            possible = _possible(rules, access, access.pattern)
            if all(rule is not None and _names(rule, access) for rule in possible):
                return _mixed(possible, default)
            return _mixed([*possible, *_possible(rules, access, "")], default)
        case "any":
            return _mixed(_possible(rules, access, ""), default)


def _last(rules: Sequence[Rule], access: Access) -> Rule | None:
    for rule in reversed(rules):
        if _concerns(rule, access) and matches(rule.pattern, access.pattern):
            return rule
    return None


def _names(rule: Rule, access: Access) -> bool:
    """Whether a rule speaks of this very program, so that whoever wrote it knew what it can do."""
    return rule.pattern.startswith(access.pattern.partition(" ")[0])


def covers(saved: Access, access: Access) -> bool:
    """Whether an access to which a person said always lets another one pass."""
    if saved.permission != access.permission:
        return False
    if saved.always and access.reach in ("exact", "runs") and matches(saved.always, access.pattern):
        return True
    if saved.permission == "external_directory" and saved.reach == access.reach == "exact":
        return matches(saved.pattern, access.pattern)
    return (saved.pattern, saved.reach) == (access.pattern, access.reach)


def _concerns(rule: Rule, access: Access) -> bool:
    # A wildcard in a rule's name never answers for doom_loop: only a rule that names it does.
    if rule.permission == access.permission:
        return True
    return access.permission != DOOM_LOOP and matches(rule.permission, access.permission)


def _possible(rules: Sequence[Rule], access: Access, beginning: str) -> list[Rule | None]:
    """Every rule that may decide about something with this beginning; None for the default."""
    found: list[Rule | None] = []
    for rule in reversed(rules):
        if not _concerns(rule, access):
            continue
        places = _after(rule.pattern, beginning)
        if not places:
            continue
        found.append(rule)
        if any(rule.pattern[place:].strip("*") == "" and rule.pattern[place:] for place in places):
            return found
    return [*found, None]


def _after(pattern: str, beginning: str) -> set[int]:
    """Where in a pattern one may stand when the beginning has been matched; nowhere means that it cannot match."""
    places = _past_stars(pattern, {0})
    for letter in beginning:
        places = {
            place if pattern[place] == "*" else place + 1
            for place in places
            if place < len(pattern) and pattern[place] in ("*", "?", letter)
        }
        places = _past_stars(pattern, places)
    return places


def _past_stars(pattern: str, places: set[int]) -> set[int]:
    """A star may stand for nothing."""
    found = set(places)
    for place in places:
        while place < len(pattern) and pattern[place] == "*":
            place += 1
            found.add(place)
    return found


def _mixed(possible: Sequence[Rule | None], default: Verdict) -> Verdict:
    verdicts = {rule.verdict if rule is not None else default for rule in possible}
    return next(iter(verdicts)) if len(verdicts) == 1 else "ask"


def strictest(verdicts: Iterable[Verdict]) -> Verdict:
    """Deny over ask over allow."""
    found = set(verdicts)
    return "allow" if found <= {"allow"} else "ask" if found <= {"allow", "ask"} else "deny"


def denied_outright(rules: Sequence[Rule], permission: str) -> bool:
    """Whether every use of a permission is denied, so that its tool need not be offered."""
    for rule in reversed(rules):
        if rule.permission == permission or matches(rule.permission, permission):
            return rule.verdict == "deny" and rule.pattern == "*"
    return False
