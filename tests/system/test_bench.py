"""The benchmarks' short forms: they run, and what can be counted without a clock holds."""

import importlib
import json
import os
import subprocess
import sys
from itertools import pairwise
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from support.paths import ROOT

from bridle import __version__


def ran(module, *words, check=True):
    """Run a module of the benchmarks to its end, as `bench/run` does."""
    command = [sys.executable, "-m", f"bench.{module}", *words]
    found = {**os.environ, "PYTHONPATH": "tests"}
    return subprocess.run(command, cwd=ROOT, env=found, capture_output=True, text=True, check=check)


def report(steps, data, *flags):
    return json.loads(ran("contenders.bridle.step", "--steps", str(steps), "--data", data, *flags).stdout)


@pytest.fixture
def bench(monkeypatch):
    """The modules of the comparison."""
    monkeypatch.syspath_prepend(ROOT)
    names = ("contender", "costs.page", "costs.growth", "costs.plots")
    return SimpleNamespace(**{name.rpartition(".")[2]: importlib.import_module(f"bench.{name}") for name in names})


def test_commands_are_compared_by_the_same_steps_of_their_best_rounds(bench):
    rounds = [[(25, 8.0), (50, 6.0), (100, 9.0)], [(25, 9.0), (50, 4.0), (100, 5.0)]]
    command = bench.contender.Contender("one", "", reports=[{"curve": curve} for curve in rounds])
    assert command.curve() == [(25, 8.0), (50, 4.0), (100, 5.0)]
    assert bench.page.until(command, 99) == 25 * 9.0 + 25 * 4.0


def test_what_grows_faster_than_the_steps_misses_the_goal_of_its_bytes(bench):
    runs = {50: bench.growth.Bytes(9, 9), 100: bench.growth.Bytes(100, 400), 1_000: bench.growth.Bytes(1_100, 40_000)}
    assert bench.growth.growth_goals(bench.growth.Growth("one", runs)) == [
        ("bytes kept for a step, of 1,000 steps to those of 100", 1.1, 1.3),
        ("bytes written for a step, of 1,000 steps to those of 100", 10.0, 1.3),
    ]


@pytest.mark.parametrize("wanted", [[50.0, 51.0, 52.0], [398.0, 399.0, 400.0, 120.0], [float(at) for at in range(20)]])
def test_labels_in_plots_stay_apart_and_inside(bench, wanted):
    places = sorted(bench.plots.spread(wanted, 64.0, 400.0))
    assert all(after - before >= bench.plots.LABEL for before, after in pairwise(places))
    assert places[0] >= 64.0 and places[-1] <= 400.0


def test_bytes_on_disk_are_few_and_grow_linearly_with_the_steps(tmp_path):
    short = report(250, tmp_path / "short", "--mode", "power")
    long = report(1_000, tmp_path / "long", "--mode", "power")
    assert long["bytes_kept"] <= 3_000_000
    assert long["bytes_kept"] <= 4.4 * short["bytes_kept"]
    if long["bytes_written"]:
        assert long["bytes_written"] <= 30_000_000
        assert long["bytes_written"] <= 4.4 * short["bytes_written"]


def test_the_comparison_prints_its_table_and_its_goals_and_draws_its_plots(tmp_path):
    few = (
        "--steps",
        "60",
        "--rounds",
        "1",
        "--without-peers",
        "--again",
        "1",
        "--command-rounds",
        "1",
        "--pieces",
        "6000",
    )
    done = ran("costs", *few, "--write", tmp_path / "page.md")
    assert f"| Bridle, SQLite, power (default) | {__version__} |" in done.stdout
    assert f"\n| bridle run | {__version__} |" in done.stdout
    assert f"\n| Bridle, SQLite (default), watched | {__version__} |" in done.stdout
    growth = done.stdout.partition("## Bytes against steps")[2]
    assert "\n| contender | kB a step | 50 steps | 60 steps |\n" in growth
    drawn = sorted((tmp_path / "benchmarks").iterdir())
    # A disk in memory is not written to: then there is nothing to draw, and no goal.
    written = [path for path in drawn if path.name == "written.svg"]
    assert done.stdout.count("(goal ") == 9 + len(written)
    told = ["cpu.svg", "kept.svg", "memory.svg", "start.svg", "stream.svg"]
    assert [path.name for path in drawn if path not in written] == told
    assert all(ElementTree.parse(path).getroot().tag.endswith("}svg") for path in drawn)


def test_the_comparison_over_http_prints_its_tables_and_its_goals(tmp_path):
    done = ran("http", "--short", "--write", tmp_path / "page.md")
    page = (tmp_path / "page.md").read_text()
    assert done.stdout == page + "\n"
    tables = page.split("\n## ")[1:4]
    assert [table.count(f"\n| Bridle, SQLite (default) | {__version__} |") for table in tables] == [1, 1, 0]
    assert f"\n| Bridle's adapter alone | {__version__} |" in tables[1]
    assert f"\n| bridle run | {__version__} |" in tables[2]
    assert page.count("(goal ") == 5


