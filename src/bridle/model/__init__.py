"""Model providers: wire adapters, HTTP connections, catalog, API keys and the default model."""
