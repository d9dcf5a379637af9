"""A collector on loopback: it receives OTLP over HTTP and decodes it with the protocol's own messages."""

from __future__ import annotations

import gzip
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span


class Receiver:
    """What was sent so far. Use it as a context manager."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.metrics: dict[str, Metric] = {}
        self.logs: list[LogRecord] = []
        self.services: set[str] = set()
        self.processes: dict[str, set[str]] = {}
        """The names of the spans of each process, by the id of its instance."""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                outer._take(self.path, body)
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Receiver:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _take(self, path: str, body: bytes) -> None:
        match path:
            case "/v1/traces":
                for traced in ExportTraceServiceRequest.FromString(body).resource_spans:
                    resource = {each.key: each.value.string_value for each in traced.resource.attributes}
                    spans = [span for scope in traced.scope_spans for span in scope.spans]
                    self.services.add(resource["service.name"])
                    names = self.processes.setdefault(resource["service.instance.id"], set())
                    names |= {span.name for span in spans}
                    self.spans += spans
            case "/v1/metrics":
                for measured in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                    self.metrics |= {
                        metric.name: metric for scope in measured.scope_metrics for metric in scope.metrics
                    }
            case "/v1/logs":
                for logged in ExportLogsServiceRequest.FromString(body).resource_logs:
                    self.logs += [record for scope in logged.scope_logs for record in scope.log_records]

    def tree(self) -> dict[str, tuple[str, ...]]:
        """Return the names of the spans below each one, by its name and its trace; each span once."""
        spans = {span.span_id: span for span in self.spans}
        found: dict[str, list[str]] = {}
        for span in sorted(spans.values(), key=lambda span: (span.start_time_unix_nano, span.end_time_unix_nano)):
            above = spans.get(span.parent_span_id)
            found.setdefault(above.name if above is not None else "", []).append(span.name)
        return {name: tuple(below) for name, below in found.items()}

    def paths(self) -> list[str]:
        """Return each span once, as the names from the root of its trace down to it."""
        spans = {span.span_id: span for span in self.spans}

        def path(span: Span) -> str:
            above = spans.get(span.parent_span_id)
            return f"{path(above)} / {span.name}" if above is not None else span.name

        return sorted(map(path, spans.values()))


def attributes_of(span: Span) -> dict[str, object]:
    """Return a span's attributes as plain values."""
    found: dict[str, object] = {}
    for each in span.attributes:
        kind = each.value.WhichOneof("value")
        found[each.key] = (
            [item.string_value for item in each.value.array_value.values]
            if kind == "array_value"
            else getattr(each.value, kind or "")
        )
    return found
