"""Measures `bridle serve`: alone `start`, `streams` or `followers`, or all of them for a page."""

from __future__ import annotations

import sys
from importlib import import_module

MEASURES = ("followers", "start", "streams")

if __name__ == "__main__":
    named = sys.argv[1] if len(sys.argv) > 1 else ""
    # Only the one that is called: the comparison needs OpenCode's package besides.
    if named in MEASURES:
        raise SystemExit(import_module(f"bench.server.{named}").main(sys.argv[2:]))
    raise SystemExit(import_module("bench.server.page").main(sys.argv[1:]))
