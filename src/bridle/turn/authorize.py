"""`Authority`: decides whether a step's tool calls run, are refused (rules, doom loop), or need a person's answer."""

from __future__ import annotations

from bridle.core import states
from bridle.core.ids import ask_id, question_id
from bridle.core.parts import Call
from bridle.core.permission import DOOM_LOOP, Access, Verdict, by_approvals, only_a_person_answers
from bridle.core.repair import arguments_of
from bridle.core.repetition import MALFORMED_REPLIES, UNKNOWN, Pair, repeats
from bridle.errors import ToolFailed
from bridle.turn.active_turn import ActiveTurn, Ready
from bridle.turn.shell_prompt import is_command_of_person
from bridle.workspace.files import Files


class Authority:
    """Judges the calls of one step in order: earlier calls of the step count for later ones."""

    def __init__(self, active: ActiveTurn) -> None:
        self._active = active
        # Malformed calls of one reply are reported together, so the reply counts once.
        unread = all(active.session.call(id).invalid for id in active.turn.batch)
        self._malformed = active.turn.repetition.malformed + 1 if unread else 0
        self._batch: list[Pair] = []
        for id, state in active.turn.batch.items():
            if isinstance(state, (states.Done, states.Failed)):
                self._batch.append((active.session.call(id).digest, state.digest))
            elif isinstance(state, (states.Queued, states.Waiting)):
                self._batch.append((active.session.call(id).digest, UNKNOWN))

    def judge(self, ids: tuple[str, ...]) -> dict[str, states.CallState]:
        """Return the next state of each call: running, asking or refused."""
        return {id: self._judge(self._active.session.call(id)) for id in ids}

    def _judge(self, call: Call) -> states.CallState:
        state = call.state
        again = isinstance(state, (states.Repeat, states.Queued))
        doomed = self._doomed(call) if not again and not isinstance(state, states.Approved) else None
        if doomed is not None:
            return doomed
        if call.invalid:
            return _refused("invalid", call.invalid)
        # Approved or not, the current rules apply: they may have changed since.
        verdict = self.permitted(call, self._active.turn.granted.get(call.id, ()))
        if not again:
            self._batch.append((call.digest, UNKNOWN))
        return verdict

    def _doomed(self, call: Call) -> states.CallState | None:
        turn = self._active.turn
        if call.invalid:
            if self._malformed < MALFORMED_REPLIES or call.name in turn.doom_allowed:
                return None
            self._malformed = 0
        elif call.name in turn.doom_allowed or not repeats(turn.repetition, self._batch, call.digest):
            return None
        doom = Access(DOOM_LOOP, call.name)
        verdict = self._active.setup.permissions.judge(doom)
        if verdict == "allow":
            return None
        why = f"{call.name} was called again and again with the same arguments and nothing new came of it"
        if call.invalid:
            why = f"the calls of {MALFORMED_REPLIES} replies in a row could not be understood"
        if verdict == "ask" and turn.start.on_ask in ("person", "pause"):
            return self._asking(call, f"Doom loop? {why}. Run it all the same?", (doom,))
        return _refused("doom_loop", f"not executed: {why}")

    def permitted(self, call: Call, granted: tuple[Access, ...]) -> states.CallState:
        """Return the state of a call by the rules and the grants of a person."""
        active = self._active
        tool = active.setup.toolset.tools.get(call.name)
        if tool is None:
            return _refused("invalid", f"{call.name} is not there any more")
        try:
            arguments = tool.check(arguments_of(call.given))
            needed = tool.accesses(arguments, active.setup.commands.directory)
        except Exception as error:
            # A tool is foreign code and arguments come from a model: a call that cannot be judged is not run.
            return _refused("invalid", f"{call.name} cannot be run with these arguments: {error}")
        asked: list[Access] = []
        # Old approvals did not record their accesses: they were for all that the call needs. That was before hooks
        # could change arguments, which need an approval of their own.
        approved = isinstance(call.state, states.Approved) and call.state.permission != DOOM_LOOP
        old = approved and not call.changed and not granted
        typed = is_command_of_person(active.session, call)
        for access in needed:
            verdict = self._verdict(access, typed=typed)
            if verdict == "deny":
                return _refused("denied", f"not executed: the rules deny {access.permission} for {access.pattern}")
            if typed and verdict == "ask" and only_a_person_answers(access):
                return _refused("denied", f"not executed: {access.pattern} is protected from commands")
            if verdict == "ask" and access not in granted and not old and not typed:
                asked.append(access)
        active.ready[call.id] = Ready(arguments, frozenset(needed))
        if not asked:
            question = tool.asks(arguments, question_id(call.id))
            return states.Asking(question) if question is not None else states.Running()
        match active.turn.start.on_ask:
            case "allow" if not any(map(only_a_person_answers, asked)):
                return states.Running()
            case "allow" | "deny":
                asked.sort(key=only_a_person_answers, reverse=True)
                text = f"not executed: {asked[0].permission} needs a person's permission, and no person can be asked"
                return _refused("unasked", text)
            case "person" | "pause":
                wanted = "; ".join(f"{access.permission}: {access.pattern}" for access in asked)
                files = Files(active.setup.commands.directory, None, active.setup.commands.guarded)
                try:
                    diff = tool.shows(arguments, files, active.session.known_files)
                except ToolFailed as error:
                    # No need to ask a person about a call that cannot be run.
                    return _refused("invalid", str(error))
                again = any(given.permission == asked[0].permission for given in granted)
                return self._asking(call, f"Allow {wanted}?", tuple(asked), diff, again=again)

    def _verdict(self, access: Access, *, typed: bool) -> Verdict:
        """Return the verdict by the rules, by permanent approvals, and by what the person has chosen."""
        judged, info = self._active.setup.permissions.judge(access), self._active.session.info
        if typed or info is None:
            return judged
        chosen = by_approvals(judged, access, info.approvals)
        # An "always" answers the asks of the rules, not those that the person has chosen to get.
        return "allow" if judged == chosen == "ask" and self._active.saved(access) else chosen

    def _asking(
        self, call: Call, text: str, accesses: tuple[Access, ...], diff: str = "", *, again: bool = False
    ) -> states.Asking:
        id = ask_id(call.id, accesses[0].permission, again=again, changed=bool(call.changed))
        return states.Asking(states.Ask(id, text, accesses, detail=call.given, diff=diff))


def _refused(why: states.RefusalName, text: str) -> states.Refused:
    return states.Refused(states.Refusal(why), text)
