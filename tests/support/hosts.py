"""A server behind names on loopback, and calls of bash that may reach it."""

import asyncio
import http.server
from functools import partial

from bridle.core.permission import Access
from bridle.tools.tool import Invocation
from support.sheltered import BASH


class Stable(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = f"{self.path} for {self.headers['Host'].partition(':')[0]}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


def run(shut_in, command, *granted, outside=(), hosts=False, private=True):
    """A call to which a person said yes as far as `granted` goes."""
    given = BASH.check({"command": command, "outside": list(outside)})
    invocation = Invocation("c", "s", shut_in.project, {}, 60.0, environment=shut_in.environment, hosts=hosts)
    invocation.find_sandbox, invocation.bounds = partial(shut_in.commands.sandbox, "s"), shut_in.commands.bounds()
    invocation.permits = lambda access: access in granted or (private and access.permission == "private_network")

    async def work():
        output = await BASH.run(given, invocation)
        await shut_in.commands.close()
        return output

    return asyncio.run(work())


def host(name):
    return Access("host", name)
