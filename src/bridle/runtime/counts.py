"""`Counts`: numbers of turns, steps, calls and tokens that a worker or a server records, for Prometheus."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from bridle.core.events import CallMoved, Entry, PartPut, RequestMoved
from bridle.core.parts import StepStart, TurnFinish, TurnStart
from bridle.core.states import Done, Failed, Replied


@dataclass(slots=True)
class Counts:
    """Counts what the turns of this process record; a listener of its runtimes."""

    numbers: Counter[str] = field(default_factory=Counter)

    def __call__(self, session: str, entry: Entry) -> None:
        for event in entry.events:
            match event:
                case PartPut(part=TurnStart()):
                    self.numbers["turns_begun"] += 1
                case PartPut(part=TurnFinish(reason=reason)):
                    self.numbers[f'turns_ended_total{{reason="{reason}"}}'] += 1
                case PartPut(part=StepStart()):
                    self.numbers["steps"] += 1
                case CallMoved(state=Done() | Failed()):
                    self.numbers["calls"] += 1
                case RequestMoved(state=Replied(usage=usage, cost=cost)):
                    self.numbers["tokens"] += usage.total
                    self.numbers["cost_millionths"] += round(cost * 1e6)

    def measured(self) -> dict[str, float]:
        """Return the counters, by the names that Prometheus shows."""
        plain = {
            "bridle_turns_begun_total": self.numbers["turns_begun"],
            "bridle_steps_total": self.numbers["steps"],
            "bridle_calls_total": self.numbers["calls"],
            "bridle_tokens_total": self.numbers["tokens"],
            "bridle_cost_dollars_total": self.numbers["cost_millionths"] / 1e6,
        }
        ended = {f"bridle_{name}": number for name, number in self.numbers.items() if name.startswith("turns_ended")}
        return {name: float(number) for name, number in {**plain, **ended}.items()}
