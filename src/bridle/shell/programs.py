"""Finds the programs that one simple command runs, behind wrappers like `env` and `xargs` too, as rules match them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from bridle.core.permission import Reach
from bridle.core.rule_patterns import NOT_KNOWN
from bridle.shell.options import TAKES, command_in
from bridle.shell.program_names import PLAIN, QUIET, SHELLS, program, runs_others
from bridle.shell.risky_options import HIDES
from bridle.shell.variables import BUILTINS, SILENT, Assigned, steers
from bridle.shell.words import UNKNOWN, Word

CALM_OPTIONS = {
    "curl": r"-[sSfLIikvGx]+|--(silent|fail|location|head|include|max-time|retry)\b.*|-X|-H|-d|--data\S*|-m|\d+",
    "tar": r"-?[ctxvzjJfpk]+|-C|--exclude=.*|--strip-components=\d+",
    "jq": r"-[rcesSnjM]+|--arg|--raw-output",
    "wget": r"-q|--quiet",
    "less": r"-[NSRFX]+",
    "rsync": r"-[avnzrthP]+|--(dry-run|delete|exclude=.*)",
    "zip": r"-[rq9]+",
}
"""Options with which these programs run no others."""
MOST_WRAPPERS = 8


class ProgramRun(NamedTuple):
    """One program that would run: its words as rules match them, and how much of them is known."""

    text: str
    reach: Reach


def runs_of(
    words: Sequence[Word], assigned: Sequence[Assigned], functions: Collection[str] = ()
) -> Iterator[ProgramRun]:
    """Yield all programs that a simple command would run, without wrappers; `functions` are those of the same line."""
    if any(steers(each.name) for each in assigned):
        yield ProgramRun("", "any")
    if not words:
        return
    first, *rest = words
    if not first.known or not re.fullmatch(r"[\w./+@:,%~-]+|\[", first.text):
        yield ProgramRun(first.text if first.known else "", "any")
        return
    name = program(first.text)
    if name == "command" and rest and rest[0].known and re.fullmatch(r"-\w*[vV]\w*", rest[0].text):
        # It only prints where a program is.
        return
    wrapped = WRAPPERS.get(name)
    if wrapped is not None:
        yield from _named(first, name)
        yield from _unwrapped(first, rest, wrapped, assigned)
        return
    if not all(each.harmless for each in assigned) and (first.text in functions or _obeys_variables(first.text)):
        yield ProgramRun("", "any")
    if name in SHELLS:
        yield from _named(first, name)
        if shell_text(words) is None:
            yield ProgramRun("", "any")
        return
    if first.text in SILENT:
        return
    reach = _reach(name, rest)
    if reach == "any":
        yield ProgramRun("", "any")
    # A rule that denies the program applies, even if the program may do more.
    yield from _judged(words, "exact" if reach == "any" else reach)
    yield from _for_deny_rules(words, name)


def _obeys_variables(text: str) -> bool:
    """Return whether an unknown variable may change what a program does."""
    return text == "eval" or not (text in QUIET or text in BUILTINS or program(text) in SHELLS)


def _for_deny_rules(words: Sequence[Word], name: str) -> Iterator[ProgramRun]:
    """Yield the command under its program's other name, as arguments that an unknown program may run, and without
    the options before its subcommand."""
    rest = [word.text if word.known else f"{word.text}{NOT_KNOWN}" for word in words[1:]]
    called = posixpath.basename(words[0].text)
    if name != called:
        yield ProgramRun(" ".join([called, name, *rest]), "passes")
    elif rest and called not in PLAIN | BUILTINS and name not in HIDES and not runs_others(name):
        yield ProgramRun(" ".join([words[0].text, *rest]), "passes")
    if not rest or not rest[0].startswith(("-", "+")) or name in PLAIN:
        return
    for each in dict.fromkeys([called, name]):
        if name in TAKES:
            yield ProgramRun(" ".join([each, *rest[command_in(name, words[1:]) :]]), "also")
        if name != "git":
            yield ProgramRun(" ".join([each, *rest]), "perhaps")


def _named(first: Word, name: str) -> Iterator[ProgramRun]:
    """Yield a wrapper or shell by its name, so that a rule against it applies; its command is judged separately."""
    if first.text not in BUILTINS:
        yield ProgramRun(" ".join(dict.fromkeys([posixpath.basename(first.text), name, NOT_KNOWN])), "passes")


OPENED: dict[Reach, Reach] = {"exact": "open", "runs": "runs_open"}


def _judged(words: Sequence[Word], reach: Reach) -> Iterator[ProgramRun]:
    unknown = next((index for index, word in enumerate(words) if not word.known), None)
    if unknown is not None:
        words, reach = words[: unknown + 1], OPENED.get(reach, reach)
    known = [word.text for word in words]
    yield ProgramRun(" ".join(known), reach)
    if "/" in words[0].text:
        # The path may lead to another program of that name; rules use the bare name.
        yield ProgramRun(" ".join([posixpath.basename(words[0].text), *known[1:]]), reach)


def _reach(name: str, rest: Sequence[Word]) -> Reach:
    hides = HIDES.get(name)
    if hides is not None and hides(rest):
        return "any"
    return "runs" if runs_others(name) and not _is_calm(name, rest) else "exact"


def _is_calm(name: str, rest: Sequence[Word]) -> bool:
    """Return whether all options are in `CALM_OPTIONS`. Tar's first word may be options without a dash."""
    calm = CALM_OPTIONS.get(name)
    options = [
        word for index, word in enumerate(rest) if word.text.startswith(("-", "+")) or (name == "tar" and not index)
    ]
    return (
        calm is not None and all(word.known for word in rest) and all(re.fullmatch(calm, word.text) for word in options)
    )


