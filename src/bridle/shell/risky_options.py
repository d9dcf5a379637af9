"""Detects options with which harmless programs (git, find, sed, sort, rg) run other programs or write files."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from bridle.shell.options import git_command
from bridle.shell.program_names import program
from bridle.shell.sed import only_edits
from bridle.shell.words import Word, names

GIT_COMMANDS = names(
    "add am annotate apply archive bisect blame branch cat-file check-ignore checkout cherry cherry-pick clean clone "
    "commit config count-objects describe diff diff-tree diff-index diff-files fetch for-each-ref format-patch fsck gc "
    "grep help init log ls-files ls-remote ls-tree merge merge-base mv name-rev notes pull push range-diff rebase "
    "reflog remote reset restore rev-list rev-parse revert rm shortlog show show-branch show-ref stash status "
    "sparse-checkout submodule switch symbolic-ref tag update-index update-ref var verify-commit version whatchanged "
    "worktree"
)
GIT_ODD = names(
    "exec upload-pack receive-pack output output-directory ext-diff textconv open-files-in-pager config template "
    "separate-git-dir edit-description tool extcmd gpg-sign sign show-signature interactive edit exec-path remote rsh "
    "filter local-user pathspec-from-file recurse-submodules reference server-option strategy trailer mailmap "
    "unsafe-paths build-fake-ancestor web"
)
"""Long options that run a program or write a file. Abbreviations of them count too."""
GIT_PLAIN = names("all oneline only ours theirs stat staged start since sort short source no-edit reverse remotes")
GIT_LETTERS = {
    **dict.fromkeys(("commit", "merge", "revert", "cherry-pick"), "Se"),
    **dict.fromkeys(("archive", "format-patch"), "o"),
    **dict.fromkeys(("fetch", "pull"), "u"),
    **{"rebase": "xi", "clone": "uc", "grep": "O", "tag": "su", "add": "ei", "am": "S", "help": "w"},
}
"""Short options that run a program or write a file."""
GIT_TAKES = {
    "commit": re.compile(r"-[a-z]*[mFCct]|--(message|file|author|date|reuse-message)"),
    "tag": re.compile(r"-a?m|--message"),
    "stash": re.compile(r"-m|--message"),
    "merge": re.compile(r"-m"),
    "log": re.compile(r"-[nSGL]|--(grep|author|since|until|format|max-count)"),
    "grep": re.compile(r"-[efABCm]"),
    "checkout": re.compile(r"-[bB]"),
    "switch": re.compile(r"-[cC]"),
}
"""Options whose value is the next word."""
NOTHING = re.compile(r"(?!)")
SETTING = re.compile(r"[A-Za-z][A-Za-z0-9-]*(\.[\w./-]+)?\.[A-Za-z][A-Za-z0-9-]*")
GIT_CALM = {
    "bisect": names("start good bad reset log skip status"),
    "submodule": names("status summary init update"),
    "config": names("--get --get-all --list -l --get-regexp get list"),
    "notes": names("list show"),
    "sparse-checkout": names("list"),
}
"""Subcommands with subcommands of their own, of which only these are harmless."""
GIT_FREE = names(
    "add status commit checkout restore tag rev-parse merge-base branch blame ls-files stash switch reset rm mv"
)
"""Subcommands that no other option makes run a program or write an arbitrary file."""
GIT_GLOBAL = names("--no-pager -P --version --help --no-optional-locks --literal-pathspecs")


def _git(rest: Sequence[Word]) -> bool:
    """Return whether these words may make git run a program, or write outside its own folder."""
    index = 0
    while index < len(rest) and rest[index].text.startswith("-"):
        option = rest[index]
        if not option.known or option.text not in GIT_GLOBAL | {"-C"}:
            return True
        if option.text == "-C" and not (index + 1 < len(rest) and rest[index + 1].known):
            return True
        index += 1 + (option.text == "-C")
    if index >= len(rest):
        return False
    command, given = rest[index], rest[index + 1 :]
    if not command.known or command.text not in GIT_COMMANDS or (index and command.text == "push"):
        return True
    return _git_hides(command.text, given)


def _git_hides(command: str, given: Sequence[Word]) -> bool:
    calm = given and given[0].known and given[0].text in GIT_CALM.get(command, ())
    if command in GIT_CALM and not calm and not _reads_setting(command, given):
        return True
    free, letters, takes = command in GIT_FREE, GIT_LETTERS.get(command, ""), GIT_TAKES.get(command, NOTHING)
    skip = False
    for word in given:
        if skip:
            skip = False
            continue
        if word.known and word.text == "--":
            break
        if word.text.startswith("-"):
            short = set(word.text[1:].partition("=")[0]) & set(letters) and not word.text.startswith("--")
            if short or _may_be_odd(word):
                return True
            skip = _is_known(takes, word)
        elif word.vague and not free:
            return True
    return any(word.text.startswith(("ext::", "fd::")) for word in given)


def _may_be_odd(word: Word) -> bool:
    """Return whether an option may be, or abbreviate, one that runs a program or writes a file."""
    if not word.known and "=" not in word.text:
        return True
    name = word.text.removeprefix("--").partition("=")[0]
    if not word.text.startswith("--") or name in GIT_PLAIN:
        return False
    return any(odd.startswith(name) or name.startswith(odd) for odd in GIT_ODD)


def writes_git_config(words: Sequence[Word]) -> bool:
    """Return whether a command changes git's settings in the project, and so what git does later."""
    start = next((index for index, word in enumerate(words[:6]) if program(word.text) == "git"), None)
    if start is None:
        return False
    command, given = git_command(words[start + 1 :])
    options = [word.text for word in given]
    match command:
        case "config":
            return not options or not (options[0] in GIT_CALM["config"] or _reads_setting(command, given))
        case "remote":
            return bool(options) and options[0] in names("add remove rm rename set-url set-head set-branches")
        case "push" | "pull" | "branch":
            return any(re.fullmatch(r"-u|-[mM]|--set-up\S*|--unset-up\S*|--mov?e?", option) for option in options)
        case "submodule" | "sparse-checkout" | "maintenance" | "lfs":
            return bool(options) and options[0] not in GIT_CALM.get(command, GIT_CALM["submodule"])
    return False


