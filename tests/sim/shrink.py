"""A world that fails, without everything that it does not need to fail: what is left says what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from bridle import Limits
from sim.check import check_plan
from sim.plan import Plan, make_plan
from sim.sweep import cutters

PLAIN: dict[str, dict[str, Any]] = {
    "twin": {"twin": False},
    "thief": {"thief": False},
    "trouble": {"trouble": None, "full_at": None, "fail_at": None},
    "power": {"power": False},
    "slow": {"slow": False},
    "disk": {"disk": "memory"},
    "wires": {"wires": (None, None)},
    "peer": {"peer": None},
    "jumps": {"jumps": ()},
    "heals": {"heals": None},
    "rules": {"permission": (), "child_permission": ()},
    "limits": {"limits": Limits()},
    "seconds": {"tool_seconds": 0.0},
    "cuts": {"cuts": []},
}


def without(plan: Plan, names: Sequence[str]) -> Plan:
    """The plan without these: twin, disk, …, `cut:2` for the third of its deaths, `wish:abt` for a person's wish."""
    cuts: list[int | None] = list(plan.cuts)
    for name in names:
        kind, _, which = name.partition(":")
        match kind:
            case "cut":
                cuts[int(which)] = None
            case "wish":
                plan = replace(plan, wishes=[wish for wish in plan.wishes if wish[1].id != which])
            case _:
                plan = replace(plan, **PLAIN[name])
    if plan.cuts:
        plan = replace(plan, cuts=[at for at in cuts if at is not None])
    return plan


def removable(plan: Plan) -> list[str]:
    """Whatever this world has and might do without."""
    found = [name for name, plain in PLAIN.items() if any(getattr(plan, key) != value for key, value in plain.items())]
    found += [f"cut:{place}" for place in range(len(plan.cuts))]
    return found + [f"wish:{item.id}" for _, item in plan.wishes[1:]]


def shrunk(fails: Callable[[Sequence[str]], str], names: Sequence[str]) -> list[str]:
    """Those names without which it still fails, in the same way."""
    kind = fails([]).partition(":")[0]
    gone: list[str] = []
    for name in names:
        if fails([*gone, name]).partition(":")[0] == kind:
            gone.append(name)
    return gone


def smallest(seed: int, *, small: bool = False, cuts: Sequence[int] | None = None) -> str:
    """The command that shows the failure of a seed with as little as possible around it."""

    def fails(names: Sequence[str]) -> str:
        plan = without(make_plan(seed, small=small), names)
        return check_plan(plan, None if cuts is None else cutters(cuts))[0]

    gone = shrunk(fails, removable(make_plan(seed, small=small)))
    command = f"scripts/simulate --seed {seed}"
    command += " --small" if small else ""
    command += f" --cut {','.join(map(str, cuts))}" if cuts else ""
    return command + (f" --without {','.join(gone)}" if gone else "")