def _unwrapped(first: Word, rest: list[Word], wrapper: Wrapper, assigned: Sequence[Assigned]) -> Iterator[ProgramRun]:
    """Yield the runs of the wrapped command, and the wrapper itself if it needs a rule."""
    index = _own_words(rest, wrapper)
    if index is None:
        yield ProgramRun("", "any")
        return
    if wrapper.assigns:
        assigned = (*assigned, *assigned_by(rest[:index]))
    if wrapper.own:
        yield from _judged([first, *rest], "exact")
    if rest[index:]:
        yield from runs_of([*rest[index:], *wrapper.fed], assigned)
    elif wrapper.feeds:
        yield ProgramRun("echo", "open")


def unwrapped(words: Sequence[Word]) -> Sequence[Word]:
    """Return the words of the command inside wrappers, as far as that is certain."""
    for _ in range(MOST_WRAPPERS):
        wrapper = WRAPPERS.get(program(words[0].text)) if words and words[0].known else None
        index = _own_words(list(words[1:]), wrapper) if wrapper is not None else None
        if wrapper is None or index is None:
            break
        words = [*words[1 + index :], *wrapper.fed]
    return words


def assigned_by(words: Sequence[Word]) -> list[Assigned]:
    """Return the variables that a wrapper's words assign."""
    found = [(re.match(r"(\w+)=(.*)", word.text, re.DOTALL), word) for word in words]
    return [Assigned(named[1], Word(named[2], word.known)) for named, word in found if named is not None]


def _own_words(rest: list[Word], wrapper: Wrapper) -> int | None:
    """Return the index where the wrapped command begins; None if that is uncertain."""
    index = 0
    while index < len(rest):
        word = rest[index]
        if word.vague:
            return None
        named = re.match(r"(\w+)=", word.text) if wrapper.assigns else None
        if named:
            if steers(named[1]):
                return None
        elif word == Word("--"):
            index += 1
            break
        elif not word.text.startswith("-"):
            break
        else:
            takes = re.fullmatch(wrapper.takes, word.text) is not None
            if not word.known or not (takes or re.fullmatch(wrapper.plain, word.text)):
                return None
            index += takes
        index += 1
    return index + wrapper.operands


