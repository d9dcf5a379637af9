"""OpenTelemetry: spans, metrics and logs, made from recorded entries. Imported only where it is configured."""
