"""What is fuzzed: a check that holds for any bytes, and what to begin with."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"


@dataclass(frozen=True)
class Target:
    """One boundary. `check` raises if the property does not hold; whatever else it needs, it draws from the bytes."""

    name: str
    holds: str
    """The property, in one sentence."""
    check: Callable[[bytes], None]
    seeds: tuple[bytes, ...]
    words: tuple[bytes, ...]
    """A dictionary: what means something here."""
    short: int
    """How many inputs CI tries, which is about half a second."""
    structured: bool = False
    """Whether most changes should leave it JSON, since anything else is refused at the door."""
    folder: Path = CORPUS

    @property
    def corpus(self) -> Path:
        """Where inputs are kept that have shown a defect."""
        return self.folder / self.name

    def kept(self) -> list[Path]:
        return sorted(self.corpus.iterdir()) if self.corpus.is_dir() else []
