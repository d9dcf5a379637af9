"""Classifies environment variables that change later commands, and returns the text that builtins like `eval` run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from bridle.shell.words import UNKNOWN, Word, names

_STEERS = re.compile(
    r"PATH|PWD|OLDPWD|CDPATH|IFS|ENV|HOME|PS[0-4]|SHELL|SHELLOPTS|BASH\w*|PROMPT_\w+|FUNCNEST|GLOBIGNORE|POSIXLY_CORRECT|"
    r"LD_\w+|DYLD_\w+|GCONV_PATH|LOCPATH|NLSPATH|TERMINFO\w*|TMPDIR|OPT(IND|ARG|ERR)|"
    r"\w*(PAGER|EDITOR|BROWSER|ASKPASS)|VISUAL|LESS\w*|MORE|MAN\w*|GIT_\w+|SSH_\w+|GPG_\w+|SUDO_\w+|"
    r"PYTHON(?!UNBUFFERED|DONTWRITEBYTECODE|UTF8|HASHSEED|IOENCODING|FAULTHANDLER|WARNINGS)\w*|"
    r"PERL\w*|RUBY\w*|GEM_\w+|BUNDLE_\w+|NODE_(OPTIONS|PATH|REPL\w*)|NPM_CONFIG_\w+|YARN_\w+|JAVA_\w+|_JAVA_\w+|JDK_\w+|"
    r"MAVEN_\w+|GRADLE_\w+|GO(FLAGS|PROXY|ROOT|PATH|CACHE|ENV|TOOLCHAIN)|CC|CXX|CPP|LD|AR|MAKEFLAGS|MFLAGS|MAKEFILES|"
    r"RUSTC\w*|RUSTFLAGS|CARGO_\w+|CMAKE_\w+|PIP_\w+|UV_\w+|TAR_OPTIONS|RSYNC_\w+|GREP_\w+|RIPGREP_\w+|FZF_\w+|"
    r"XDG_\w+|\w*_(COMMAND|CMD|HOOK|WRAPPER|PRELOAD|PROXY)|CURL_\w+|WGETRC|NETRC|DOCKER_\w+|KUBE\w+|AWS_\w+|HISTFILE|"
    r"INPUTRC|EXECIGNORE|TEXTDOMAIN\w*|COLUMNS_COMMAND|PYTEST_(ADDOPTS|PLUGINS)|_",
    re.IGNORECASE,
)

_STEERS_TOOLS = re.compile(
    r"\w*FLAGS|RUSTDOC\w*|RUSTUP_\w+|RUSTFMT|GO[A-Z]*(PROG|AUTH|DEBUG|BIN|VCS|WORK)|CGO_\w*FLAGS|DOTNET_\w+|CORECLR_\w+|"
    r"OPENSSL_\w+|SSL_\w+|GH_\w+|ESBUILD_\w+|CLASSPATH|PHPRC|TF_\w+|COMPOSER_\w+|PKG_CONFIG\w*|GNUPGHOME|PROTOC"
)
"""Variables that build tools obey. Upper case only: lower-case names are people's own variables."""

_PLAIN = r"[\w.,:@+%][\w.,:@+%=-]*|"
_NUMBER = r"\d{1,9}|"
_HARMLESS = {
    _PLAIN: r"LANG(UAGE)?|LC_[A-Z]+|TZ|TERM|COLORTERM|DEBIAN_FRONTEND|CI|DEBUG|VERBOSE|LOG_?LEVEL|RUST_(LOG|BACKTRACE)|"
    r"(NODE|RAILS|RACK|APP|FLASK|MIX|BABEL|DENO)_ENV|PYTHON(UTF8|IOENCODING)|GO(OS|ARCH|ARM|AMD64)|DJANGO_SETTINGS_MODULE|"
    r"[A-Za-z]",
    r"\w{0,12}": r"NO_COLOR|FORCE_COLOR|CLICOLOR(_FORCE)?|CGO_ENABLED|GO111MODULE|HUSKY|FLASK_DEBUG|"
    r"NEXT_TELEMETRY_DISABLED|DO_NOT_TRACK|PYTHON(UNBUFFERED|DONTWRITEBYTECODE|FAULTHANDLER|NOUSERSITE)",
    _NUMBER: r"COLUMNS|LINES|PORT|GOMAXPROCS|OMP_NUM_THREADS|PYTHONHASHSEED|SOURCE_DATE_EPOCH",
}
"""Variables that make no program run another, by pattern of their values."""


class Assigned(NamedTuple):
    """A variable in the environment of a program."""

    name: str
    value: Word = UNKNOWN

    @property
    def harmless(self) -> bool:
        """Return whether the variable is known not to change what any program does."""
        return self.value.known and any(
            re.fullmatch(called, self.name) and re.fullmatch(value, self.value.text)
            for value, called in _HARMLESS.items()
        )