def test_bridle_passes_the_rows_of_the_comparison_of_limits(tmp_path):
    ran("limits", "--short", "--write", tmp_path / "page.md")
    table = (tmp_path / "page.md").read_text().split("\n\n")[2]
    rows = [line.split(" | ") for line in table.splitlines()[2:-1]]
    assert len(rows) == 25
    assert [row for row in rows if not row[1].startswith("**pass**: ")] == []


def test_many_sessions_on_one_journal_end_well_in_one_process_and_in_several():
    done = ran("load", "--sessions", "12", "--processes", "3", "--steps", "4")
    assert "| one process | 12 of 12 |" in done.stdout and "| 3 processes | 12 of 12 |" in done.stdout
    assert "- met: every session ends with its answer" in done.stdout


@pytest.mark.slow
def test_sessions_on_several_workers_all_end_well_though_workers_are_killed():
    few = ("--sessions", "200", "--workers", "3", "--kills", "3", "--apart", "5")
    done = ran("workers", "--short", *few, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-8_000:]
    assert "\n- met: every session ends, no call runs twice, no budget is exceeded" in done.stdout


def test_runs_of_one_agent_at_once_all_end_well_and_leave_nothing(tmp_path):
    short = ("--runs", "100", "--batches", "4", "--rounds", "1", "--without-peers")
    done = ran("library", *short, "--write", tmp_path / "page.md", check=False)
    page = (tmp_path / "page.md").read_text()
    assert done.stdout == page, done.stderr
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith(("| Bridle, ", "| pydantic-ai, "))]
    assert [(name, failed) for name, _, failed, *_ in rows] == [
        ("| Bridle, no journal", "0"),
        ("| Bridle, SQLite", "0"),
        ("| pydantic-ai, memory", "0"),
    ]
    # Nothing but the thread of the event loop, and those of the journal.
    assert (int(rows[0][7]), int(rows[1][7]) <= 4) == (1, True)
    assert "- met: failed runs: 0" in page and "- met: memory after the last batch" in page


def test_what_the_terminal_costs_is_measured():
    done = ran("terminal", "--deltas", "200", "--parts", "100", check=False)
    assert [line.startswith("| ") for line in done.stdout.splitlines()].count(True) == 7, done.stderr


def test_sessions_on_postgres_are_compared_followed_parked_and_driven_by_workers(tmp_path):
    done = ran("postgres", "--short", "--write", tmp_path / "page.md", check=False)
    page = (tmp_path / "page.md").read_text()
    assert done.stdout == page, done.stderr
    assert (
        f"\n| 10 | 4 | Bridle, PostgreSQL | {__version__} |" in page
        and f"\n| 10 | 4 | Bridle, SQLite | {__version__} |" in page
    )
    assert "\n- met: sessions that 2 workers have answered: 6 (goal 6)\n" in page
    connections = int(page.partition("| connections of 2 workers and one client, at most | ")[2].split()[0])
    # Eight of each worker; the client listens, has two readers, and makes tables.
    assert 8 <= connections <= 20
    assert page.count("(goal ") == 6


def test_the_capacity_of_a_journal_on_postgres_is_measured_by_a_model_that_holds(tmp_path):
    done = ran("postgres", "--capacity", "--short", "--write", tmp_path / "page.md")
    page = (tmp_path / "page.md").read_text()
    assert done.stdout == page
    titles = [line for line in page.splitlines() if line.startswith("## ")]
    assert titles == [
        "## Size",
        "## Operations",
        "## Steps",
        "## Vacuum",
        "## Connections",
        "## Larger than one server",
        "## What breaks first",
    ]
    off = float(page.partition("at the last one it is ")[2].partition("%")[0])
    assert off <= 10


def test_a_hundred_followers_of_a_server_each_get_every_event_once_and_both_servers_are_on_the_page(tmp_path):
    few = ("--sessions", "10", "--readers", "10", "--words", "20", "--followers", "20", "--seconds", "1")
    done = ran("server", "--rounds", "1", "--idle", "0.1", *few, "--write", tmp_path / "page.md")
    page = (tmp_path / "page.md").read_text()
    assert done.stdout == page, done.stderr
    assert "\n- met: followers with a lost, repeated or reordered event: 0 (goal 0)\n" in page
    (streamed,) = (line.split(" | ") for line in page.splitlines() if line.startswith("| 10 | 100 | "))
    assert int(streamed[3].replace(",", "")) >= 100 * 40
    assert f"\n| Bridle {__version__} | " in page and "\n| OpenCode 1.18.33 | " in page
    assert page.count("(goal ") == 6
