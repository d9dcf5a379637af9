"""The directories of a server: what lies outside does not exist for its clients, however it is named."""

import asyncio

import pytest

from bridle.errors import NoSuchSession
from bridle.runtime import Runtime
from bridle.surfaces.server.directories import Directories
from bridle.surfaces.server.problems import RequestRefused


@pytest.fixture
def places(tmp_path):
    for name in ("served/below", "other", "served/.git/hooks", "served/.vscode", "served/below/.Claude"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "served" / "way_out").symlink_to(tmp_path / "other")
    (tmp_path / "served" / "way_in").symlink_to(tmp_path / "served" / "below")
    (tmp_path / "served" / "file").write_text("")
    return tmp_path


def directories(places, runtimes):
    async def open_backend(path):
        if path not in runtimes:
            runtimes[path] = Runtime.open(path, environment={"HOME": str(places)})
        return runtimes[path]

    return Directories([places / "served"], open_backend)


def test_a_directory_is_a_served_one_or_below_with_all_links_followed(places):
    found = directories(places, {})
    served = places / "served"
    assert found.resolve() == found.resolve(str(served)) == served
    assert found.resolve(str(served / "below")) == found.resolve(str(served / "way_in")) == served / "below"
    outside = ["other", "served/way_out", "served/../other", "served/file", "served/missing", "served2", ""]
    # As projects of their own, they would not be protected.
    protected = ["served/.git", "served/.git/hooks", "served/.vscode", "served/below/.Claude"]
    for name in (*outside, *protected):
        with pytest.raises(RequestRefused) as refused:
            found.resolve(str(places / name))
        assert refused.value.status == 403
    for strange in ("served", ".", "~", "\0", "/" + "a" * 5_000):
        with pytest.raises(RequestRefused):
            found.resolve(strange)


def test_sessions_of_other_directories_are_neither_listed_nor_found(places):
    async def story():
        runtimes = {}
        found = directories(places, runtimes)
        served, below = await found.backend(), await found.backend(str(places / "served" / "below"))
        outside = Runtime.open(places / "other", environment={"HOME": str(places)})
        for runtime, id in ((served, "a"), (below, "b"), (outside, "c")):
            await runtime.create(id)
        assert {row.info.id for row in await found.rows()} == {"a", "b"}
        assert (await found.of_session("a")) is served
        assert (await found.of_session("b")) is below
        for unknown in ("c", "d"):
            with pytest.raises(NoSuchSession):
                await found.of_session(unknown)
        for runtime in (*runtimes.values(), outside):
            await runtime.close()

    asyncio.run(story())
