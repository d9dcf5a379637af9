"""Finds the files that a program would write according to its arguments, and the links that it may create."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from bridle.shell.options import git_command
from bridle.shell.program_names import CHANGES, INSPECT, QUIET, SHELLS, UNPACKS, program, runs_others
from bridle.shell.programs import unwrapped
from bridle.shell.variables import BUILTINS
from bridle.shell.words import UNKNOWN, Word, names

READS = QUIET | INSPECT | BUILTINS | SHELLS | names("gh bat ag ack delta tee gsed")
"""Programs that write to no file named in their arguments; `tee` and `sed -i` are checked separately."""
GIT_READS_NOT = names("checkout restore rm mv clone init worktree submodule archive format-patch clean apply am bundle")
"""Git subcommands that write to paths named in their arguments."""
FILTERS = re.compile(r"-[xX]|--?(exclude|ignore|include|skip|filter|not|omit|without)[\w-]*")
"""Options whose value names files to leave alone."""
_OUTPUT_NAMES = r"--(?:output|out|output-document|output-file|outfile|dir|output-dir)"
OUTPUT = re.compile(rf"-[oO]|{_OUTPUT_NAMES}")
OUTPUT_GLUED = re.compile(rf"(?:-[oO]|{_OUTPUT_NAMES}=)(.+)", re.DOTALL)
LOCK = re.compile(r"(\./)?\.git/([\w-]+/)*[\w-]+\.lock")
"""Lock files that git leaves behind when it is killed, and asks people to remove."""
VALUED = re.compile(r"-\w*[tSmgo]|--(target-directory|suffix|mode|exclude|include)")
"""Options of programs that copy files whose value is the next word."""
REF = re.compile(r"(?!.*\.\.)(refs/.+|[A-Z_]*HEAD|@)")


def changed_by(words: Sequence[Word]) -> Iterator[Word]:
    """Yield the files that a program's arguments tell it to change, as a redirection would."""
    name = program(words[0].text) if words else ""
    named = [word for before, word in pairwise(words) if before not in (Word("-e"), Word("-f"), Word("-ne"))]
    plain = [word for word in named if not word.text.startswith("-")]
    options = [word.text for word in words[1:] if word.text.startswith("-")]
    if name == "tee":
        yield from plain
    elif name in ("sed", "gsed") and any(re.match(r"-[nErsuz]*i|--in-place", option) for option in options):
        scripted = any(re.fullmatch(r"-[nErsuz]*e|--expression.*", option) for option in options)
        yield from plain if scripted else plain[1:]


def _called(given: Sequence[Word]) -> tuple[str, list[Word]]:
    """Return the program inside wrappers and its arguments; both are empty if the program is unknown."""
    words = unwrapped(given)
    return (program(words[0].text), list(words[1:])) if words and words[0].known else ("", [])


def named_by(given: Sequence[Word], is_folder: Callable[[str], bool]) -> Iterator[Word]:
    """Yield the words that may tell a program where to write, and the files that it would create there."""
    name, rest = _called(given)
    match name:
        case "cp" | "rsync" | "install" | "mv" | "ln":
            yield from _copied(rest, is_folder, sources=name in ("mv", "ln"))
        case "dd":
            yield from (Word(word.text[3:], word.known) for word in rest if word.text.startswith("of="))
        case "zip":
            yield from _operands(rest)[:1]
        case "tar" | "bsdtar":
            yield from _archived(rest)
        case "git":
            yield from _git(*git_command(rest), is_folder)
        case "rm" | "unlink":
            yield from (word for word in _operands(rest) if not LOCK.fullmatch(word.text))
        case _ if runs_others(name):
            # The programs it runs may write anywhere; allowing it includes that.
            yield from _outputs(rest)
        case _ if name not in READS:
            yield from _anything(rest)


def _operands(rest: Sequence[Word]) -> list[Word]:
    return [word for word in rest if not word.text.startswith("-")]


def _anything(rest: Sequence[Word]) -> Iterator[Word]:
    for before, word in pairwise([Word(""), *rest]):
        option, equals, value = word.text.partition("=")
        if not word.text.startswith("-"):
            if not FILTERS.fullmatch(before.text):
                yield word
        elif equals and not FILTERS.fullmatch(option):
            yield Word(value, word.known)


def _outputs(rest: Sequence[Word]) -> Iterator[Word]:
    for before, word in pairwise([Word(""), *rest]):
        glued = OUTPUT_GLUED.fullmatch(word.text)
        if OUTPUT.fullmatch(before.text):
            yield word
        elif glued:
            yield Word(glued[1], word.known)


def _copied(rest: Sequence[Word], is_folder: Callable[[str], bool], *, sources: bool) -> Iterator[Word]:
    """Yield the target, the files in it if it is a folder, and the sources if they are moved or linked."""
    given = {index: _target(rest, index) for index in range(len(rest))}
    index = next((index for index, word in given.items() if word is not None), None)
    operands = [word for at, word in enumerate(rest) if not word.text.startswith("-") and not _is_value(rest, at)]
    target = given[index] if index is not None else operands[-1] if operands else None
    if target is None:
        return
    copied = operands if index is not None else operands[:-1]
    if not copied and index is None:
        # With one operand, the link is created in the current folder.
        copied, target = operands, Word(".")
    yield target
    for source in copied:
        if sources:
            yield source
        if target.known and (is_folder(target.text) or "." not in posixpath.basename(target.text)):
            yield Word(posixpath.join(target.text, posixpath.basename(source.text.rstrip("/"))), source.known)


