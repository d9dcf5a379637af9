"""Rules and a request give allow, ask or deny; the last rule that matches wins."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal

import msgspec

Verdict = Literal["allow", "ask", "deny"]
VERDICTS: tuple[Verdict, ...] = ("allow", "ask", "deny")

DOOM_LOOP = "doom_loop"


class Rule(msgspec.Struct, frozen=True):
    """What to do when a permission is asked for something that fits the pattern."""

    permission: str
    pattern: str
    verdict: Verdict


class Access(msgspec.Struct, frozen=True):
    """One permission that a call needs, and for what."""

    permission: str
    pattern: str


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
    Rule("python", "*", "allow"),
    Rule("task", "*", "allow"),
    Rule("external_directory", "*", "ask"),
    Rule(DOOM_LOOP, "*", "ask"),
)


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
    """The verdict of the last rule that matches; without one, the default."""
    for rule in reversed(rules):
        # A wildcard in a rule's name never answers for doom_loop: only a rule that names it does.
        named = rule.permission == access.permission
        if access.permission == DOOM_LOOP and not named:
            continue
        if (named or matches(rule.permission, access.permission)) and matches(rule.pattern, access.pattern):
            return rule.verdict
    return default


def strictest(verdicts: Iterable[Verdict]) -> Verdict:
    """Deny over ask over allow."""
    found = set(verdicts)
    return "deny" if "deny" in found else "ask" if "ask" in found else "allow"


def denied_outright(rules: Sequence[Rule], permission: str) -> bool:
    """Whether every use of a permission is denied, so that its tool need not be offered."""
    for rule in reversed(rules):
        if rule.permission == permission or matches(rule.permission, permission):
            return rule.verdict == "deny" and rule.pattern == "*"
    return False
