"""The page: static files for browsers, which use the native API."""
