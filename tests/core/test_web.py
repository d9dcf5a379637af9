"""Web addresses: brought into one form, and matched by scheme, host, port and path."""

import pytest

from bridle.core.permission import Access, Rule, covers, judge
from bridle.core.web import canonical

SAME = {
    "http://localhost:18099/": (
        *("http://LOCALHOST:18099/", "HTTP://localhost:18099", "http://localhost:018099/", "http://localhost.:18099/"),
        *("http://localhost:0000018099/#part", "http://LocalHost.:18099/./", "http://localhost:18099/a/.."),
        *("http://localhost:18099/%2e", "http://localhost:18099/x/%2E%2e/", "http://\uff4cocalhost:18099/"),
    ),
    "http://127.0.0.1/secret": (
        *("http://2130706433/secret", "http://0x7f000001/secret", "http://0177.0.0.1/secret", "http://127.1/secret"),
        *("http://0x7f.1/secret", "http://127.0.1/secret", "http://017700000001/secret", "http://127.0.0.1./secret"),
        *("http://127.0.0.1:80/secret", "http://127.0.0.1:/secret", "http://0X7F.0.0.0x1/secret"),
        *(
            "http://[::ffff:127.0.0.1]/secret",
            "http://[::ffff:7f00:1]/secret",
            "http://[0:0:0:0:0:ffff:7f00:0001]/secret",
        ),
        *(
            "http://\uff11\uff12\uff17.\uff10.\uff10.\uff11/secret",
            "http://127。0。0。1/secret",
            "http://127.0.0.1/%73ecret",
            "http://127.0.0.1//../secret",
        ),
    ),
    "https://xn--mnchen-3ya.example/%C3%A4?q=%C3%B6": (
        *(
            "https://münchen.example/ä?q=ö",
            "https://MÜNCHEN.example:443/%c3%a4?q=%c3%b6",
            "https://xn--mnchen-3ya.example/ä?q=ö#x",
        ),
        "https://XN--MNCHEN-3YA.example:0443/%C3%A4?q=%C3%B6",
    ),
    "https://[::1]:8443/a%2Fb": ("https://[0:0::1]:8443/a%2fb", "https://[::0001]:08443/%61%2Fb"),
}


@pytest.mark.parametrize("url,expected", [(url, same) for same, urls in SAME.items() for url in (same, *urls)])
def test_every_spelling_of_an_address_has_one_form(url, expected):
    assert canonical(url) == expected
    assert canonical(canonical(url)) == expected


NONE = [
    *("http://a@localhost/", "http://a:b@localhost/", "http://@localhost/", "http://localhost:18099@evil.test/"),
    *("http://evil.test\\@localhost/", "http://localhost\\.evil.test/", "http:/\\localhost/", "http:\\\\localhost/"),
    *("http://local\thost/", "http://localhost/\n", " http://localhost/", "http://local host/", "http://localhost/\0"),
    *(
        "http://localhost:99999/",
        "http://localhost:-1/",
        "http://localhost:0/",
        "http://localhost:8o/",
        "http://localhost:+80/",
    ),
    *("http://256.1.1.1/", "http://1.2.3.4.5/", "http://0x100000000/", "http://1.2.3.08/", "http://4294967296/"),
    *(
        "http://[::1/",
        "http://[fe80::1%25eth0]/",
        "http://[v1.x]/",
        "http://a..b/",
        "http://.a/",
        "http://%6cocalhost/",
    ),
    *(
        "http://",
        "http:///x",
        "file:///etc/passwd",
        "ftp://x/",
        "//x/",
        "x",
        "",
        "http://?",
        "http://x.test:80:80/",
        "http://" + "a" * 300,
    ),
    *("http://loc\u00adalhost\u200b\u2060\ud800/", "javascript:alert(1)", "http://1\uff11.٣.2.1/"),
]


@pytest.mark.parametrize("url", NONE)
def test_what_is_no_plain_web_address_is_refused(url):
    with pytest.raises(ValueError):
        canonical(url)


def verdict(rules, url):
    return judge(
        [Rule("webfetch", pattern, given) for pattern, given in rules.items()], Access("webfetch", canonical(url))
    )


DENY = {"*": "allow", "http://localhost:18099/*": "deny"}


@pytest.mark.parametrize("url", [same for urls in list(SAME.items())[:1] for same in (urls[0], *urls[1])])
def test_a_deny_holds_for_every_spelling_of_the_address(url):
    assert verdict(DENY, url) == "deny"


@pytest.mark.parametrize(
    "pattern",
    [
        *("http://127.0.0.1/*", "http://127.1/*", "http://0x7f000001/*", "http://2130706433", "HTTP://127.0.0.1:80/*"),
        *("http://[::ffff:127.0.0.1]/*", "*://127.0.0.1:*/*", "http*://127.*/*", "127.0.0.1", "127.0.0.1:80/secret"),
        *("http://*/secret", "http://*/%73ecret", "*secret*", "*127.0.0.1*", "http://127.0.0.?/secre?", "*"),
    ],
)
@pytest.mark.parametrize("url", ["http://2130706433/secret", "http://0177.1:080/%73ecret"])
def test_a_pattern_is_read_in_the_same_form(pattern, url):
    assert verdict({"*": "allow", pattern: "deny"}, url) == "deny"


