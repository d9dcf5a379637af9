"""A project with files for agents, and what a model is told of them."""

from support.cli_home import ForkedHome


def home_of_repository(folder):
    """Return a home whose project is the root of a repository."""
    project = folder / "project"
    (project / ".git").mkdir(parents=True)
    return ForkedHome(folder, project)


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def system(home, *words, **environment):
    done = home.run("config", "prompt", "--model", "openai/gpt-4.1", *words, OPENAI_API_KEY="x", **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout
