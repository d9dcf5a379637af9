"""Commands and the verdicts that a judge of bash commands has to give on them."""

from typing import NamedTuple

import msgspec

from support.data import load


class Row(NamedTuple):
    """One command and its verdict under a set of rules; `why` says what the row is there for."""

    rules: str
    command: str
    verdict: str  # "allow", "ask", "deny", or "guarded": ask or deny, never allow
    why: str


class Corpus(msgspec.Struct, forbid_unknown_fields=True):
    """The file of commands; `bypasses` are those found by attacking, for each set of rules."""

    everyday: list[str]
    rows: list[Row]
    bypasses: dict[str, list[str]]


CORPUS = load("shell_corpus.toml", Corpus)
EVERYDAY = CORPUS.everyday
LONG = [
    Row("CAREFUL", "echo " + "a" * 20000 + "; rm x", "deny", "a very long word before the deed"),
    Row("CAREFUL", "ls && " * 300 + "rm x", "deny", "a very long list"),
    Row("CAREFUL", "echo a" + " " * 5000 + "; rm x", "deny", "pushed out of sight by blanks"),
    Row("CAREFUL", "ls" + "\n" * 3000 + "rm x", "deny", "pushed out of sight by empty lines"),
    Row("CAREFUL", "( " * 40 + "rm x" + " )" * 40, "deny", "deep subshells"),
    Row("CAREFUL", "echo " + "$(echo " * 30 + "$(rm x)" + ")" * 30, "deny", "deep substitutions"),
    Row("CAREFUL", "{ " * 2000 + "rm x" + "; }" * 2000, "guarded", "absurdly deep groups"),
    Row("CAREFUL", "echo " + "$(" * 3000 + "rm x" + ")" * 3000, "guarded", "absurdly deep substitutions"),
    Row("CAREFUL", "echo " + "${a:-" * 1500 + "$(rm x)" + "}" * 1500, "guarded", "absurdly deep default values"),
    Row("OPEN", "(" * 5000, "guarded", "only opening parentheses"),
    Row("CAREFUL", "cat <<EOF\n" + "text\n" * 2000 + "$(rm x)\nEOF", "deny", "deed at the end of a long here-document"),
    Row("CAREFUL", "if true; then " * 30 + "rm x; " + "fi; " * 30, "deny", "deep conditions"),
    Row("OPEN", "env " * 50 + "rm x", "guarded", "a wrapper fifty times"),
    Row("CAREFUL", "echo " + "word " * 600, "allow", "many harmless words"),
    Row("CAREFUL", "git commit -m '" + "rm x; " * 400 + "'", "allow", "a long quoted message"),
    Row("CAREFUL", "cat <<'EOF'\n" + "$(rm x)\n" * 500 + "EOF", "allow", "a long quoted here-document"),
]
BYPASSES = [
    Row(rules, command, "guarded", "a bypass that was found by attacking")
    for rules, commands in CORPUS.bypasses.items()
    for command in commands
]
ROWS = [*CORPUS.rows, *LONG, *BYPASSES]
