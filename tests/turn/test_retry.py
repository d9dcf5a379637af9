"""Failures that pass are waited out, within bounds; others end the turn."""

import asyncio

import pytest
from support.stories import tell

from bridle import Limits, Reply, ScriptedModel
from bridle.core.messages import UserMessage
from bridle.core.parts import Request
from bridle.core.retry import GiveUp, RetryAfter, RetryPolicy, asked_delay, next_try, retryable
from bridle.testing.scripted import ScriptedError

NOW = 1_700_000_000.0

DELAYS = [
    ({"retry-after-ms": "1500"}, 1.5),
    ({"Retry-After": "2"}, 2.0),
    ({"retry-after": "0.25"}, 0.25),
    ({"retry-after-ms": "700", "retry-after": "9"}, 0.7),
    ({"retry-after": "Tue, 14 Nov 2023 22:13:30 GMT"}, 10.0),
    ({"retry-after": "Tue, 14 Nov 2023 22:13:10 GMT"}, 0.0),
    ({"retry-after": "-5"}, 0.0),
    ({"retry-after": "soon"}, None),
    ({"retry-after": "nan"}, None),
    ({"retry-after": "inf"}, None),
    ({}, None),
]


@pytest.mark.parametrize(("headers", "seconds"), DELAYS, ids=str)
def test_the_delay_that_a_provider_asks_for(headers, seconds):
    assert asked_delay(headers, NOW) == seconds


def ask(failures=1, waited=0.0, chance=0.5, **headers):
    return next_try(
        RetryPolicy(),
        failures=failures,
        waited=waited,
        headers={name.replace("_", "-"): value for name, value in headers.items()},
        now=NOW,
        chance=chance,
    )


def test_delays_double_with_jitter_and_have_a_floor_and_a_ceiling():
    assert [ask(n) for n in (1, 2, 3, 4, 5)] == [
        RetryAfter(1.5),
        RetryAfter(2.5),
        RetryAfter(4.5),
        RetryAfter(8.5),
        RetryAfter(16.5),
    ]
    assert ask(retry_after="0") == RetryAfter(0.5)
    policy = RetryPolicy(retries=20)
    assert next_try(policy, failures=12, waited=0, headers={}, now=NOW, chance=0.9) == RetryAfter(60.0)


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (ask(6), "gave up after 5 retries"),
        (ask(1, retry_after="3600"), "asked to wait 3600 s, longer than retry.longest_wait (120 s)"),
        (ask(2, waited=599.0), "gave up after 600 s of retries"),
    ],
    ids=["count", "asked too much", "time"],
)
def test_patience_ends(verdict, words):
    assert verdict == GiveUp(words)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529])
def test_these_are_asked_again(status):
    assert retryable(status, marked=None)
    assert not retryable(status, marked=False)


@pytest.mark.parametrize("status", [None, 400, 401, 403, 404, 409, 413, 422, 501])
def test_these_are_not(status):
    assert not retryable(status, marked=None)
    assert retryable(status, marked=True)


def failing(status=503, **more):
    return Reply(error=ScriptedError("busy", status=status, **more))


def test_a_request_that_fails_twice_is_one_step():
    story = tell(ScriptedModel([failing(), failing(), "there"]))
    assert (story.result.reason, story.result.steps, len(story.model.requests)) == ("answered", 1, 3)
    assert 3.0 < story.result.seconds < 6.0


def test_six_failures_end_the_turn_and_say_why():
    story = tell(ScriptedModel([], then=failing()))
    assert (story.result.reason, len(story.model.requests)) == ("error", 6)
    assert story.result.detail == "busy (gave up after 5 retries)"


def test_a_wait_that_is_too_long_ends_the_turn_at_once():
    story = tell(ScriptedModel([failing(429, headers={"retry-after": "3600"})]))
    assert (story.result.reason, story.result.seconds < 1) == ("error", True)
    assert "asked to wait 3600 s" in story.result.detail


def test_a_model_that_hangs_is_given_up_on_after_its_deadline_and_asked_again():
    story = tell(ScriptedModel([Reply(hang=True), "late but there"]))
    assert (story.result.reason, story.result.text) == ("answered", "late but there")
    assert 120 <= story.result.seconds < 185


def test_a_stream_that_stalls_is_given_up_on():
    story = tell(ScriptedModel([Reply(text="ab", chunk=1, pace=500.0), "there"]))
    assert (story.result.reason, story.result.text) == ("answered", "there")
    assert story.result.seconds < 250


def test_every_failed_try_is_recorded_before_the_wait():
    seen = []

    async def people(runtime, session, prompt):
        await asyncio.sleep(0.3)
        seen.append(await runtime.status(session))

    tell(ScriptedModel([failing(), "there"]), people=people)
    (status,) = seen
    assert (status.state, status.attempt, status.message) == ("retry", 1, "busy")
    assert 1.0 <= status.next <= 2.1


def test_a_closing_request_that_fails_leaves_the_text_to_bridle():
    story = tell(ScriptedModel([failing(404)]), steps=1)
    assert (story.result.reason, story.sentinels) == ("step_cap", ["Step limit reached (1/1)"])
    assert story.result.text.startswith("Step limit reached (1/1).")
    assert [request.state.error.split(" (")[0] for request in story.parts(Request)] == ["busy"]


def test_the_closing_step_has_its_share_of_the_time_once_however_often_it_is_asked():
    late = Reply(delay=19.0, error=ScriptedError("busy", status=503))
    story = tell(ScriptedModel([late], then=Reply(hang=True)), steps=1, limits=Limits(seconds=20.0))
    assert (story.result.reason, round(story.result.seconds, 2)) == ("step_cap", 20.0)


def test_a_reply_that_time_has_cut_is_followed_by_words_of_the_user_when_the_time_is_extended():
    async def extend(runtime, session, id):
        await runtime.seams.sleep(5.0)
        await runtime.extend(session, "seconds", 100.0)

    slow = Reply(text="Word by word it comes. " * 9, chunk=1, pace=0.5)
    story = tell(ScriptedModel([slow, "done"]), limits=Limits(seconds=20.0), people=extend)
    assert (story.result.reason, story.result.text) == ("answered", "done")
    assert [type(request.messages[-1]) for request in story.model.requests] == [UserMessage] * 2
