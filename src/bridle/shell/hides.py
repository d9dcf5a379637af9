"""Programs that are harmless but for some of their words, by which they run others or write somewhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from bridle.shell.words import UNKNOWN, Word, names


def _git(rest: Sequence[Word]) -> bool:
    """Whether these words may make git run a program, or write elsewhere than into its own folder."""
    index = 0
    while index < len(rest) and rest[index].text.startswith("-") and rest[index].known:
        option = rest[index].text
        if option in ("-C", "--no-pager", "-P", "--version", "--help", "--no-optional-locks", "--literal-pathspecs"):
            index += 1 + (option == "-C")
            continue
        return True
    if index >= len(rest):
        return False
    command, given = rest[index], rest[index + 1 :]
    if not command.known or command.text not in GIT_COMMANDS or (index and command.text == "push"):
        return True
    return _git_hides(command.text, given)


def _git_hides(command: str, given: Sequence[Word]) -> bool:
    free = GIT_FREE.get(command)
    takes = False
    for word in given:
        if takes:
            takes = False
            continue
        if word.known and word.text == "--":
            return False
        letters = GIT_LETTERS.get(command, "")
        if re.match(r"-[A-Za-z]+", word.text) and set(word.text[1:].partition("=")[0]) & set(letters):
            return True
        if word.text.startswith("-") and ((not word.known and "=" not in word.text) or GIT_ODD.match(word.text)):
            return True
        if not word.known and not word.text and (free is None or not free):
            return True
        takes = word.known and re.fullmatch(r"-[mFCct]|--(message|file|author|date)|-am", word.text) is not None
    if command in ("bisect", "submodule", "config", "notes"):
        return not (given and given[0].known and given[0].text in GIT_CALM[command])
    return any(word.text.startswith(("ext::", "fd::")) for word in given)


def writes_git_config(words: Sequence[Word]) -> bool:
    """Whether a command changes what git will do later: its settings in the project."""
    given = [word.text for word in words]
    if "git" not in given[:6]:
        return False
    rest = [word for word in given[given.index("git") + 1 :] if word not in ("--no-pager", "-P")]
    command, options = (rest[0], rest[1:]) if rest else ("", [])
    match command:
        case "config":
            return not options or options[0] not in GIT_CALM["config"]
        case "remote":
            return bool(options) and options[0] in (
                "add",
                "remove",
                "rm",
                "rename",
                "set-url",
                "set-head",
                "set-branches",
            )
        case "push" | "pull" | "branch":
            return any(
                re.fullmatch(r"-u|-[mM]|--set-upstream\S*|--unset-upstream|--move", option) for option in options
            )
        case "submodule" | "sparse-checkout" | "maintenance" | "lfs":
            return bool(options) and options[0] not in GIT_CALM["submodule"]
    return False


GIT_COMMANDS = names(
    "add am annotate apply archive bisect blame branch cat-file check-ignore checkout cherry cherry-pick "
    "clean clone commit config count-objects describe diff diff-tree diff-index diff-files fetch "
    "for-each-ref format-patch fsck gc grep help init log ls-files ls-remote ls-tree merge merge-base mv "
    "name-rev notes pull push range-diff rebase reflog remote reset restore rev-list rev-parse revert rm "
    "shortlog show show-branch show-ref stash status submodule switch symbolic-ref tag update-index "
    "update-ref var verify-commit version whatchanged worktree write-tree"
)
GIT_ODD = re.compile(
    r"--(exe|upload-pack|receive-pack|output|ext-diff|textconv|open-files|config|template|separate-git|edit-desc|"
    r"tool=|tool$|extcmd|gpg|sign|no-verify|interactive|edit|exec-path|strategy=|remote|rsh|filter|unsafe|pathspec-from)|"
    r"-c$|-c\w|--outp|--upl|--ext"
)
GIT_LETTERS = {
    "rebase": "xi",
    "clone": "uc",
    "archive": "o",
    "format-patch": "o",
    "grep": "O",
    "commit": "S",
    "tag": "su",
}
"""Short options that run a program or write a file."""
GIT_CALM = {
    "bisect": frozenset({"start", "good", "bad", "reset", "log", "skip", "status"}),
    "submodule": frozenset({"status", "summary", "init", "update"}),
    "config": frozenset({"--get", "--get-all", "--list", "-l", "--get-regexp", "get", "list"}),
    "notes": frozenset({"list", "show"}),
}
GIT_FREE = dict.fromkeys(("add", "status", "log", "show", "diff", "commit", "checkout", "restore", "tag"), True)
GIT_FREE |= dict.fromkeys(("rev-parse", "merge-base", "branch", "blame", "ls-files", "stash", "switch"), True)


def _find(rest: Sequence[Word]) -> bool:
    for index, word in enumerate(rest):
        if not word.known and (not word.text or word.text.startswith("-")):
            before = rest[index - 1] if index else UNKNOWN
            if not (
                before.known
                and re.fullmatch(r"-(i?name|i?path|i?wholename|i?regex|newer\w*|size|[mca]time|type)", before.text)
            ):
                return True
        if word.known and re.fullmatch(r"-(delete|fprint0?|fprintf|fls|exec|execdir|ok|okdir|files0-from)", word.text):
            return True
    return False


def _sort(rest: Sequence[Word]) -> bool:
    return any(
        (not word.known and (not word.text or word.text.startswith("-")))
        or re.match(r"--(o|comp|files0|T|temp)|-[a-zA-Z]*[oTS]", word.text)
        for word in rest
    )


_SED_CALM = re.compile(
    r"(\s*(\d+|\$|/[^/\n]*/)?(\s*,\s*(\d+|\$|\+\d+|/[^/\n]*/))?\s*!?\s*"
    r"(s([/|#,:@])((?!\6)[^\\\n]|\\.)*\6((?!\6)[^\\\n]|\\.)*\6[gpiI\d]*|[pdqD=nN]|y/[^/]*/[^/]*/|[aic]\\?[^\n]*)?\s*;?)*"
)


def _sed(rest: Sequence[Word]) -> bool:
    if not all(word.known or (word.text and not word.text.startswith("-")) for word in rest):
        return True
    script, takes = None, False
    for word in rest:
        if takes or (script is None and not word.text.startswith("-")):
            if not word.known or not _SED_CALM.fullmatch(word.text):
                return True
            script, takes = word.text, False
        elif word.text.startswith("-"):
            takes = word.text in ("-e", "--expression") or bool(re.fullmatch(r"-[nErsuz]+e", word.text))
            script = "" if takes else script
            if not takes and not re.fullmatch(
                r"-[nErsuz]+|-i(\.\w+)?|--(quiet|silent|regexp-extended|in-place)", word.text
            ):
                return True
    return False


def _odd_options(pattern: str) -> Callable[[Sequence[Word]], bool]:
    odd = re.compile(pattern)

    def hides(rest: Sequence[Word]) -> bool:
        return any(odd.match(word.text) if word.known else not word.text for word in rest)

    return hides


HIDES: dict[str, Callable[[Sequence[Word]], bool]] = {
    "git": _git,
    "find": _find,
    "sort": _sort,
    "sed": _sed,
    "gsed": _sed,
    "fd": _odd_options(r"-[xX]|--exec"),
    "rg": _odd_options(r"--pre|--hostname-bin|-z|--search-zip"),
    "date": _odd_options(r"-f|--file"),
    "split": _odd_options(r"--filter"),
    "hash": _odd_options(r"-p"),
    "xxd": _odd_options(r"-r"),
    "install": _odd_options(r"--strip-program"),
    "diff": _odd_options(r"--to-file"),
    "sdiff": _odd_options(r"-o|--diff"),
    "column": _odd_options(r"(?!)"),
}
