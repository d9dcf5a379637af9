"""The faults that are planted, one at a time: each broken in its own way, in words that occur exactly once."""

from __future__ import annotations

from dataclasses import dataclass


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
    Fault(
        "lines that end in CR alone are not seen",
        "model/sse.py",
        'lines.replace(b"\\r\\n", b"\\n").replace(b"\\r", b"\\n")',
        'lines.replace(b"\\r\\n", b"\\n")',
    ),
    Fault(
        "a byte order mark is taken for words",
        "model/sse.py",
        'if rest.startswith(b"\\xef\\xbb\\xbf"):',
        "if False:",
    ),
    Fault(
        "an event that is cut in two loses its beginning",
        "model/sse.py",
        "        del rest[: end + 1]\n",
        "        del rest[:]\n",
    ),
    Fault(
        "a chat stream that is cut off counts as whole",
        "model/openai_chat.py",
        "if self.failed or not (self.done or (self._ends_without_done and self._finish)):",
        "if self.failed:",
    ),
    Fault(
        "messages that are cut off count as whole",
        "model/anthropic.py",
        "        if self.failed or not self.done:\n            return\n        for index in sorted(self._blocks):",
        "        if self.failed:\n            return\n        for index in sorted(self._blocks):",
    ),
    Fault(
        "responses that are cut off count as whole",
        "model/openai_responses.py",
        "        if self.failed or not self.done:\n            return\n        for index in sorted(self._items):",
        "        if self.failed:\n            return\n        for index in sorted(self._items):",
    ),
    Fault(
        "calls of a chat reply get the arguments of the one before",
        "model/openai_chat.py",
        "            known.pieces.append(arguments)\n",
        "            self._calls[0].pieces.append(arguments)\n",
    ),
    Fault(
        "the arguments of a message's call are left out",
        "model/anthropic.py",
        "                    block.pieces.append(piece)\n",
        "",
    ),
    Fault(
        "a refusal in the stream of a response is overheard",
        "model/openai_responses.py",
        'case "response.failed" | "error":\n                self.failed = True\n                yield _failed(event)',
        'case "response.failed" | "error":\n                self.done = True',
    ),
    Fault(
        "thoughts go back without their signatures",
        "model/anthropic.py",
        "                if own and block.seal:\n",
        "                if own:\n",
    ),
    Fault(
        "a key that a provider repeats is written down",
        "model/http.py",
        'message = message.replace(secret, "[key]")',
        "pass",
    ),
    Fault(
        "nothing waits for the disk",
        "journal/commits.py",
        "            await self._sync.reach_disk()\n",
        "            pass\n",
    ),
    Fault(
        "an intent may be lost with the power",
        "journal/sqlite.py",
        'weight in ("intent", "ending")',
        'weight == "ending"',
    ),
    Fault(
        "a prompt may be lost with the power",
        "journal/sqlite.py",
        "fresh = await self._commits.write(work, full=self._power)",
        "fresh = await self._commits.write(work, full=False)",
    ),
    Fault(
        "SQLite takes entries under a lost lease",
        "journal/queries.sql",
        "WHERE number = ? AND epoch = ?)\n-- name: load_entries",
        "WHERE number = ? AND epoch >= ?)\n-- name: load_entries",
    ),
    Fault(
        "half a transaction is committed",
        "journal/commits.py",
        '                writer.execute("ROLLBACK")\n            raise',
        '                writer.execute("COMMIT")\n            raise',
    ),
    Fault(
        "SQLite forgets what was taken from the inbox",
        "journal/sqlite.py",
        'self._database.writer.execute(QUERIES["take_item"], (self._numbers[lease.session], id))',
        "pass",
    ),
    Fault(
        "SQLite keeps the lock of a lease that was not had",
        "journal/sqlite.py",
        "        except BaseException:\n            drop_lock(*self._locks.pop(session))\n            raise",
        "        except ZeroDivisionError:\n            raise",
    ),
    Fault(
        "a busy database loses what is written",
        "journal/commits.py",
        "                raise self._database.told(error) from error\n            result = await",
        "                raise self._database.told(error) from error\n            return None  # ",
    ),
    Fault(
        "a transaction that failed is not undone",
        "journal/commits.py",
        '                writer.execute("ROLLBACK")\n            raise',
        "                pass\n            raise",
    ),
    Fault(
        "a server's tool is called whatever it has become",
        "mcp/link.py",
        "        if self.pin is None or self.pin.now.tools.get(definition.name) != definition:\n",
        "        if False:\n",
    ),
    Fault(
        "a server's call is made again after a death",
        "mcp/tools.py",
        "    repeatable: bool = False\n",
        "    repeatable: bool = True\n",
    ),
    Fault(
        "a subagent that is heard of late takes time back",
        "turn/record.py",
        "self._origin -= max(0.0, elapsed - self.elapsed)",
        "self._origin -= elapsed - self.elapsed",
    ),
    Fault(
        "a turn that failed on the disk is given up",
        "engine/local.py",
        "        if await self._more(id, drive) or self._untold(session, told) or _interrupted(session):",
        "        if await self._more(id, drive) or self._untold(session, told):",
    ),
]