def _reads_setting(command: str, given: Sequence[Word]) -> bool:
    """Return whether git only prints one setting: the sole argument is a name with a dot in it."""
    return command == "config" and len(given) == 1 and given[0].known and SETTING.fullmatch(given[0].text) is not None


FIND_TAKES = re.compile(
    r"-(i?name|i?path|i?wholename|i?regex|newer\w*|size|[mca]time|[mca]min|type|maxdepth|mindepth|perm|user|group)"
)
FIND_PLAIN = names("-follow -false -fstype")


def _find(rest: Sequence[Word]) -> bool:
    for index, word in enumerate(rest):
        valued = index > 0 and _is_known(FIND_TAKES, rest[index - 1])
        begins = bool(word.text) and not word.text.startswith("-")
        if not word.known and (not word.single or not (valued or begins)):
            return True
        acts = word.known and not valued and re.fullmatch(r"-(delete|f\w*|exec\w*|ok\w*)", word.text)
        if acts and word.text not in FIND_PLAIN | {"-executable"}:
            return True
    return False


SORT_PLAIN = re.compile(
    r"-[bdfgiMhnRrVucCmsz0-9]+|-[kt].*|--(key|field-separator|reverse|unique|numeric-sort|human-numeric-sort|"
    r"version-sort|general-numeric-sort|ignore-case|check|stable|zero-terminated|dictionary-order)(=.*)?"
)


def _sort(rest: Sequence[Word]) -> bool:
    options = (word for word in rest if word.text.startswith("-") and word.text != "-")
    return any(word.vague for word in rest) or not all(_is_known(SORT_PLAIN, option) for option in options)


def _is_known(options: re.Pattern[str], word: Word) -> bool:
    return word.known and options.fullmatch(word.text) is not None


SED_PLAIN = re.compile(r"-[nErsuz]+|-i(\.\w+)?|--(quiet|silent|regexp-extended|in-place|null-data|separate)")
SED_SCRIPT = re.compile(r"-[nErsuz]*e|--expression")


