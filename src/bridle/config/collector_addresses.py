"""`CollectorAddresses`: where telemetry is sent, by the settings or by OpenTelemetry's own variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from bridle.config.settings import TelemetrySettings

Signal = Literal["traces", "metrics", "logs"]


class CollectorAddresses(msgspec.Struct, frozen=True):
    """The address of each signal; a signal without one is not sent."""

    traces: str = ""
    metrics: str = ""
    logs: str = ""


def collector_addresses(settings: TelemetrySettings, environment: Mapping[str, str]) -> CollectorAddresses | None:
    """Return where each signal goes; None if nothing is configured."""
    if environment.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    found = CollectorAddresses(
        _address("traces", settings, environment) if settings.traces else "",
        _address("metrics", settings, environment) if settings.metrics else "",
        _address("logs", settings, environment) if settings.logs else "",
    )
    return found if found != CollectorAddresses() else None


def _address(signal: Signal, settings: TelemetrySettings, environment: Mapping[str, str]) -> str:
    name = signal.upper()
    if environment.get(f"OTEL_{name}_EXPORTER", "otlp") != "otlp":
        return ""
    own = "" if settings.endpoint else environment.get(f"OTEL_EXPORTER_OTLP_{name}_ENDPOINT", "")
    base = settings.endpoint or environment.get("OTEL_EXPORTER_OTLP_ENDPOINT", "")
    return own or (f"{base.rstrip('/')}/v1/{signal}" if base else "")
