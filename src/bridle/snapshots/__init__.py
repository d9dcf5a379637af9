"""The state of a project's files, kept beside the project and brought back."""
