"""Bridle's own HTTP API: submits inbox items, reads sessions and follows them."""
