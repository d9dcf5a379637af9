"""A home with a server, and its sessions through a runtime in this process and through a client."""

import asyncio
import shutil
from contextlib import asynccontextmanager

import pytest
from support.served_home import new_home

from bridle.client import connect
from bridle.runtime import Runtime

SECONDS = 120


@pytest.fixture(scope="module")
def shared():
    """A home with one server, for stories that use sessions of their own."""
    home = new_home()
    home.serve()
    yield home
    home.end()
    shutil.rmtree(home.folder, ignore_errors=True)


@pytest.fixture
def served():
    """A home whose servers a story starts and ends."""
    home = new_home()
    yield home
    home.end()
    shutil.rmtree(home.folder, ignore_errors=True)


def in_this_process(home):
    return Runtime.open(home.project, environment=home.home.environment)


def over_http(home):
    return connect(home.servers[0].url, token=home.token)


@pytest.fixture(params=[in_this_process, over_http], ids=["runtime", "client"])
def told(request, shared):
    """Tell a story with the sessions and the project of a home."""

    @asynccontextmanager
    async def opened():
        async with request.param(shared) as backend:
            yield backend

    def tell(story):
        async def play():
            async with asyncio.timeout(SECONDS), opened() as backend:
                return await story(backend, shared)

        return asyncio.run(play())

    return tell
