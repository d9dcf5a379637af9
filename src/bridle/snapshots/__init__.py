"""Snapshots of a project's files, stored outside the project, for undo and redo."""
