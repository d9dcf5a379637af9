"""A tool in Python that a project brings, and a person who is asked about it on a terminal."""

import os
import pty
import subprocess
import time
from collections.abc import Sequence

from support.cli_home import BRIDLE, Home
from support.readable import readable

WEIGH = '''
def weigh(horse: str, load: int = 0) -> str:
    """Weigh a horse.

    Args:
        horse: its name
    """
    return f"{horse} weighs {500 + load} kg"
'''


def on_terminal(home: Home, words: Sequence[str], *typed: tuple[str, str]) -> str:
    """Run on a real terminal and type lines as they are asked for; everything that was shown."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [BRIDLE, *words], cwd=home.project, env=home.environment, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    shown, waiting, end = "", list(typed), time.monotonic() + 60
    while (time.monotonic() < end and process.poll() is None) or readable(ours, 0.2):
        if readable(ours, 0.1):
            try:
                shown += os.read(ours, 4096).decode()
            except OSError:
                break
        if waiting and shown.rstrip(" ").endswith(":") and waiting[0][0] in shown:
            os.write(ours, waiting.pop(0)[1].encode())
    process.wait(60)
    os.close(ours)
    return shown
