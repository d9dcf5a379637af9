"""Rights of clients, and the place and time at which a grant is valid."""

import pytest

from bridle.core.access import Grant, digest_of, may

FOREVER = Grant(digest=digest_of("secret"), name="laptop", kind="token", right="drive", place="here", created=10.0)
BRIEF = Grant(
    digest=digest_of("code"), name="laptop", kind="code", right="view", place="here", created=10.0, expires=20
)


@pytest.mark.parametrize(
    ("grant", "place", "now", "valid"),
    [
        pytest.param(FOREVER, "here", 1e12, True, id="a token has no end"),
        pytest.param(FOREVER, "there", 10.0, False, id="another place"),
        pytest.param(BRIEF, "here", 19.9, True, id="before the end"),
        pytest.param(BRIEF, "here", 20.0, False, id="at the end"),
        pytest.param(BRIEF, "there", 19.9, False, id="another place before the end"),
    ],
)
def test_a_grant_is_valid_at_its_place_until_its_end(grant, place, now, valid):
    assert grant.holds(place, now) == valid


@pytest.mark.parametrize(
    ("right", "needed", "allowed"),
    [("view", "view", True), ("view", "drive", False), ("drive", "view", True), ("drive", "drive", True)],
)
def test_who_drives_may_also_view(right, needed, allowed):
    assert may(right, needed) == allowed


def test_digests_tell_secrets_apart_also_those_that_are_no_text():
    assert len({digest_of(secret) for secret in ("", "a", "A", "\udcff")}) == 4
