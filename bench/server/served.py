"""A `bridle serve` process in a home of its own, and what it has used."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

BRIDLE = Path(sys.executable).with_name("bridle")
SETTINGS = "[server]\nstreams = 100000\nconnections = 20000\nrequests_per_second = 100000.0\n"
LONGEST_SECONDS = 300.0


class Served:
    """A server with a token; `close` ends it."""

    def __init__(self, folder: Path, *words: str, settings: str = "") -> None:
        self.folder = folder
        self.project = folder / "project"
        self.project.mkdir(parents=True)
        file = folder / ".config" / "bridle" / "config.toml"
        file.parent.mkdir(parents=True)
        file.write_text(SETTINGS + settings)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("BRIDLE_", "XDG_"))}
        self.environment = {**kept, "HOME": str(folder), "PYTHONUNBUFFERED": "1", "BRIDLE_SANDBOX__MODE": "off"}
        self.token = self._said("serve", "token", "new", "bench")
        self.process = subprocess.Popen(
            [BRIDLE, "serve", "--port", "0", *words],
            cwd=self.project,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        if "http" not in line:
            raise SystemExit(f"the server did not start: {line}{self.process.stderr.read()}")
        self.url = line.split()[-1]
        self.port = int(self.url.rpartition(":")[2])

    def _said(self, *words: str) -> str:
        done = subprocess.run(
            [BRIDLE, *words], cwd=self.project, env=self.environment, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def script(self, *replies: object, then: object) -> str:
        """Return a model that says this."""
        path = self.folder / "script.json"
        path.write_text(json.dumps({"replies": list(replies), "then": then}))
        return f"scripted:{path}"

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """Return the answer to a request as JSON."""
        raw = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}{path}", raw, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=LONGEST_SECONDS) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            raise SystemExit(f"{method} {path}: {error.code} {error.read().decode()}") from error

    @property
    def cpu_seconds(self) -> float:
        """The CPU that all threads of the server have used, by the scheduler's count."""
        threads = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(each.read_text().split()[0]) for each in threads) / 1e9

    @property
    def megabytes(self) -> float:
        """Its resident memory."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024

    def close(self) -> None:
        """Stop the server."""
        self.process.terminate()
        self.process.communicate(timeout=LONGEST_SECONDS)
