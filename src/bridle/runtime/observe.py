"""Begins the telemetry of a runtime if it is configured; without that nothing of it is imported."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from bridle.config.collector_addresses import CollectorAddresses, collector_addresses
from bridle.config.settings import TelemetrySettings
from bridle.engine.bus import Bus
from bridle.errors import ConfigError
from bridle.journal.journal import Journal

if TYPE_CHECKING:
    from bridle.telemetry.exporter import Exporter
    from bridle.telemetry.spans import FinishedSpan
    from bridle.telemetry.telemetry import Telemetry

LOG = logging.getLogger(__name__)
TURNS = "bridle.turns"
"""The logger of turns: endings at INFO, steps and calls at DEBUG, refusals and failures at WARNING."""
INSTALL = "install it with: pip install 'bridle[telemetry]'"


class Observation:
    """The observers of a runtime's turns: telemetry, Python's log, or none."""

    def __init__(self, settings: TelemetrySettings, environment: Mapping[str, str], bus: Bus, journal: Journal) -> None:
        self._exporter = _exporter(settings, collector_addresses(settings, environment))
        self.request_headers = self._headers if self._exporter is not None else None
        self._caller = environment.get("TRACEPARENT", "")
        self._telemetry: Telemetry | None = None
        sends: list[Callable[[FinishedSpan], None]] = [self._exporter.send] if self._exporter is not None else []
        logs = logging.getLogger(TURNS).isEnabledFor(logging.INFO)
        if sends or logs:
            from bridle.telemetry.telemetry import Telemetry, log_span

            sends += [log_span] if logs else []
            self._telemetry = Telemetry(bus, journal, sends, content=settings.content)

    def _headers(self, session: str, request: str) -> Mapping[str, str]:
        """Return the headers that make a request part of its turn's trace."""
        place = self._telemetry.traceparent(session, request) if self._telemetry is not None else ""
        return {"traceparent": place} if place else {}

    def placed(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """Return the metadata of a prompt with the program that has started this process, unless they name a caller."""
        return {"traceparent": self._caller, **metadata} if self._caller and self._exporter else dict(metadata)

    async def close(self) -> None:
        """Hand over what is recorded. It is sent in batches, and the last one when the process ends."""
        if self._telemetry is not None:
            await self._telemetry.close()


def _exporter(settings: TelemetrySettings, addresses: CollectorAddresses | None) -> Exporter | None:
    if addresses is None:
        return None
    try:
        from bridle.telemetry.exporter import exporter
    except ImportError as error:
        if settings.endpoint:
            raise ConfigError(f"telemetry.endpoint needs OpenTelemetry's SDK ({error}): {INSTALL}") from error
        LOG.warning("OpenTelemetry's variables are set, but its SDK is missing (%s): %s", error, INSTALL)
        return None
    return exporter(addresses)