def _is_value(rest: Sequence[Word], index: int) -> bool:
    return index > 0 and VALUED.fullmatch(rest[index - 1].text) is not None


def _target(rest: Sequence[Word], index: int) -> Word | None:
    """Return the target folder that the option at this index names; None if it names none."""
    text = rest[index].text
    glued = re.fullmatch(r"--t[a-z-]*=(.*)|-t(.+)", text, re.DOTALL)
    if glued:
        return Word(glued[1] or glued[2] or "", rest[index].known)
    if re.fullmatch(r"-[a-zA-Z]*t|--t[a-z-]*", text):
        return rest[index + 1] if index + 1 < len(rest) else UNKNOWN
    return None


def _tar_letters(rest: Sequence[Word]) -> str:
    return "".join(
        word.text.lstrip("-")
        for index, word in enumerate(rest)
        if re.fullmatch(r"-?[A-Za-z]+" if not index else r"-[A-Za-z]+", word.text)
    ) + "".join({"--ex": "x", "--ge": "x", "--li": "t", "--cr": "c"}.get(word.text[:4], "") for word in rest)


def _archived(rest: Sequence[Word]) -> Iterator[Word]:
    extracts = "x" in _tar_letters(rest)
    for before, word in pairwise([Word(""), *rest]):
        if word.text.startswith("--file="):
            yield Word(word.text[7:], word.known)
        elif re.fullmatch(r"-?[A-Za-z]*f|--file", before.text) or (extracts and not word.text.startswith("-")):
            yield word


def _git(command: str, given: list[Word], is_folder: Callable[[str], bool]) -> Iterator[Word]:
    options = {word.text for word in given}
    operands = _operands(given)
    match command:
        case "mv":
            yield from _copied(given, is_folder, sources=True)
        case "rm" if "--cached" in options:
            return
        case "restore" if options & {"--staged", "-S"} and not options & {"--worktree", "-W"}:
            return
        case "symbolic-ref" | "update-ref":
            plain = [word for before, word in pairwise([Word(""), *given]) if before.text != "-m" and word in operands]
            writes = len(plain) > 1 or options & {"-d", "--delete"}
            wrong = [word for word in plain[: 1 if command == "update-ref" else 2] if not REF.fullmatch(word.text)]
            yield from (Word(f".git/{word.text}", word.known) for word in wrong if writes)
        case _ if command in GIT_READS_NOT:
            yield from _anything(given)


def unpacks(given: Sequence[Word]) -> bool:
    """Return whether a program creates files whose names come from another file or from elsewhere."""
    name, rest = _called(given)
    options = [word.text for word in rest if word.text.startswith("-")]
    match name:
        case "tar" | "bsdtar":
            return "x" in _tar_letters(rest)
        case "unzip":
            return not any(re.match(r"-\w*[ltpvzZ]", option) for option in options)
        case "cpio" | "pax":
            return any(re.match(r"-\w*[ir]|--extract", option) for option in options)
        case "7z" | "7za" | "unrar":
            return any(word.text in ("x", "e") for word in rest[:1])
        case "patch":
            return "--dry-run" not in options
        case "git":
            command, after = git_command(rest)
            looks = any(re.fullmatch(r"--(check|stat|numstat|summary)", word.text) for word in after)
            stdin = command == "update-ref" and Word("--stdin") in after
            return stdin or command == "am" or (command == "apply" and (not looks or Word("--apply") in after))
    return False


GIT_LINKS = names(
    "checkout switch restore reset merge pull rebase stash apply am cherry-pick revert clone submodule worktree"
)


def links_made_by(given: Sequence[Word], is_folder: Callable[[str], bool]) -> list[Word] | None:
    """Return where a program may create links, below which paths may lead elsewhere; None if anywhere.

    Programs that run the project's code are left out: that code can write to a link's target itself.
    """
    name, rest = _called(given)
    command, after = git_command(rest) if name == "git" else ("", [])
    options = [word.text for word in rest if word.text.startswith("-")]
    copies = name == "cp" and any(re.match(r"-[a-zA-Z]*[aRrdPls]|--[a-z]", option) for option in options)
    if command == "mv":
        name, rest = "mv", after
    if name in ("mv", "ln") or copies:
        made = list(_copied(rest, is_folder, sources=False))
        plain = all(
            word.known and posixpath.basename(word.text.rstrip("/")) not in ("", ".", "..") for word in rest[:-1]
        )
        if not plain or not made:
            return None
        return made[1:] if is_folder(made[0].text) else made[:1]
    branches = command in ("checkout", "switch") and len(after) == 2 and after[0].text in ("-b", "-c")
    if name == "rsync" or unpacks(unwrapped(given)) or (command in GIT_LINKS and not branches):
        return None
    return []


def follows_links(given: Sequence[Word]) -> bool:
    """Return whether a program is known to write to the paths it is given, through links; git itself seldom does."""
    name, rest = _called(given)
    if name == "git":
        return git_command(rest)[0] in ("mv", "clone", "init", "worktree")
    return name in CHANGES | UNPACKS | {"zip"}


def is_writer(given: Sequence[Word]) -> bool:
    """Return whether a program is known to write to the paths that `named_by` yields."""
    name, _ = _called(given)
    return name in CHANGES | UNPACKS | {"zip", "git"} or runs_others(name)
