"""The current span of a program that uses OpenTelemetry, as metadata of a prompt: a run becomes part of its trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opentelemetry import trace

from bridle.values.traceparent import TracePlace, write_traceparent


def from_current_span(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata with the place of the current span, unless it names one."""
    span = trace.get_current_span().get_span_context()
    if not span.is_valid:
        return dict(metadata)
    place = TracePlace(span.trace_id, span.span_id, span.trace_flags.sampled)
    return {"traceparent": write_traceparent(place), **metadata}
