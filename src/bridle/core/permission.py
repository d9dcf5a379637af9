"""Permission rules: `judge` returns the verdict (allow, ask, deny) of the last `Rule` that matches an `Access`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from bridle.core.rule_patterns import MOST_STARTS, NOT_KNOWN, after, compiled, passed_on
from bridle.core.web import HOST, WEBFETCH, address_fits, host_fits
from bridle.errors import ConfigError

Verdict = Literal["allow", "ask", "deny"]
Approvals = Literal["rules", "ask", "auto"]
"""How a person approves the calls of a session: by the rules, each edit and command, or all that may be allowed."""
VERDICTS: tuple[Verdict, ...] = ("allow", "ask", "deny")

DOOM_LOOP = "doom_loop"
APPROVAL = "approval"
"""Permission for a call that its tool wants a person to approve."""
EDIT_PROTECTED = "edit_protected"
"""Permission to write a file that a program later runs or obeys, for example AGENTS.md or .vscode."""
NAMED_ALONE = frozenset({DOOM_LOOP, EDIT_PROTECTED})
"""Permissions that no wildcard covers: only a rule that names them, or a person, can grant them."""


class Rule(msgspec.Struct, frozen=True):
    """The verdict for a permission whose subject matches the pattern."""

    permission: str
    pattern: str
    verdict: Verdict

    def __post_init__(self) -> None:
        for field in ("permission", "pattern"):
            if not isinstance(given := getattr(self, field), str):
                raise ConfigError(f"Rule: {field} must be text, not {given!r}")
        if self.verdict not in VERDICTS:
            raise ConfigError(f"Rule: verdict must be allow, ask or deny, not {self.verdict!r}")


Reach = Literal["exact", "open", "runs", "runs_open", "any", "passes", "also", "perhaps"]
"""How much is known about an access. `exact`: the whole pattern. `open`: only its beginning. `any`: nothing. `runs` and
`runs_open`: a program that runs others, which only a rule that names it can allow. `passes`: an unknown program may run
any of its words, so a rule against these asks. `also`: the same command without options, to which only rules against it
apply. `perhaps`: like `also`, but it is uncertain which words belong to options."""


class Access(msgspec.Struct, frozen=True, omit_defaults=True):
    """One permission that a call needs, and its subject."""

    permission: str
    pattern: str
    reach: Reach = "exact"
    always: str = ""
    """The pattern that "always" allows from then on, if it differs from the one that was asked."""
    words: str = ""
    """The text that rules match, where the pattern shows more than is known for sure."""

    @property
    def judged(self) -> str:
        return self.words or self.pattern


ALLOW = ("read", "glob", "list", "grep", "edit", "question", "skill", "python", "task")
ASK = (
    "bash",
    "git_config",
    "network",
    "webfetch",
    "private_network",
    "external_directory",
    EDIT_PROTECTED,
    DOOM_LOOP,
)
"""Permissions that are allowed, or asked for, unless a rule says otherwise."""
DEFAULT_RULES: tuple[Rule, ...] = (
    Rule("*", "*", "ask"),
    *(Rule(permission, "*", "allow") for permission in ALLOW),
    *(Rule(permission, "*", "ask") for permission in ASK),
    Rule("protected", "*", "deny"),
    *(Rule(permission, "*.env", "ask") for permission in ("read", "grep", "edit")),
    *(Rule(permission, "*.env.*", "ask") for permission in ("read", "grep", "edit")),
    Rule("read", "*.env.example", "allow"),
)


def only_a_person_answers(access: Access) -> bool:
    """Return whether a person must answer even if asks are allowed in advance: loops, and files obeyed later."""
    return access.permission in (*NAMED_ALONE, "protected", "git_config")


def by_approvals(verdict: Verdict, access: Access, approvals: Approvals) -> Verdict:
    """Return the verdict that a person's choice makes of one by the rules; a deny stays."""
    if verdict == "ask" and approvals == "auto" and not only_a_person_answers(access):
        return "allow"
    asked = verdict == "allow" and approvals == "ask" and access.permission in ("edit", "bash")
    return "ask" if asked else verdict


SANDBOXED_RULES: tuple[Rule, ...] = (Rule("bash", "*", "allow"),)
"""Additional rules where commands run in a sandbox."""


def matches(pattern: str, text: str) -> bool:
    """Return whether a wildcard pattern matches the whole text; a trailing " *" also matches the word before it."""
    return compiled(pattern).fullmatch(text) is not None or (pattern.endswith(" *") and text == pattern[:-2])


def judge(rules: Sequence[Rule], access: Access, default: Verdict = "ask") -> Verdict:
    """Return the verdict of the last rule that matches, or the default.

    If only the beginning of the subject is known, or nothing, every rule that may match counts.
    """
    match access.reach:
        case "exact" | "runs":
            rule = _last(rules, access)
            if rule is None or access.reach == "exact" or rule.verdict != "allow" or _names(rule, access):
                return rule.verdict if rule is not None else default
            return _mixed(_possible(rules, access, ""), default)
        case "open":
            return _mixed(_possible(rules, access, access.judged), default)
        case "runs_open":
            possible = _possible(rules, access, access.judged)
            if all(rule is not None and _names(rule, access) for rule in possible):
                return _mixed(possible, default)
            return _mixed([*possible, *_possible(rules, access, "")], default)
        case "any":
            return _mixed(_possible(rules, access, ""), default)
        case "passes":
            return _judged_by_its_words(rules, access)
        case "also":
            return _judged_if_named(rules, access)
        case "perhaps":
            return "allow" if all(_judged_if_named(rules, each) == "allow" for each in _shortened(access)) else "ask"


