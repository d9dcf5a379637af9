"""Makes a release into dist/release, and stops at the first failed check; it neither tags nor publishes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from release import builds, installs, sources
from release.release import HERE, Check, Fault, Release

CHECKS: dict[str, Check] = {
    "tree": sources.tree,
    "version": sources.version,
    "changelog": sources.changelog,
    "build": builds.build,
    "contents": builds.contents,
    "sbom": builds.sbom,
    "install": installs.install,
    "demo": installs.demo,
    "tests": installs.tests,
    "provenance": builds.provenance,
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/release", description=__doc__)
    parser.add_argument("checks", nargs="*", choices=[*CHECKS, []], help="these checks alone, in their order")
    parser.add_argument("--short", action="store_true", help="install only here, play the demo, leave the tests out")
    parser.add_argument("--key", type=Path, help="an SSH key that signs the provenance")
    parser.add_argument("--root", type=Path, default=HERE, help="the sources, by default this repository")
    parser.add_argument("--out", type=Path, help="the folder of the release, by default dist/release")
    return parser.parse_args()


def main() -> int:
    given = arguments()
    root = given.root.resolve()
    release = Release(root, (given.out or root / "dist" / "release").resolve(), given.short, given.key)
    for name, check in CHECKS.items():
        if name not in (given.checks or CHECKS) or (name == "tests" and given.short and not given.checks):
            continue
        try:
            print(f"{name:<11} {check(release)}", flush=True)
        except Fault as fault:
            print(f"{name:<11} FAILED: {fault}", flush=True)
            return 1
    print(f"bridle {release.version} is in {release.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
