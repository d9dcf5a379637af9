"""Composition: from settings and files to what a turn works with."""
