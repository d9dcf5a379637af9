"""Faults planted into Bridle one at a time: a simulation that does not see them proves nothing.

Run `scripts/faults` to plant each into a copy of the source, look for the first seed that shows it, and write the table
in docs/faults.md. The tests replay that seed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
TABLE = ROOT / "docs" / "faults.md"
CI_SEEDS = 600
PATIENCE_SECONDS = 60


@dataclass(frozen=True)
class Fault:
    """What is broken, where, and how: the old words occur exactly once in the file."""

    name: str
    file: str
    old: str
    new: str


FAULTS = [
    Fault("cap off by one", "core/decide.py", "0 < turn.cap <= number", "0 < turn.cap < number"),
    Fault(
        "the closing step may act",
        "core/decide.py",
        '_fitting(turn, CallModel(number, 1, "off", closing))',
        '_fitting(turn, CallModel(number, 1, "offered", closing))',
    ),
    Fault("a call of unknown outcome is run again", "turn/settle.py", "Repeat() if again else unknown)", "Repeat())"),
    Fault(
        "a dead request costs nothing",
        "turn/settle.py",
        "settles=tuple(account.held.items()))",
        "settles=tuple((id, NOTHING) for id in account.held))",
    ),
    Fault(
        "a reservation is never settled",
        "turn/sending.py",
        "settles=((self.reservation, actual),))",
        "settles=())",
    ),
    Fault(
        "the sentinel stands twice",
        "turn/closing.py",
        "        events.append(PartPut(Sentinel(",
        '        events.append(PartPut(Sentinel(f"{number}.again", reason, text_line)))\n'
        "        events.append(PartPut(Sentinel(",
    ),
    Fault(
        "no sentinel for an abort",
        "turn/closing.py",
        "if reason not in QUIET:",
        'if reason not in (*QUIET, "aborted"):',
    ),
    Fault(
        "a child's ending is lost",
        "engine/local.py",
        "                await report_end(session, self._journal, self)\n",
        "",
    ),
    Fault(
        "an aborted parent does not tell its children",
        "turn/children.py",
        "            await rig.record.journal.submit(child, abort)\n",
        "",
    ),
    Fault(
        "a compaction splits calls from results",
        "core/compaction.py",
        "        if not isinstance(messages[place], ResultMessage):\n            kept = place",
        "        kept = place",
    ),
    Fault("the epoch is not looked at", "journal/memory.py", "kept.epoch != lease.epoch or not kept.held", "False"),
    Fault("a held lease is given again", "journal/memory.py", "        if kept.held:\n            return None\n", ""),
    Fault("a call is charged to nobody", "turn/run_calls.py", "charges=Spent(tool_calls=fresh)", "charges=Spent()"),
    Fault("one call above the budget", "turn/run_calls.py", "            if left <= 0:", "            if left < 0:"),
    Fault(
        "a child has rights that its parent lacks",
        "turn/rig.py",
        "*stricter, *above))",
        "*stricter))",
    ),
    Fault("depth is not counted", "turn/children.py", "depth=_depth(turn) + 1,", "depth=_depth(turn) or 1,"),
    Fault(
        "more subagents at once than allowed",
        "core/ledger.py",
        "tree = root.tree or TreeLimits()",
        "tree = msgspec.structs.replace(root.tree or TreeLimits(), live=64)",
    ),
    Fault("subagents without end", "core/ledger.py", "if root.total + change.starts > tree.total:", "if False:"),
    Fault("a place is not given back", "core/ledger.py", "_more(rows, parent.id, children=-1)", "pass"),
    Fault(
        "an abort stays with the parent",
        "core/decide.py",
        "turn.pending + turn.asking + turn.queued + turn.waiting\n",
        "turn.pending + turn.asking + turn.queued\n",
    ),
    Fault(
        "open calls at the end of a turn",
        "core/decide.py",
        "    if unsettled:\n",
        "    if unsettled and halt.reason == 'aborted':\n",
    ),
    Fault(
        "a child has more time than its parent",
        "tackroom.py",
        "limits = limits.at_most(Limits(seconds=mandate.seconds))",
        "pass",
    ),
    Fault(
        "the time of children is not counted",
        "turn/take.py",
        "    rig.record.advance(turn.began[item.call] + item.report.spent.seconds)\n",
        "",
    ),
    Fault(
        "the tokens of children are not counted",
        "core/moves.py",
        "    turn.tokens += report.spent.tokens\n",
        "",
    ),
    Fault(
        "an ask below is not passed on",
        "turn/actions.py",
        "        await report_asks(self._rig)\n",
        "",
    ),
    Fault(
        "a compaction need not make anything smaller",
        "turn/compact.py",
        "if after <= before * (1 - LEAST_GAIN) and after < limit:",
        "if True:",
    ),
    Fault("compactions without end", "core/decide.py", "MAX_COMPACTIONS = 2", "MAX_COMPACTIONS = 6"),
    Fault(
        "a compaction loses the task",
        "core/compaction.py",
        "isinstance(message, UserMessage) and message.id in ours:",
        "isinstance(message, UserMessage) and message.id in ours and False:",
    ),
    Fault("retries without end", "config/settings.py", "retries: int = 5", "retries: int = 25"),
    Fault("attempts without end", "core/decide.py", "MAX_ATTEMPTS = 3", "MAX_ATTEMPTS = 9"),
    Fault(
        "words of a dead request stay",
        "turn/settle.py",
        "            events += [PartRemoved(id) for id in turn.reply] if request is turn.request else []\n",
        "",
    ),
    Fault(
        "words come between calls and results",
        "core/session.py",
        "if self.turn is not None and self.turn.batch:",
        "if False:",
    ),
    Fault(
        "a queued prompt is steered in",
        "turn/take.py",
        "if item.queue or view.open_calls",
        "if view.open_calls",
    ),
    Fault(
        "an item is used but not taken",
        "turn/take.py",
        "        await rig.record.append(PartPut(_prompt(item, turn.start.number)), take=(item.id,))",
        "        await rig.record.append(PartPut(_prompt(item, turn.start.number)))",
    ),
    Fault("doom loops pass", "core/repetition.py", "REPEATS = 3\n", "REPEATS = 5\n"),
    Fault(
        "published before it is written",
        "turn/record.py",
        "        held = tuple(self._held)\n",
        "        held = tuple(self._held)\n        self.publish(self.lease.session, entry)\n",
    ),
    Fault(
        "a reservation always fits",
        "core/ledger.py",
        "            if amount > now:",
        '            if amount > now and name == "steps":',
    ),
    Fault(
        "nothing is kept for the closing request",
        "turn/run_calls.py",
        "kept = keeping(rig, starting=starts) if starts else None",
        "kept = None",
    ),
    Fault(
        "a child that failed is reported as a success",
        "turn/children.py",
        "good = report.reason in GOOD_ENDINGS",
        "good = True",
    ),
    Fault(
        "any session can be gone on with",
        "turn/children.py",
        "if given.task_id not in rig.session.children or not ours:",
        "if False:",
    ),
    Fault(
        "a child is started again after a death",
        "turn/children.py",
        'return f"{rig.record.lease.session}:{call}"',
        'return f"{rig.record.lease.session}:{call}:{rig.record.lease.epoch}"',
    ),
    Fault(
        "a failed synthesis is forgotten",
        "core/moves.py",
        '            turn.synthesis = "failed" if errand.purpose == "synthesis" else turn.synthesis\n',
        "",
    ),
    Fault(
        "queued subagents are forgotten",
        "core/decide.py",
        "if turn.queued and (turn.places or not turn.waiting):",
        "if False:",
    ),
    Fault(
        "a dead parent does not find its children",
        "turn/settle.py",
        "        await start_children(rig)\n",
        "        pass\n",
    ),
    Fault(
        "a prompt between two attempts is answered twice",
        "core/moves.py",
        "        turn.prompted = False\n",
        "        turn.prompted = turn.prompted and turn.step.requests > 0\n",
    ),
    Fault(
        "the ledger forgets what a dead process held",
        "turn/settle.py",
        "            lost = worst.get(request.id, NOTHING)\n",
        "            lost = NOTHING\n",
    ),
    Fault(
        "an abort waits for the model",
        "engine/local.py",
        "                    rig.scope.abort()\n",
        "                    pass\n",
    ),
    Fault(
        "a rejected call is run all the same",
        "turn/take.py",
        'if item.choice == "reject":',
        'if item.choice == "reject" and item.feedback:',
    ),
]


def plant(fault: Fault, into: Path) -> None:
    """A copy of the source with one fault in it; fails if the words to be broken are not there exactly once."""
    shutil.copytree(ROOT / "src" / "bridle", into / "bridle", ignore=shutil.ignore_patterns("__pycache__"))
    path = into / "bridle" / fault.file
    text = path.read_text()
    assert text.count(fault.old) == 1, f"{fault.name}: found {text.count(fault.old)} times in {fault.file}"
    path.write_text(text.replace(fault.old, fault.new))


def caught(fault: Fault, seeds: range) -> tuple[int, str] | None:
    """The first of these seeds that shows the fault, and the invariant that it breaks."""
    with tempfile.TemporaryDirectory() as folder:
        plant(fault, Path(folder))
        environment = {**os.environ, "PYTHONPATH": f"{folder}:{ROOT / 'tests'}", "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-m", "sim", "--start", str(seeds.start), "--seeds", str(len(seeds)), "--first"]
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS
            )
        except subprocess.TimeoutExpired as late:
            # A world that never comes to an end is as wrong as any.
            begun = re.findall(r"^begin (\d+)$", (late.stdout or b"").decode(), re.MULTILINE)
            return int(begun[-1]), "terminates"
    found = re.search(r"^seed (\d+): (.*)$", done.stdout, re.MULTILINE)
    return (int(found[1]), found[2].split(":")[0]) if found else None


def read_table() -> dict[str, int]:
    """The seed that shows each fault, from the table."""
    rows = re.findall(r"^\| (.+?) \| `.+?` \| (\d+) \|", TABLE.read_text(), re.MULTILINE)
    return {name: int(seed) for name, seed in rows}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="a piece of the name of a fault; the table is not written then")
    given = parser.parse_args()
    faults = [fault for fault in FAULTS if not given.only or given.only in fault.name]
    lines, missed = [], 0
    with ThreadPoolExecutor(2) as pool:
        for fault, seen in zip(faults, pool.map(lambda fault: caught(fault, range(CI_SEEDS)), faults), strict=True):
            seed, invariant = seen or ("", "**not caught**")
            missed += seen is None
            lines.append(f"| {fault.name} | `{fault.file}` | {seed} | {invariant} |")
            print(lines[-1], flush=True)
    print(f"{len(faults) - missed} of {len(faults)} caught within {CI_SEEDS} seeds")
    if not given.only:
        TABLE.write_text(HEAD.replace("{caught}", str(len(faults) - missed)).replace("{all}", str(len(faults))))
        with TABLE.open("a") as file:
            file.write("\n".join(lines) + "\n")
    return bool(missed)


HEAD = """# Planted faults

A simulation is worth what it catches. `scripts/faults` plants each of these into a copy of the source, runs the worlds
that CI runs, and notes the first seed that shows it and the invariant that it breaks: {caught} of {all} are caught. CI
plants each again and replays its seed.

| fault | in | seed | breaks |
| --- | --- | --- | --- |
"""

if __name__ == "__main__":
    sys.exit(main())
