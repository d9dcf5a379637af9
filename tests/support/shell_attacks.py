"""Command lines that would get around a rule, family by family; none of them may run without a question."""

from collections.abc import Iterable

import msgspec

from support.data import load

Rules = dict[str, str]


class Parts(msgspec.Struct, forbid_unknown_fields=True):
    """Pieces of lines; a writer has a place for the file that it writes."""

    joined: list[str]
    writers: list[str]
    places: list[str]
    through: list[str]
    linkers: list[str]
    counted: list[str]


class Attacks(msgspec.Struct, forbid_unknown_fields=True):
    """The file of attacks: whole lines by family, parts of which others are made, and harmless lines beside them."""

    programs: dict[str, list[str]]
    rules: dict[str, Rules]
    settings: dict[str, list[str]]
    options: dict[str, list[str]]
    parts: Parts
    lines: dict[str, list[str]]
    harmless: dict[str, list[str]]


ATTACKS = load("shell_attacks.toml", Attacks)
LINES = ATTACKS.lines
HARMLESS = ATTACKS.harmless
PARTS = ATTACKS.parts


def each(names: Iterable[str], verdict: str) -> Rules:
    """Return rules with one verdict for several programs."""
    return {f"{name} *": verdict for name in names}


ALLOWS_NAMED = {"*": "ask", **each(ATTACKS.programs["named"], "allow"), "echo *": "allow", "ls *": "allow"}
ALLOWS_SOME = {
    "*": "ask",
    **each(ATTACKS.programs["some"], "allow"),
    **{"rm *": "deny", "curl *": "deny", "git push*": "deny"},
}
ALLOWS_SED = ATTACKS.rules["allows_sed"]
ALLOWS_GIT = ATTACKS.rules["allows_git"]
DENIES_RM = ATTACKS.rules["denies_rm"]
DENIES_STARTERS = {"*": "allow", **each(ATTACKS.programs["starters"], "deny"), "git push *": "deny"}
DENIES_COMMANDS = {"*": "allow", **{f"{command}*": "deny" for command in ATTACKS.options}}

PATCH = "diff --git a/{0} b/{0}\nnew file mode {1}\n--- /dev/null\n+++ b/{0}\n@@ -0,0 +1 @@\n+text\n"
FILES = {
    "a.txt": "text\n",
    "good.patch": PATCH.format("src/a.py", 100644),
    "bad.patch": PATCH.format("docs/AGENTS.md", 100644),
    "hook.patch": PATCH.format(".husky/pre-commit", 100755),
    "link.patch": PATCH.format("lnk", 120000),
    "odd.patch": PATCH.format("src/a.py", 100644) + 'rename from x\nrename to "\\056envrc"\n',
}
"""The files that some of the lines read."""

ALIASES, HIDDEN, LAUNCHERS = LINES["aliases"], LINES["hidden"], LINES["launchers"]
REPOSITORIES, STARTERS, UNKNOWN = LINES["repositories"], LINES["starters"], LINES["unknown"]
ASSIGNED = [
    *(f"{given} {program} test" for program, settings in ATTACKS.settings.items() for given in settings),
    *LINES["assigned"],
]
LONG = "A" * 45
SED = [
    *(f"echo 'touch X A' | sed 's/[{LONG}/]/;s/e;#/#/'", f"sed 's/[{LONG * 9}/]/;s/e;#/#/' f"),
    *LINES["sed"],
]
JOINED_LINES = [
    *(f"ls <<EOF\n{end}\nrm a.txt\nEOF" for end in PARTS.joined),
    *(f"cat <<-EOF\n\t{end}\nrm a.txt\nEOF" for end in PARTS.joined),
    *(f'echo "$(ls <<EOF\n{end}\nrm a.txt\nEOF\n)"' for end in PARTS.joined),
    *(f"ls <<EOF\ntext $x\n{end}\nrm a.txt\nEOF" for end in PARTS.joined),
    *(f"ls <<EOF | cat\n{end}\nrm a.txt\nEOF" for end in PARTS.joined),
    *(f"if ls <<EOF\n{end}\nrm a.txt\nEOF\nthen ls; fi" for end in PARTS.joined),
    # Here bash goes on where the parser sees an end, so that the next document is none.
    *LINES["joined_lines"],
]
EVALUATED = [
    *(f"echo $(( {counted} ))" for counted in PARTS.counted),
    *(f'echo "$(( {counted} ))"' for counted in PARTS.counted),
    *(f"(( {counted} ))" for counted in PARTS.counted),
    *(f"if (( {counted} > 1 )); then ls; fi" for counted in PARTS.counted),
    *(f"echo $[ {counted} ]" for counted in PARTS.counted),
    *(f"z=$(( {counted} )); ls" for counted in PARTS.counted),
    *(f"for i in $(( {counted} )); do ls; done" for counted in PARTS.counted),
    *(f"[[ {counted} -eq 1 ]]" for counted in PARTS.counted if not counted.startswith(("1 ", "("))),
    *(f"for ((i={counted}; i<1; i++)); do ls; done" for counted in PARTS.counted),
    *LINES["evaluated"],
]
PROTECTED = [
    *(writer.format(place) for writer in PARTS.writers for place in PARTS.places if writer != "rm {}"),
    *LINES["protected"],
]
PROTECTED_BY_GIT = [
    *(
        f"git {command} {place}"
        for command in ("mv a.txt", "rm", "checkout --", "-C . mv a.txt")
        for place in PARTS.places
    ),
    *(
        f"git {command} {place}"
        for command in ("--no-pager mv -f a.txt", "clone .", "restore")
        for place in PARTS.places
    ),
    *LINES["protected_by_git"],
]
LINKS = [
    *(f"{linker} && {through}" for linker in PARTS.linkers for through in PARTS.through),
    *(f"git apply good.patch; {through}" for through in PARTS.through),
    *LINES["links"],
]
LINKS_BY_GIT = [
    *(
        f"git {command} && {through}"
        for command in ("apply link.patch", "apply good.patch", "checkout x", "stash pop", "reset --hard x", "pull")
        for through in (
            "echo x >> lnk",
            "echo x > lnk/zz",
            "cd lnk && echo x > zz",
            "git mv a.txt lnk/x",
            "git clone . lnk/x",
        )
    ),
    *LINES["links_by_git"],
]
OPTIONS = [
    " ".join([*before, name, options, rest, "v9"])
    for command, spelled in ATTACKS.options.items()
    for name, _, rest in [command.partition(" ")]
    for options in spelled
    for before in ([], ["nice"], ["env", "A=1"])
]
JUST_MADE = [
    *(
        f"{made}{then}"
        for made in ("cat /bin/rm > x; ", "cp /bin/rm x && ", "ls | tee x; ", "mv y x; ", "chmod +x x; ", "ln y x; ")
        for then in (
            "./x a.txt",
            "chmod +x x; ./x a.txt",
            "nice ./x a.txt",
            "bash -c './x a.txt'",
            "(./x a.txt)",
            "if ./x; then ls; fi",
        )
    ),
    *LINES["just_made"],
]
