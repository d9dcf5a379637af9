"""Asserts in tests/support tell as much as those in tests, and parts of the suite can be left out."""

import pytest

pytest.register_assert_rewrite("support")


def pytest_addoption(parser):
    parser.addoption("--only-slow-in", action="append", default=[], metavar="PATH", help="leave out its quick tests")
    parser.addoption("--share", default="1/1", metavar="N/OF", help="run one share of the tests: share N of OF")


def pytest_collection_modifyitems(config, items):
    quick = [config.rootpath / path for path in config.getoption("--only-slow-in")]
    wanted = [
        item
        for item in items
        if item.get_closest_marker("slow") or not any(item.path.is_relative_to(path) for path in quick)
    ]
    number, of = map(int, config.getoption("--share").split("/"))
    wanted = wanted[number - 1 :: of]
    chosen = set(wanted)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = wanted
