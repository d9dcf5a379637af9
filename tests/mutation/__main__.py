"""Make every mutant, run the tests that should notice it, and write what was found into docs/evidence/mutants.md."""

from __future__ import annotations

import argparse
import random

from mutation.check import MODULES, TABLE, all_mutants, checked, originals, reasons, table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--module", choices=list(MODULES), help="only this one; the table is not written then")
    parser.add_argument("--only", default="", help="a piece of the names of mutants; the table is not written then")
    parser.add_argument("--sample", type=int, help="so many of them, by chance; the table is not written then")
    parser.add_argument("--seed", default="0", help="another one gives another sample")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    # For a sample one is enough: if everything failed here, so would this.
    if any(noticed for _, noticed in checked(originals()[: 1 if given.sample else None], given.jobs)):
        print("tests fail without any change")
        return 1
    known = reasons()
    chosen = [
        mutant
        for mutant in all_mutants()
        if given.module in (None, mutant.module)
        and given.only in mutant.name
        and (given.only or mutant.name not in known.get(mutant.module, {}))
    ]
    if given.sample:
        chosen = random.Random(given.seed).sample(chosen, given.sample)
    survivors = []
    for mutant, noticed in checked(chosen, given.jobs):
        if not noticed:
            survivors.append(mutant)
            print(f"survives: {mutant.module}: {mutant.name}", flush=True)
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} are noticed")
    if given.module is None and not given.only and not given.sample:
        TABLE.write_text(table(survivors))
    return 1 if survivors else 0


if __name__ == "__main__":
    raise SystemExit(main())
