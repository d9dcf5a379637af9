"""Every target by its name."""

from fuzz.targets import (
    arguments,
    bundles,
    calls,
    edits,
    heads,
    journals,
    patches,
    servers,
    settings,
    shells,
    streams,
    terminals,
)

_MODULES = (streams, arguments, calls, heads, settings, shells, edits, patches, journals, bundles, servers, terminals)
TARGETS = {target.name: target for module in _MODULES for target in module.TARGETS}
