"""`KnownWindows`: caches for a minute the context windows of local servers; `local_servers` asks for them."""

from __future__ import annotations

from bridle.seams import Clock, SystemClock

FRESH_SECONDS = 60.0


class KnownWindows:
    """The reported windows. Several runtimes, also in several threads, may share them."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._known: dict[tuple[str, str, str], tuple[float, int | None]] = {}

    def find(self, provider: str, address: str, model: str) -> int | None:
        """Return the window that a server reports for a model; None if it reports none."""
        key, now = (provider, address, model), self._clock.monotonic()
        asked, found = self._known.get(key, (None, None))
        if asked is None or now - asked > FRESH_SECONDS:
            # Imported on first use, because it loads network code.
            from bridle.model.local_servers import window

            found = window(provider, address, model)
            self._known[key] = now, found
        return found
