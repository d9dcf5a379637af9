"""The native API against its own description: generated requests to every operation, of which none fails the server."""

import os

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings, strategies as st
from schemathesis import checks
from schemathesis.generation import GenerationMode
from support.served_home import PATIENCE, created, prompt, result

EXAMPLES = int(os.environ.get("FUZZ", "3"))
CHECKS = [checks.not_a_server_error, checks.response_schema_conformance, checks.content_type_conformance]
KNOWN = {"session": "known", "prompt": "first"}
WAITING = ("follow_session", "follow_sessions", "follow_record", "wait", "parked")


@pytest.fixture(scope="module")
def operations(shared):
    """The operations that answer at once; those that delete come last."""
    with shared.client(shared.servers[0]) as client:
        session = created(client, id="known")
        result(client, session, prompt(client, session, "Hi", shared.home.script("Hello."), id="first"))
        document = client.get("/openapi.json").json()
    found = [each.ok() for each in schemathesis.openapi.from_dict(document).get_all_operations()]
    return sorted(found, key=lambda each: each.method == "delete")


def test_no_generated_request_fails_the_server_and_answers_are_as_described(shared, operations):
    sent, problems = 0, {}
    headers = {"Authorization": f"Bearer {shared.token}"}
    with requests.Session() as session:
        for operation in operations:
            if operation.definition.raw["operationId"].startswith(WAITING):
                continue
            names = {each.name for each in operation.path_parameters}
            places = {name: value for name, value in KNOWN.items() if name in names}
            cases = [
                operation.as_strategy(mode, path_parameters=path)
                for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
                for path in ({**places, **dict.fromkeys(names - set(places), "none")}, None)
            ]

            @seed(1)
            @settings(
                max_examples=EXAMPLES,
                database=None,
                deadline=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(case=st.one_of(*cases))
            def ask(case):
                nonlocal sent
                sent += 1
                answer = case.call(base_url=shared.servers[0].url, session=session, headers=headers, timeout=PATIENCE)
                case.validate_response(answer, checks=CHECKS)

            try:
                ask()
            except Exception as error:
                problems[operation.label] = str(error)[:600]
    assert not problems, "\n\n".join(f"{label}: {text}" for label, text in problems.items())
    assert sent >= EXAMPLES * len(operations) / 2
    assert "Traceback" not in shared.log
