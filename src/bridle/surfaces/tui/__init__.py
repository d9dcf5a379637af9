"""The terminal application (Textual): one widget per kind of part, limits always visible."""
