"""A server behind names on loopback, and calls of bash that may reach it."""

import asyncio
import http.server
from collections.abc import Sequence

from bridle.core.permission import Access
from bridle.tools.tool import Output
from support.sheltered import BASH, Sheltered


class Stable(http.server.BaseHTTPRequestHandler):
    """Answers with the path and the host that it was asked for."""

    def do_GET(self) -> None:
        body = f"{self.path} for {self.headers['Host'].partition(':')[0]}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: object) -> None:
        pass


def run(
    shut_in: Sheltered,
    command: str,
    *granted: Access,
    outside: Sequence[str] = (),
    hosts: bool = False,
    private: bool = True,
) -> Output:
    """A call to which a person said yes as far as `granted` goes."""
    given = BASH.check({"command": command, "outside": list(outside)})
    invocation = shut_in.invocation()
    invocation.hosts = hosts
    invocation.permits = lambda access: access in granted or (private and access.permission == "private_network")

    async def work() -> Output:
        output = await BASH.run(given, invocation)
        await shut_in.commands.close()
        return output

    return asyncio.run(work())


def host(name: str) -> Access:
    return Access("host", name)