def exported_by(words: Sequence[Word], values: Sequence[Assigned] = ()) -> list[Assigned]:
    """Return the variables that a declaration exports to later programs; `values` are those already read."""
    exports = words[0].text == "export" or (
        words[0].text in ("declare", "typeset", "local") and any(re.match(r"-\w*x", word.text) for word in words[1:])
    )
    given = {assigned.name: assigned for assigned in values}
    found: list[Assigned] = []
    for word in words[1:] if exports else ():
        name, equals, value = word.text.partition("=")
        if not name.startswith(("-", "+")):
            found.append(
                given.get(name) or Assigned(name.rstrip("+"), Word(value) if equals and word.known else UNKNOWN)
            )
    return found


BUILTINS = names(
    ". : [ alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs "
    "disown echo enable eval exec exit export false fc fg getopts hash help history jobs kill let local "
    "logout mapfile popd printf pushd pwd read readarray readonly return set shift shopt source suspend "
    "test times trap true type typeset ulimit umask unalias unset wait time"
)
SILENT = names(
    ": [ break cd continue declare dirs disown exit export false getopts hash jobs local popd pushd pwd "
    "read readonly return set shift shopt test times true type typeset umask unset wait mapfile readarray "
    "trap eval let"
)
"""Builtins that need no rule of their own: their effects are checked in other ways."""

_UNKNOWN_EFFECT = names(
    ". source alias unalias enable bind complete compgen compopt fc history let getopts logout suspend fg"
)
"""Builtins that may run or change anything."""
_SAFE_SHOPT = names("nullglob globstar dotglob failglob nocaseglob inherit_errexit lastpipe")


def steers(name: str) -> bool:
    """Return whether a variable of this name changes what later commands do."""
    return (_STEERS.fullmatch(name) or _STEERS_TOOLS.fullmatch(name)) is not None


def plain_name(name: str) -> bool:
    return re.fullmatch(r"[A-Za-z_][\w-]*", name) is not None and name not in BUILTINS


def commands_run_by(words: Sequence[Word]) -> list[str] | None:
    """Return the texts that a builtin would run as commands; None if it may run or change something unknown."""
    first = words[0]
    given = [word.text for word in words[1:]]
    known = all(word.known for word in words[1:])
    if not first.known or first.text not in BUILTINS:
        return []
    if first.text in _UNKNOWN_EFFECT:
        return None
    match first.text:
        case "eval":
            return [" ".join(given)] if known else None
        case "trap":
            return _trapped(given) if known else None
        case "hash" | "wait" | "jobs":
            return None if not known or any(re.match(r"-\w*[pxt]", word) for word in given) else []
        case "set":
            return [] if _sets(words[1:]) else None
        case "shopt":
            return [] if known and _SAFE_SHOPT.issuperset(word for word in given if not word.startswith("-")) else None
        case "test" | "[":
            return None if _may_test_names(words) or {"-v", "-R"} & set(given) else []
        case "mapfile" | "readarray":
            return None if not known or any(re.match(r"-\w*[Cc]", word) for word in given) else _names(given, read=True)
        case "export" | "declare" | "typeset" | "local" | "readonly" | "unset" | "read":
            sound = known and not any("(" in word for word in given)
            return _names(given, read=first.text == "read") if sound else None
        case "printf":
            return None if words[1:2] and (not words[1].known or words[1].text.startswith("-v")) else []
    return []


def _trapped(given: list[str]) -> list[str] | None:
    words = [word for word in given if word != "--"]
    if not words or words[0] in ("-", "", "-p", "-l"):
        return []
    return [words[0]] if not words[0].startswith("-") else None


def _sets(words: Sequence[Word]) -> bool:
    if not words or words[0] == Word("--"):
        return True
    named = False
    for word in words:
        if not word.known or (named and word.text not in ("pipefail", "errexit", "nounset", "xtrace", "noglob")):
            return False
        if named or re.fullmatch(r"[-+][eufxnC]*o?", word.text):
            named = not named and word.text.endswith("o")
            continue
        return not word.text.startswith(("-", "+"))
    return True


def _may_test_names(words: Sequence[Word]) -> bool:
    """Return whether an unknown word may turn out to be the operator that evaluates names."""
    for index, word in enumerate(words[1:], 1):
        if not word.known:
            before, after = words[index - 1], words[index + 1] if index + 1 < len(words) else Word("]")
            operand = any(side.known and re.fullmatch(r"-[a-zA-Z]+|[=!<>]=?|==", side.text) for side in (before, after))
            alone = after.text == "]" and before.text in ("[", "test", "!")
            if not word.single or not (operand or alone):
                return True
    return False


def _names(given: list[str], *, read: bool) -> list[str] | None:
    """Return an empty list if all names are plain and steer nothing; else None."""
    takes = False
    for word in given:
        if takes:
            takes = False
            continue
        if word.startswith(("-", "+")):
            if re.search(r"[nif]", word) and not (read and re.fullmatch(r"-r?[nN]", word)):
                return None
            takes = read and re.fullmatch(r"-r?[dnNpu]|-[sO]", word) is not None
            continue
        name = re.split(r"\+?=", word)[0]
        if not re.fullmatch(r"[A-Za-z_]\w*", name) or steers(name):
            return None
    return []
