"""The programs that a simple command runs, including those behind wrappers, shells and options."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from bridle.core.permission import Reach
from bridle.core.rule_patterns import NOT_KNOWN
from bridle.shell.options import TAKES, command_in
from bridle.shell.program_names import PLAIN, QUIET, SHELLS, program, runs_others
from bridle.shell.risky_options import HIDES
from bridle.shell.variables import BUILTINS, SILENT, Assigned, steers
from bridle.shell.words import UNKNOWN, Word

CALM: dict[str, re.Pattern[str]] = {
    "curl": re.compile(
        r"-[sSfLIikvGx]+|--(silent|fail|location|head|include|max-time|retry)\b.*|-X|-H|-d|--data\S*|-m|\d+"
    ),
    "tar": re.compile(r"-?[ctxvzjJfpk]+|-C|--exclude=.*|--strip-components=\d+"),
    "jq": re.compile(r"-[rcesSnjM]+|--arg|--raw-output"),
    "wget": re.compile(r"-q|--quiet"),
    "less": re.compile(r"-[NSRFX]+"),
    "rsync": re.compile(r"-[avnzrthP]+|--(dry-run|delete|exclude=.*)"),
    "zip": re.compile(r"-[rq9]+"),
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
        yield from _shell(words)
        return
    if first.text in SILENT:
        return
    reach = _reach(name, rest)
    if reach == "any":
        yield ProgramRun("", "any")
    # A rule that denies the program applies, even if the program may do more.
    yield from _judged(words, "exact" if reach == "any" else reach)
    yield from _passed_on(words, name)
    yield from _without_options(words, name)


def _obeys_variables(text: str) -> bool:
    """Return whether an unknown variable may change what a program does."""
    return text == "eval" or not (text in QUIET or text in BUILTINS or program(text) in SHELLS)


def _passed_on(words: Sequence[Word], name: str) -> Iterator[ProgramRun]:
    """Yield the command for deny rules: under the program's other name, or as arguments an unknown program may run."""
    rest = [word.text if word.known else f"{word.text}{NOT_KNOWN}" for word in words[1:]]
    called = posixpath.basename(words[0].text)
    if name != called:
        yield ProgramRun(" ".join([called, name, *rest]), "passes")
    elif rest and called not in PLAIN | BUILTINS and name not in HIDES and not runs_others(name):
        yield ProgramRun(" ".join([words[0].text, *rest]), "passes")


def _without_options(words: Sequence[Word], name: str) -> Iterator[ProgramRun]:
    """Yield the command without the options before its subcommand, for rules against that subcommand."""
    called = posixpath.basename(words[0].text)
    rest = [word.text if word.known else f"{word.text}{NOT_KNOWN}" for word in words[1:]]
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
    known: list[str] = []
    for word in words:
        if not word.known:
            reach = OPENED.get(reach, reach)
            known.append(word.text)
            break
        known.append(word.text)
    text = " ".join(known)
    yield ProgramRun(text, reach)
    if "/" in words[0].text:
        # The path may lead to another program of that name; rules use the bare name.
        yield ProgramRun(" ".join([posixpath.basename(words[0].text), *known[1:]]), reach)


def _reach(name: str, rest: Sequence[Word]) -> Reach:
    hides = HIDES.get(name)
    if hides is not None and hides(rest):
        return "any"
    if runs_others(name):
        calm = CALM.get(name)
        if calm is None or not all(_is_calm(calm, word) for word in rest) or _bundled(name, calm, rest):
            return "runs"
    return "exact"


def _bundled(name: str, calm: re.Pattern[str], rest: Sequence[Word]) -> bool:
    """Return whether tar's first word, which may be options without a dash, is not in `CALM`."""
    return name == "tar" and bool(rest) and not rest[0].text.startswith("-") and not calm.fullmatch(rest[0].text)


def _is_calm(calm: re.Pattern[str], word: Word) -> bool:
    return word.known and (not word.text.startswith(("-", "+")) or calm.fullmatch(word.text) is not None)


def _unwrapped(first: Word, rest: list[Word], wrapper: Wrapper, assigned: Sequence[Assigned]) -> Iterator[ProgramRun]:
    """Yield the runs of the wrapped command, and the wrapper itself if it needs a rule."""
    index = _own_words(rest, wrapper)
    if index is None:
        yield ProgramRun("", "any")
        return
    if wrapper.assigns:
        assigned = (*assigned, *assigned_by(rest[:index]))
    inner = [*rest[index:], *([UNKNOWN] if wrapper.feeds else [])]
    if wrapper.own:
        yield from _judged([first, *rest], "exact")
    if rest[index:]:
        yield from runs_of(inner, assigned)
    elif wrapper.feeds:
        yield ProgramRun("echo", "open")


