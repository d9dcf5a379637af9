"""`Exporter`: gives spans to OpenTelemetry's SDK as traces, metrics and logs, which it sends by OTLP over HTTP."""

from __future__ import annotations

import logging
import os
from functools import cache
from typing import Protocol

from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from bridle.config.collector_addresses import CollectorAddresses
from bridle.seams import at_exit
from bridle.telemetry.log_lines import log_line
from bridle.telemetry.spans import FinishedSpan

EXIT_SECONDS = 3.0
KINDS = {"request": SpanKind.CLIENT}
NANOSECONDS = 1_000_000_000
SCOPE = InstrumentationScope("bridle")
UNSET = Status(StatusCode.UNSET)
METERED = ("gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model")


class _Ends(Protocol):
    def shutdown(self) -> object: ...


class Exporter:
    """Sends in threads of the SDK, in batches; what cannot be sent is dropped and logged by the SDK."""

    def __init__(self, addresses: CollectorAddresses) -> None:
        resource = Resource.create({SERVICE_NAME: "bridle"} if "OTEL_SERVICE_NAME" not in os.environ else {})
        self._resource = resource
        self._decided: tuple[int, bool | None, bool] = (0, None, False)
        """The trace that was decided last, and how: its spans mostly come one after the other."""
        self._sampler = TracerProvider(resource=resource, shutdown_on_exit=False).sampler
        self._spans = BatchSpanProcessor(OTLPSpanExporter(addresses.traces)) if addresses.traces else None
        self._meters: MeterProvider | None = None
        if addresses.metrics:
            reader = PeriodicExportingMetricReader(OTLPMetricExporter(addresses.metrics))
            self._meters = MeterProvider([reader], resource, shutdown_on_exit=False)
            self._make_instruments(self._meters)
        self._log_batches = BatchLogRecordProcessor(OTLPLogExporter(addresses.logs)) if addresses.logs else None
        if self._log_batches is not None:
            logs = LoggerProvider(resource, shutdown_on_exit=False)
            logs.add_log_record_processor(self._log_batches)
            self._logger = logs.get_logger("bridle")

    def _make_instruments(self, meters: MeterProvider) -> None:
        meter = meters.get_meter("bridle")
        self._tokens = meter.create_histogram("gen_ai.client.token.usage", "{token}", "Tokens of a request")
        self._durations = meter.create_histogram("gen_ai.client.operation.duration", "s", "Duration of an operation")
        self._turns = meter.create_counter("bridle.turns", "{turn}", "Turns that have ended")
        self._cost = meter.create_counter("bridle.cost", "USD", "Cost of requests")

    def send(self, span: FinishedSpan) -> None:
        """Take a finished span. Returns at once."""
        sampled = self._samples(span)
        if sampled and self._spans is not None:
            self._spans.on_end(self._readable(span))
        if self._meters is not None:
            self._measure(span)
        if self._log_batches is not None:
            self._log(span, sampled=sampled)

    def close(self) -> None:
        """Send what waits, and close the connections. May be called twice."""
        ends: list[_Ends | None] = [self._spans, self._meters, self._log_batches]
        self._spans = self._meters = self._log_batches = None
        for each in ends:
            if each is not None:
                each.shutdown()

    def _samples(self, span: FinishedSpan) -> bool:
        """Decide for a whole trace: by its caller, or by the sampler of the environment."""
        if self._decided[:2] == (span.trace, span.sampled):
            return self._decided[2]
        caller = None
        if span.sampled is not None:
            flags = TraceFlags(TraceFlags.SAMPLED if span.sampled else TraceFlags.DEFAULT)
            remote = SpanContext(span.trace, span.id, is_remote=True, trace_flags=flags)
            caller = set_span_in_context(NonRecordingSpan(remote))
        decision = self._sampler.should_sample(caller, span.trace, span.name).decision
        self._decided = span.trace, span.sampled, decision is Decision.RECORD_AND_SAMPLE
        return self._decided[2]

    def _readable(self, span: FinishedSpan) -> ReadableSpan:
        events = [Event(each.name, each.attributes, round(each.at * NANOSECONDS)) for each in span.moments]
        return ReadableSpan(
            span.name,
            context=_context(span.trace, span.id),
            parent=_context(span.trace, span.parent) if span.parent else None,
            resource=self._resource,
            attributes=span.attributes,
            events=events,
            kind=KINDS.get(span.kind, SpanKind.INTERNAL),
            status=Status(StatusCode.ERROR, span.error) if span.error else UNSET,
            start_time=round(span.start * NANOSECONDS),
            end_time=round(span.end * NANOSECONDS),
            instrumentation_scope=SCOPE,
        )

    def _measure(self, span: FinishedSpan) -> None:
        if span.kind == "step":
            return
        found = span.attributes
        labels = {key: found[key] for key in METERED if key in found}
        if span.error:
            labels["error.type"] = span.error
        match span.kind:
            case "call":
                labels["gen_ai.tool.name"] = found["gen_ai.tool.name"]
            case "agent":
                labels["gen_ai.agent.name"] = found["gen_ai.agent.name"]
                self._turns.add(1, {**labels, "bridle.reason": found["bridle.reason"]})
            case "request" if span.usage is not None:
                usage = span.usage
                sides = {"input": usage.input + usage.cache_read + usage.cache_write}
                sides["output"] = usage.output + usage.reasoning
                for side, tokens in sides.items():
                    self._tokens.record(tokens, {**labels, "gen_ai.token.type": side})
                self._cost.add(span.cost, labels)
        self._durations.record(span.end - span.start, labels)

    def _log(self, span: FinishedSpan, *, sampled: bool) -> None:
        line = log_line(span)
        self._logger.emit(
            LogRecord(
                timestamp=round(span.end * NANOSECONDS),
                trace_id=span.trace,
                span_id=span.id,
                trace_flags=TraceFlags(int(sampled)),
                severity_number=SEVERITIES[line.level],
                body=line.text,
            )
        )


SEVERITIES = {10: SeverityNumber.DEBUG, 20: SeverityNumber.INFO, 30: SeverityNumber.WARN}


def _context(trace: int, span: int) -> SpanContext:
    return SpanContext(trace, span, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))


@cache
def exporter(addresses: CollectorAddresses) -> Exporter:
    """Return the exporter of this process: all runtimes that send to the same addresses share one."""
    # Each failed try is a warning there; what counts is that a batch was given up, which is an error.
    logging.getLogger("opentelemetry.exporter").setLevel(logging.ERROR)
    made = Exporter(addresses)
    # A collector that is away keeps no process from ending.
    at_exit(made.close, EXIT_SECONDS)
    return made
