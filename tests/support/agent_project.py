"""A project with files for agents, and what a model is told of them."""

from pathlib import Path

from support.cli_home import ForkedHome


def home_of_repository(folder: Path) -> ForkedHome:
    """Return a home whose project is the root of a repository."""
    project = folder / "project"
    (project / ".git").mkdir(parents=True)
    return ForkedHome(folder, project)


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def system(home: ForkedHome, *words: str, **environment: str) -> str:
    done = home.run("config", "prompt", "--model", "openai/gpt-4.1", *words, OPENAI_API_KEY="x", **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout
