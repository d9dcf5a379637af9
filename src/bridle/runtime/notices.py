"""The notices of a runtime that a person has not seen yet."""

from __future__ import annotations

from bridle.assembly.project_access import Project
from bridle.runtime.runtime import Runtime


def news(runtime: Runtime) -> tuple[str, ...]:
    """Every notice, those about configuration files only once until the files change; call it to show them."""
    fresh = Project(runtime.directory).news(runtime.file_notices)
    return tuple(notice for notice in runtime.notices if notice in fresh or notice not in runtime.file_notices)