class Wrapper(NamedTuple):
    """How to separate a wrapper's own words from the command it starts. Any other option is unknown."""

    takes: str = ""
    """Pattern of the options whose value is the next word."""
    plain: str = ""
    """Pattern of the options that stand alone."""
    operands: int = 0
    """Number of its own operands before the command."""
    assigns: bool = False
    feeds: bool = False
    """Whether it adds arguments to the command."""
    own: bool = False
    """Whether the wrapper itself needs a rule."""

    @property
    def fed(self) -> list[Word]:
        """Return the arguments that it adds to the command."""
        return [UNKNOWN] if self.feeds else []


WRAPPERS: dict[str, Wrapper] = {
    "env": Wrapper(r"-u|--unset", r"-i|-0|-|--ignore-environment|--null|--unset=\w+", assigns=True),
    "command": Wrapper(),
    "builtin": Wrapper(),
    "exec": Wrapper(),
    "nice": Wrapper(r"-n|--adjustment", r"-\d+|-n-?\d+|--adjustment=-?\d+"),
    "nohup": Wrapper(),
    "setsid": Wrapper(plain=r"-[cfw]+|--(ctty|fork|wait)"),
    "stdbuf": Wrapper(r"-[ioe]|--(input|output|error)", r"-[ioe][L0-9]\w*|--(input|output|error)=\w+"),
    "timeout": Wrapper(
        r"-[ks]|--kill-after|--signal",
        r"-[ks]\w+|-v|--(kill-after|signal)=\w+|--(foreground|preserve-status|verbose)",
        operands=1,
    ),
    "ionice": Wrapper(r"-[cn]|--class|--classdata", r"-[cn]\d+|-t"),
    "taskset": Wrapper(operands=1),
    "xargs": Wrapper(
        r"-[EdLnPsa]|--(delimiter|max-args|max-procs|max-lines|max-chars|arg-file|eof)",
        r"-[0rtx]+|-[dLnPsa]\S+|--(null|no-run-if-empty|verbose|exit)|--(delimiter|max-args|max-procs|arg-file)=\S+",
        feeds=True,
    ),
    "sudo": Wrapper(r"-[ugp]", r"-[nHS]+", assigns=True, own=True),
    "doas": Wrapper(r"-u", r"-n", own=True),
    "strace": Wrapper(r"-[eopsu]", r"-[fqcv]+", own=True),
    "ltrace": Wrapper(r"-[eopsu]", r"-[fqcv]+", own=True),
    "busybox": Wrapper(own=True),
    "time": Wrapper(plain=r"-[pv]"),
}


def shell_text(words: Sequence[Word]) -> str | None:
    """Return the text given to `bash -c`; None if there is none or not all of its words are known."""
    if not words[0].known or program(words[0].text) not in SHELLS:
        return None
    for option, given in pairwise(words[1:]):
        if not option.known or not given.known:
            return None
        if re.fullmatch(r"-[elux]*c", option.text):
            return given.text if not given.text.startswith(("-", "+")) else None
        if not re.fullmatch(r"-[elux]+|--(norc|noprofile|posix)", option.text):
            return None
    return None


def commands_of_find(words: Sequence[Word]) -> tuple[list[Word], list[list[Word]]]:
    """Return the words of find without its commands, and the commands after -exec and similar options.

    If a command does not end, all words are returned, and no commands.
    """
    own: list[Word] = []
    commands: list[list[Word]] = []
    inside = False
    for word in words:
        if inside and word not in (Word(";"), Word("+")):
            commands[-1].append(UNKNOWN if "{}" in word.text else word)
        elif inside:
            inside = False
        elif word.known and re.fullmatch(r"-(exec|execdir|ok|okdir)", word.text):
            inside = True
            commands.append([])
        else:
            own.append(word)
    return (list(words), []) if inside else (own, commands)
