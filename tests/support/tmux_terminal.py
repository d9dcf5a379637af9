"""A real terminal: keys are typed in tmux, and the screen is read back."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Sequence

from support.cli_home import Home


class Terminal:
    """A person with a keyboard and a screen."""

    def __init__(self, home: Home, words: Sequence[str], columns: int = 100, lines: int = 30) -> None:
        self.name = f"bridle-{os.getpid()}-{time.monotonic_ns()}"
        self.tmux = [shutil.which("tmux") or "tmux", "-L", self.name]
        environment = {**home.environment, "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        command = [*self.tmux, "-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(lines), *words]
        subprocess.run(command, cwd=home.project, env=environment, check=True)

    def press(self, *keys: str) -> None:
        subprocess.run([*self.tmux, "send-keys", *keys], check=True)

    def say(self, words: str) -> None:
        """Type a line and send it."""
        subprocess.run([*self.tmux, "send-keys", "-l", words], check=True)
        self.press("Enter")

    def read(self, *options: str) -> str:
        words = [*self.tmux, "capture-pane", "-p", *options]
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout

    def colors(self) -> set[tuple[str, ...]]:
        """The codes of all colors on the screen, as ("31",) or ("38", "2", …)."""
        shown = self.read("-e")
        found: set[tuple[str, ...]] = set()
        for codes in re.findall(r"\x1b\[([0-9;]*)m", shown):
            numbers = codes.split(";")
            while numbers:
                size = {"2": 5, "5": 3}.get(numbers[1], 1) if numbers[0] in ("38", "48") and len(numbers) > 1 else 1
                code, numbers = tuple(numbers[:size]), numbers[size:]
                found |= {code} if re.fullmatch(r"[34][0-8]|9[0-7]|10[0-7]", code[0]) else set()
        return found

    def title(self) -> str:
        words = [*self.tmux, "display-message", "-p", "#{pane_title}"]
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()

    def until(self, *words: str, gone: str = "", seconds: float = 60.0, styled: bool = False) -> str:
        """Wait until all of this is on the screen, and something else is not; with `styled`, among its style codes."""
        end = time.monotonic() + seconds
        while True:
            shown = self.read(*(["-e"] if styled else []))
            if all(word in shown for word in words) and not (gone and gone in shown):
                return shown
            assert time.monotonic() < end, (words, gone, shown)
            time.sleep(0.05)

    def until_pressed(self, key: str, word: str, seconds: float = 60.0) -> None:
        """Press a key until it shows: an ask takes none before a moment of quiet."""
        end = time.monotonic() + seconds
        while word not in self.read():
            assert time.monotonic() < end, (word, self.read())
            self.press(key)
            time.sleep(0.3)

    def gone(self, seconds: float = 60.0) -> None:
        end = time.monotonic() + seconds
        while subprocess.run([*self.tmux, "has-session"], capture_output=True, check=False).returncode == 0:
            assert time.monotonic() < end, self.read()
            time.sleep(0.05)

    def close(self) -> None:
        subprocess.run([*self.tmux, "kill-server"], capture_output=True, check=False)
