"""Code that several surfaces share: safe text, Markdown, limit levels."""