def unwrapped(words: Sequence[Word]) -> Sequence[Word]:
    """Return the words of the command inside wrappers, as far as that is certain."""
    for _ in range(MOST_WRAPPERS):
        wrapper = WRAPPERS.get(program(words[0].text)) if words and words[0].known else None
        index = _own_words(list(words[1:]), wrapper) if wrapper is not None else None
        if wrapper is None or index is None:
            break
        words = [*words[1 + index :], *([UNKNOWN] if wrapper.feeds else [])]
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
        if not word.known and (not word.text or not word.single):
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
            takes = wrapper.takes.fullmatch(word.text) is not None
            if not word.known or not (takes or wrapper.plain.fullmatch(word.text)):
                return None
            index += takes
        index += 1
    return index + wrapper.operands


class Wrapper(NamedTuple):
    """How to separate a wrapper's own words from the command it starts. Any other option is unknown."""

    takes: re.Pattern[str]
    """Options whose value is the next word."""
    plain: re.Pattern[str]
    """Options that stand alone."""
    operands: int = 0
    """Number of its own operands before the command."""
    assigns: bool = False
    feeds: bool = False
    """Whether it adds arguments to the command."""
    own: bool = False
    """Whether the wrapper itself needs a rule."""


def _wrapper(takes: str, plain: str, operands: int = 0, **more: bool) -> Wrapper:
    return Wrapper(re.compile(takes or r"(?!)"), re.compile(plain or r"(?!)"), operands, **more)


WRAPPERS: dict[str, Wrapper] = {
    "env": _wrapper(r"-u|--unset", r"-i|-0|-|--ignore-environment|--null|--unset=\w+", assigns=True),
    "command": _wrapper("", ""),
    "builtin": _wrapper("", ""),
    "exec": _wrapper("", ""),
    "nice": _wrapper(r"-n|--adjustment", r"-\d+|-n-?\d+|--adjustment=-?\d+"),
    "nohup": _wrapper("", ""),
    "setsid": _wrapper("", r"-[cfw]+|--(ctty|fork|wait)"),
    "stdbuf": _wrapper(r"-[ioe]|--(input|output|error)", r"-[ioe][L0-9]\w*|--(input|output|error)=\w+"),
    "timeout": _wrapper(
        r"-[ks]|--kill-after|--signal",
        r"-[ks]\w+|-v|--(kill-after|signal)=\w+|--(foreground|preserve-status|verbose)",
        operands=1,
    ),
    "ionice": _wrapper(r"-[cn]|--class|--classdata", r"-[cn]\d+|-t"),
    "taskset": _wrapper("", "", operands=1),
    "xargs": _wrapper(
        r"-[EdLnPsa]|--(delimiter|max-args|max-procs|max-lines|max-chars|arg-file|eof)",
        r"-[0rtx]+|-[dLnPsa]\S+|--(null|no-run-if-empty|verbose|exit)|--(delimiter|max-args|max-procs|arg-file)=\S+",
        feeds=True,
    ),
    "sudo": _wrapper(r"-[ugp]", r"-[nHS]+", assigns=True, own=True),
    "doas": _wrapper(r"-u", r"-n", own=True),
    "strace": _wrapper(r"-[eopsu]", r"-[fqcv]+", own=True),
    "ltrace": _wrapper(r"-[eopsu]", r"-[fqcv]+", own=True),
    "busybox": _wrapper("", "", own=True),
    "time": _wrapper("", r"-[pv]"),
}


def _shell(words: Sequence[Word]) -> Iterator[ProgramRun]:
    """Yield an unknown run, unless the shell gets a literal text: the caller parses that itself."""
    if shell_text(words) is None:
        yield ProgramRun("", "any")


def shell_text(words: Sequence[Word]) -> str | None:
    """Return the text given to `bash -c`; None if there is none or not all of its words are known."""
    if not words[0].known or program(words[0].text) not in SHELLS:
        return None
    index = 1
    while (
        index < len(words)
        and words[index].known
        and re.fullmatch(r"-[elux]+|--(norc|noprofile|posix)", words[index].text)
    ):
        index += 1
    if index + 1 >= len(words) or not words[index].known or not re.fullmatch(r"-[elux]*c", words[index].text):
        return None
    given = words[index + 1]
    return given.text if given.known and not given.text.startswith(("-", "+")) else None


def command_of_find(words: Sequence[Word]) -> list[list[Word]] | None:
    """Return the commands after -exec and similar options; None if there are none, or if one does not end."""
    found: list[list[Word]] = []
    index = 1
    while index < len(words):
        word = words[index]
        if word.known and re.fullmatch(r"-(exec|execdir|ok|okdir)", word.text):
            end = next((n for n in range(index + 1, len(words)) if words[n] in (Word(";"), Word("+"))), None)
            if end is None:
                return None
            found.append([UNKNOWN if "{}" in given.text else given for given in words[index + 1 : end]])
            index = end
        index += 1
    return found or None


def without_exec(words: Sequence[Word]) -> list[Word]:
    """Return the words of find without its commands."""
    kept: list[Word] = []
    skipping = False
    for word in words:
        if word.known and re.fullmatch(r"-(exec|execdir|ok|okdir)", word.text):
            skipping = True
        if not skipping:
            kept.append(word)
        if word in (Word(";"), Word("+")):
            skipping = False
    return kept
