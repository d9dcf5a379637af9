"""HTML report of a session on one page: timeline, cost, endings and changed files."""