ALLOW = {
    "http://*.allowed.test/*": {
        "allow": ["http://a.allowed.test/", "http://A.B.allowed.test:80/x?y", "http://x.allowed.test./"],
        "ask": [
            *("http://127.0.0.1:18099/x.allowed.test/secret", "http://127.0.0.1:18099/?q=.allowed.test/"),
            *(
                "http://evil.test/.allowed.test/",
                "http://evil.test/?.allowed.test/",
                "http://evil.test/#.allowed.test/",
            ),
            *("http://evil.test:80/x.allowed.test/", "http://a.allowed.test:81/", "https://a.allowed.test/"),
            *("http://allowed.test/", "http://a.allowed.test.evil.test/", "http://evilallowed.test/"),
            *("http://evil.test?.allowed.test/", "http://evil.test//x.allowed.test/"),
        ],
    },
    "https://docs.test/guide/*": {
        "allow": ["https://docs.test/guide/", "https://docs.test/guide/a/../b", "https://DOCS.test:443/%67uide/x"],
        "ask": [
            *("https://docs.test/guide/../admin", "https://docs.test/guide/%2e%2e/admin", "https://docs.test/guided"),
            *("https://docs.test/x?/guide/", "http://docs.test/guide/x", "https://docs.test:8443/guide/x"),
            *("https://docs.test.evil.test/guide/x", "https://evil.test/docs.test/guide/x"),
        ],
    },
    "https://docs.test": {
        "allow": ["https://docs.test", "https://docs.test/", "https://docs.test/any?thing"],
        "ask": ["https://docs.test.evil.test/", "https://docs.test:8443/", "https://docs.testevil/"],
    },
    "https://docs.test*": {
        "allow": ["https://docs.test/"],
        "ask": ["https://docs.test:8443/", "https://docs.test:80/"],
    },
    "https://*/api": {"allow": ["https://any.test/api"], "ask": ["https://any.test/x/api", "https://any.test:9/api"]},
    "*docs.test*": {
        "allow": ["https://docs.test/"],
        "ask": ["https://evil.test/docs.test", "https://evil.test/?docs.test"],
    },
    "http://x.test:80*/*": {
        "allow": ["http://x.test/", "http://x.test:8080/"],
        "ask": ["http://x.test:9080/", "http://x.test:1/:80/"],
    },
    "https://a?c.test/*": {"allow": ["https://abc.test/"], "ask": ["https://a/c.test/", "https://a.test/?c.test/"]},
    "https://münchen.example/*": {"allow": ["https://xn--mnchen-3ya.example/"], "ask": ["https://munchen.example/"]},
    "https://user@docs.test/*": {"allow": [], "ask": ["https://docs.test/", "https://user.test/"]},
    "http*": {"allow": [], "ask": ["https://docs.test/"]},
}


@pytest.mark.parametrize(
    "pattern,url,expected",
    [(pattern, url, given) for pattern, cases in ALLOW.items() for given, urls in cases.items() for url in urls],
)
def test_an_allow_reaches_no_other_host_port_or_path(pattern, url, expected):
    assert verdict({"*": "ask", pattern: "allow"}, url) == expected


def test_a_text_that_is_no_address_fits_no_rule_but_one_for_everything():
    rules = [Rule("webfetch", "*", "ask"), Rule("webfetch", "http://*", "allow")]
    assert judge(rules, Access("webfetch", "nonsense"), "deny") == "ask"


def test_an_always_for_a_site_covers_that_site_alone():
    saved = Access("webfetch", "https://docs.test/a", always="https://docs.test/*")
    asked = ["https://docs.test/b", "https://docs.test:8443/b", "http://docs.test/b", "https://docs.test.evil.test/b"]
    assert [covers(saved, Access("webfetch", url)) for url in asked] == [True, False, False, False]


@pytest.mark.parametrize(
    "pattern,host,expected",
    [
        *(
            ("*.pypi.org", "files.pypi.org", "allow"),
            ("*.pypi.org", "files.pypi.org:22", "ask"),
            ("*", "x.test:22", "allow"),
        ),
        *(("pypi.*", "pypi.org", "allow"), ("pypi.*", "pypi.org:22", "ask"), ("pypi.org:*", "pypi.org:22", "allow")),
        *(
            ("pypi.org:22", "pypi.org:22", "allow"),
            ("PyPI.org.", "pypi.org", "allow"),
            ("pypi.org:22", "pypi.org", "ask"),
        ),
    ],
)
def test_a_star_in_the_name_of_a_host_stands_for_no_port(pattern, host, expected):
    assert judge([Rule("host", "*", "ask"), Rule("host", pattern, "allow")], Access("host", host)) == expected


HERE = ("localhost", "127.0.0.1", "[::1]", "0", "0.0.0.0", "[::]", "127.1", "[::ffff:127.0.0.1]", "a.localhost")


@pytest.mark.parametrize("host", HERE)
@pytest.mark.parametrize("denied", ["localhost", "127.0.0.1", "[::1]", "0.0.0.0", "[::]", "127.*"])
def test_a_deny_for_this_machine_holds_for_all_of_its_names(host, denied):
    rules = [Rule("webfetch", "*", "allow"), Rule("webfetch", f"http://{denied}:8802/*", "deny")]
    assert judge(rules, Access("webfetch", canonical(f"http://{host}:8802/x"))) == "deny"
    assert judge(rules, Access("webfetch", canonical(f"http://{host}:8803/x"))) == "allow"
    assert judge(rules, Access("webfetch", "http://10.0.0.1:8802/x")) == "allow"
