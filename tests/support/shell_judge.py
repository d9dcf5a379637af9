"""Sets of rules, and the verdict that a command line gets under them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from bridle.core.permission import Rule, Verdict, judge, strictest
from bridle.shell.required_access import needs_of

PROJECT = Path("/home/person/project")
FILES = (
    Rule("edit", "*", "ask"),
    Rule("edit", "out/*", "allow"),
    Rule("read", "*", "allow"),
    Rule("external_directory", "*", "ask"),
    Rule("network", "*", "ask"),
)


def rules(table: Mapping[str, Verdict]) -> tuple[Rule, ...]:
    return (*(Rule("bash", pattern, verdict) for pattern, verdict in table.items()), *FILES)


CAREFUL: dict[str, Verdict] = {"*": "ask", "git *": "allow", "git push *": "ask"}
CAREFUL |= {f"{name} *": "allow" for name in ("ls", "cat", "echo", "grep", "head", "find", "sort")}
NAMED = ("python *", "python3 *", "pytest *", "npm test", "npm run *", "make *")
SETS = {
    "CAREFUL": rules({**CAREFUL, "rm *": "deny"}),
    "OPEN": rules({"*": "allow", "rm *": "deny", "git push *": "ask", "curl *": "ask"}),
    "PYTHON": rules({"*": "ask", **dict.fromkeys(NAMED, "allow"), "rm *": "deny"}),
    "ALL": rules({"*": "allow"}),
}


def verdict(given: Sequence[Rule], command: str) -> Verdict:
    return strictest(judge(given, access) for access in needs_of(command, PROJECT, PROJECT))
