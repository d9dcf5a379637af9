"""A server with TLS, another name and a page of another origin: what its options allow, and nothing besides."""

import ssl

import httpx2
from support.certificates import certificate_in
from support.served_home import PATIENCE

APP, OTHER = "https://app.example", "https://other.example"


def secure_client(served, server, certificate, **headers):
    """Return a client that trusts the certificate alone."""
    return httpx2.Client(
        base_url=f"https://localhost:{server.port}",
        verify=ssl.create_default_context(cafile=str(certificate)),
        headers={"Authorization": f"Bearer {served.token}", **headers},
        timeout=PATIENCE,
    )


def test_a_server_with_tls_answers_its_names_and_the_pages_that_may_use_it(served):
    certificate = certificate_in(served.folder)
    tls = ("--tls-cert", str(certificate), "--tls-key", str(certificate))
    server = served.serve(*tls, "--allow-host", "bridle.example", "--cors-origin", APP)
    assert server.url == f"https://127.0.0.1:{server.port}"
    with secure_client(served, server, certificate) as client:
        answer = client.get("/bridle/sessions")
        assert (answer.status_code, "max-age" in answer.headers["strict-transport-security"]) == (200, True)
        for name, status in (("bridle.example", 200), ("bridle.example:443", 200), ("evil.example", 403)):
            assert client.get("/bridle/sessions", headers={"Host": name}).status_code == status
        mine, theirs = ({"Origin": origin, "Access-Control-Request-Method": "POST"} for origin in (APP, OTHER))
        assert client.get("/bridle/sessions", headers=mine).headers["access-control-allow-origin"] == APP
        refused = client.get("/bridle/sessions", headers=theirs)
        assert (refused.status_code, "access-control-allow-origin" in refused.headers) == (403, False)
        code = client.post("/bridle/logins").json()["code"]
        cookie = client.post("/bridle/logins/exchange", json={"code": code}).headers["set-cookie"]
        assert "Secure" in cookie and "HttpOnly" in cookie and "SameSite=strict" in cookie
    # A browser asks beforehand, and without a token.
    with secure_client(served, server, certificate, Authorization="") as client:
        asked = client.options("/bridle/sessions", headers=mine)
        assert (asked.status_code, asked.headers["access-control-allow-origin"]) == (200, APP)
        assert "POST" in asked.headers["access-control-allow-methods"]
        assert "authorization" in asked.headers["access-control-allow-headers"].lower()
        assert asked.headers["vary"] == "Origin"
        assert client.options("/bridle/sessions", headers=theirs).status_code == 403
        assert client.get("/bridle/sessions", headers=mine).status_code == 401
    # Requests to this machine go through no proxy.
    given = {"BRIDLE_TOKEN": served.token, "HTTPS_PROXY": "http://127.0.0.1:9"}
    for variables, status in (({"SSL_CERT_FILE": str(certificate)}, 0), ({}, 1)):
        done = served.home.run("sessions", "--attach", f"https://localhost:{server.port}", **given, **variables)
        assert done.returncode == status, done.stderr
