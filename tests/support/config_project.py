"""A project of generated files, and what an untrusted one may not change."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bridle.config.agents import builtin_agents, rules
from bridle.config.load import Loaded
from bridle.config.settings import Settings
from bridle.core.agent import AgentDefinition
from bridle.core.permission import Access, judge

ENVIRONMENT = {"HOME": "/nonexistent", "PATH": "/usr/bin:/bin"}


@contextmanager
def project(files: Mapping[str, str | bytes]) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    try:
        (folder / ".git").mkdir()
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", errors="surrogatepass"))
        yield folder
    finally:
        shutil.rmtree(folder)


def harmless(found: tuple[Loaded, Mapping[str, AgentDefinition]]) -> None:
    """What an untrusted project may not have changed."""
    loaded, agents = found
    mine, plain = loaded.settings, Settings()
    for name in ("model", "providers", "mcp", "hooks", "commands", "models", "permission", "sandbox", "instructions"):
        assert getattr(mine, name) == getattr(plain, name), name
    assert mine.behavior.ceiling <= plain.behavior.ceiling
    assert set(agents) == set(builtin_agents())
    for name, agent in agents.items():
        own = builtin_agents()[name]
        assert (agent.prompt, agent.model, agent.tools, agent.offers) == (own.prompt, own.model, own.tools, own.offers)
        assert own.steps is None or (agent.steps is not None and agent.steps <= own.steps)
        for access in (Access("bash", "ls"), Access("edit", "a.py"), Access("webfetch", "http://x/")):
            before = judge(rules({}, own, sandboxed=False), access)
            after = judge(rules(mine.permission, agent, sandboxed=False), access)
            assert (before, after) != ("deny", "allow") and not (before == "ask" and after == "allow")
