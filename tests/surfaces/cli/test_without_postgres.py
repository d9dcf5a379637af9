"""Bridle without the extra `postgres`: what needs it says how to install it, and nothing else notices."""

import subprocess
import sys

import pytest

WITHOUT = "import sys; sys.modules |= dict.fromkeys(['psycopg', 'psycopg_pool', 'procrastinate']); "
MAIN = WITHOUT + "from bridle.surfaces.cli.main import main; main()"
SERVER = {"BRIDLE_JOURNAL__URL": "postgresql://localhost:1/none"}


@pytest.mark.parametrize(
    ("words", "environment", "needs"),
    [
        (["worker"], {}, "`bridle worker` needs an extra"),
        (["workers"], {}, "`bridle workers` needs an extra"),
        (["sessions"], SERVER, "a journal on PostgreSQL needs an extra"),
        (["sessions"], {"BRIDLE_WORKERS__DRIVE": "true"}, "workers.drive needs an extra"),
    ],
)
def test_a_missing_extra_says_how_to_install_it(home, words, environment, needs):
    done = started(home, words, environment)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"bridle: {needs}: pip install 'bridle[postgres]' ("), done.stderr


def test_everything_else_works(home):
    assert started(home, ["run", "--model", home.script("done"), "go"], {}).stdout == "done\n"
    assert len(started(home, ["sessions"], {}).stdout.splitlines()) == 1


def started(home, words, environment):
    return subprocess.run(
        [sys.executable, "-c", MAIN, *words],
        capture_output=True,
        text=True,
        cwd=home.project,
        env={**home.environment, **environment},
        check=False,
    )
