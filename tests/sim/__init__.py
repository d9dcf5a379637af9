"""Worlds from seeds. Those who died in them keep their handles, more than a process is allowed by default."""

import resource

_, _most = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (_most, _most))