def _last(rules: Sequence[Rule], access: Access) -> Rule | None:
    for rule in reversed(rules):
        if _concerns(rule, access) and _fits(rule.pattern, access, rule.verdict):
            return rule
    return None


def _judged_by_its_words(rules: Sequence[Rule], access: Access) -> Verdict:
    """Return "ask" if a rule that names a program, and does not allow it, may apply to another's words."""
    rule = _last(rules, access)
    if rule is not None and rule.verdict == "allow" and _names(rule, access):
        return "allow"
    pieces = passed_on(access.judged) if any(_concerns(rule, access) and _is_strict(rule) for rule in rules) else ()
    inner = (Access(access.permission, piece) for piece in pieces)
    return "allow" if all(_judged_if_named(rules, each) == "allow" for each in inner) else "ask"


def _judged_if_named(rules: Sequence[Rule], access: Access) -> Verdict:
    """Return the verdict of a rule that names this program and does not allow it; other rules do not count."""
    whole, unknown, _ = access.judged.partition(NOT_KNOWN)
    inner = Access(access.permission, whole)
    found = _possible(rules, inner, whole) if unknown else [_last(rules, inner)]
    strict = [rule for rule in found if rule is not None and _is_strict(rule)]
    return "allow" if not strict else strict[0].verdict if len(found) == 1 else "ask"


def _is_strict(rule: Rule) -> bool:
    return rule.verdict != "allow" and rule.pattern[:1] not in ("*", "?")


def _shortened(access: Access) -> Iterator[Access]:
    """Yield the program with each word that may be the first after its options, and all words after it."""
    first, *rest = access.judged.split(" ")
    starts = [index for index, word in enumerate(rest) if not word.startswith("-")]
    for index in starts[:MOST_STARTS]:
        yield Access(access.permission, " ".join([first, *rest[index:]]))
    if len(starts) > MOST_STARTS:
        yield Access(access.permission, f"{first} {NOT_KNOWN}")


def _fits(pattern: str, access: Access, verdict: Verdict = "allow") -> bool:
    if access.permission == WEBFETCH:
        # A deny may also name any part of an address.
        return address_fits(pattern, access.pattern) or (verdict == "deny" and matches(pattern, access.pattern))
    return host_fits(pattern, access.pattern) if access.permission == HOST else matches(pattern, access.judged)


def _names(rule: Rule, access: Access) -> bool:
    """Return whether a rule names this program, so that its author knew what the program can do."""
    return rule.pattern.startswith(access.judged.partition(" ")[0])


def covers(saved: Access, access: Access) -> bool:
    """Return whether an access granted with "always" also covers another one."""
    if saved.permission != access.permission:
        return False
    # An access that this pattern cannot store is not covered by it either.
    remembered = access.reach == "exact" or (access.reach == "runs" and access.always)
    if saved.always and remembered and _fits(saved.always, access):
        return True
    if saved.permission == "external_directory" and saved.reach == access.reach == "exact":
        return matches(saved.pattern, access.pattern)
    return (saved.pattern, saved.reach, saved.words) == (access.pattern, access.reach, access.words)


def _concerns(rule: Rule, access: Access) -> bool:
    if rule.permission == access.permission:
        return True
    return access.permission not in NAMED_ALONE and matches(rule.permission, access.permission)


def _possible(rules: Sequence[Rule], access: Access, beginning: str) -> list[Rule | None]:
    """Return every rule that may decide about a subject with this beginning; None stands for the default."""
    found: list[Rule | None] = []
    for rule in reversed(rules):
        if not _concerns(rule, access):
            continue
        places = after(rule.pattern, beginning)
        if not places:
            continue
        found.append(rule)
        if any(rule.pattern[place:].strip("*") == "" and rule.pattern[place:] for place in places):
            return found
    return [*found, None]


def _mixed(possible: Sequence[Rule | None], default: Verdict) -> Verdict:
    verdicts = {rule.verdict if rule is not None else default for rule in possible}
    return next(iter(verdicts)) if len(verdicts) == 1 else "ask"


def strictest(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the strictest verdict: deny over ask over allow."""
    found = set(verdicts)
    return "allow" if found <= {"allow"} else "ask" if found <= {"allow", "ask"} else "deny"


def denied_outright(rules: Sequence[Rule], permission: str) -> bool:
    """Return whether every use of a permission is denied, so that its tool need not be offered."""
    for rule in reversed(rules):
        if rule.permission == permission or matches(rule.permission, permission):
            return rule.verdict == "deny" and rule.pattern == "*"
    return False


def named_patterns(rules: Iterable[Rule], permission: str) -> tuple[str, ...]:
    """Return the patterns that rules name to ask about or deny a permission; a rule for everything names none."""
    named = (rule.pattern for rule in rules if rule.verdict != "allow" and matches(rule.permission, permission))
    return tuple(dict.fromkeys(pattern for pattern in named if pattern.strip("*")))