def _sed(rest: Sequence[Word]) -> bool:
    script, takes = False, False
    for word in rest:
        if takes or (not script and not word.text.startswith("-")):
            if not word.known or not only_edits(word.text):
                return True
            script, takes = True, False
        elif word.text.startswith("-"):
            takes = _is_known(SED_SCRIPT, word)
            script = script or takes
            if not takes and not _is_known(SED_PLAIN, word):
                return True
        elif word.vague:
            return True
    return takes


def _odd_options(pattern: str) -> Callable[[Sequence[Word]], bool]:
    odd = re.compile(pattern)
    return lambda rest: any(word.vague or _is_odd(odd, word) for word in rest)


def _is_odd(odd: re.Pattern[str], word: Word) -> bool:
    """Return whether a word is a risky option; an option whose name is not known for sure may be one."""
    if word.known or not word.text.startswith("-"):
        return word.known and odd.match(word.text) is not None
    return "=" not in word.text or odd.match(word.text) is not None


GH_COMMANDS = names(
    "api attestation auth cache gist gpg-key issue label org pr project release repo ruleset run search secret ssh-key "
    "status variable version workflow --version --help"
)
GH_ODD = re.compile(r"(-\w*[we]|--(web|editor))(=|$)")


def _gh(rest: Sequence[Word]) -> bool:
    """Return whether gh may run an alias, an extension, an editor or a browser."""
    if rest and not (rest[0].known and rest[0].text in GH_COMMANDS):
        return True
    return any(word.vague or _is_odd(GH_ODD, word) for word in rest)


def _writes_operand(takes: str, odd: str) -> Callable[[Sequence[Word]], bool]:
    """Return a check for a program that writes its second operand; `takes` matches options with a value."""
    valued, writes = re.compile(takes), re.compile(odd)

    def hides(rest: Sequence[Word]) -> bool:
        operands, skip = 0, False
        for word in rest:
            option = word.text.startswith("-") and word.text != "-"
            if (not word.known and not word.single) or (option and writes.match(word.text)):
                return True
            operands += not option and not skip
            skip = option and valued.fullmatch(word.text) is not None
        return operands > 1

    return hides


_tar_option = _odd_options(
    r"-(?!-)\w*[IF]|--(use|to-c|checkpoint-a|new-v|info|rsh|rmt)",
)


def _tar(rest: Sequence[Word]) -> bool:
    """Return whether tar may run a program; its first word may be letters of options without a hyphen."""
    letters = rest[0].text if rest and rest[0].known and not rest[0].text.startswith("-") else ""
    return bool({*letters} & {*"IF"}) or _tar_option(rest)


HIDES: dict[str, Callable[[Sequence[Word]], bool]] = {
    "git": _git,
    "gh": _gh,
    "find": _find,
    "sort": _sort,
    "sed": _sed,
    "gsed": _sed,
    "fd": _odd_options(r"-\w*[xX]|--ex"),
    "rg": _odd_options(r"--pre(=|$)|--hostname-bin|-\w*z|--search-zip"),
    **dict.fromkeys(("bat", "ag", "ack", "delta"), _odd_options(r"--pager")),
    **dict.fromkeys(("tar", "gtar", "bsdtar"), _tar),
    "zip": _odd_options(r"-\w*T|--(test|unzip)"),
    "man": _odd_options(r"-\w*[PHX]|--(pager|html|gxditview)"),
    "date": _odd_options(r"-\w*f|--f"),
    "split": _odd_options(r"--f"),
    "xxd": _writes_operand(r"-[lscgonR]", r"-\w*r"),
    "uniq": _writes_operand(r"-[fsw]", r"(?!)"),
    **dict.fromkeys(("shuf", "iconv", "tree"), _odd_options(r"-\w*o|--o")),
    "yq": _odd_options(r"-\w*[is]|--(in|split)"),
    "install": _odd_options(r"--strip-p"),
    "patch": _odd_options(r"-\w*[eg]|--(ed|get)"),
    "diff": _odd_options(r"--to-file"),
    "ctest": _odd_options(r"-[SDMT]|--(script|build-|test-(command|action|model)|dashboard)"),
    "sdiff": _odd_options(r"-\w*o|--(o|diff)"),
}
