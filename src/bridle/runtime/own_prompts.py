"""`OWN_PROMPTS`: the slash commands that every project has: `/init`, `/memory` and `/review`.

A command of the configuration with the same name takes the place of one. They are prompts: the file that one is about
is written by a call of the model, so that the person sees the change as a diff and decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bridle.config.settings import CommandSettings

INIT = """\
Write AGENTS.md in the root of this project: what a coding agent must know to work here.

Look first: the README, build and package files, CI configuration, the layout of the source, and the existing rules of
other tools (CLAUDE.md, .cursor/rules, .github/copilot-instructions.md). If AGENTS.md exists, improve it and keep
what is right.

It has these parts, in at most 60 lines, and nothing that is obvious or that you have not seen in the files:
- the commands to build, lint and test, and how to run a single test
- the structure: the important folders, and how they depend on each other
- the conventions: style, names, errors, tests

Write it with one call of your tool for files. The person sees the change and approves it, so do not ask before.
$ARGUMENTS"""
MEMORY = """\
Put this into AGENTS.md in the root of this project, to be remembered from now on:

$ARGUMENTS

If nothing stands above, choose what of this session will be worth knowing next time: corrections by the person,
commands that work, surprises. Say each thing as one short rule, in the part of the file where it belongs, and change
nothing else; create the file if there is none. Write it with one call of your tool for files. The person sees the
change and approves it, so do not ask before. If there is nothing worth remembering, say so and write nothing."""
REVIEW = """\
Review changes of this project, and change no file.

What to review: $ARGUMENTS

If nothing stands there, review what is not committed: `git status`, `git diff HEAD`, and new files. A branch name means
the difference to it, a commit its own change.

Read enough of the code around each change to judge it. Report only problems that are real: wrong behavior, lost data,
security, races, missing error handling, tests that cannot fail, names or comments that mislead. For each: file and
line, what goes wrong and when, and what to do. Order them by weight. If there are none, say so in one sentence."""
OWN_PROMPTS: Final[Mapping[str, CommandSettings]] = {
    "init": CommandSettings(INIT, "Write AGENTS.md: what an agent must know about this project"),
    "memory": CommandSettings(MEMORY, "Add something to AGENTS.md, to be remembered"),
    "review": CommandSettings(REVIEW, "Review what is not committed, a branch or a commit"),
}


def with_own(commands: Mapping[str, CommandSettings]) -> dict[str, CommandSettings]:
    """Return the commands of a configuration, and those that every project has."""
    return {**OWN_PROMPTS, **commands}
