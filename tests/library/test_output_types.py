"""Outputs whose type is written in another way than it is read, and partial outputs that are no objects."""

import asyncio
from dataclasses import dataclass
from datetime import date
from typing import Annotated

import msgspec
import pydantic
import pytest

from bridle import Agent, ConfigError, NoOutput, Reply, ScriptedModel, call
from bridle.core.parts import OUTPUT


@dataclass
class Point:
    x: int


def test_a_streamed_list_grows_without_the_object_around_it():
    async def work():
        reply = Reply(calls=(call(OUTPUT, value=["one", "two"]),), chunk=5)
        return [each async for each in Agent(model=ScriptedModel([reply]), output=list[str]).stream("go").outputs()]

    assert asyncio.run(work()) == [[], ["one"], ["one", "two"], ["one", "two"]]


class Renamed(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")
    given_name: str = pydantic.Field(alias="givenName")

    @pydantic.computed_field
    def letters(self) -> int:
        return len(self.given_name)


class Locked(pydantic.BaseModel):
    key: pydantic.SecretStr


class Dated(pydantic.BaseModel):
    day: date

    @pydantic.field_serializer("day")
    def written(self, day: date) -> str:
        return f"{day:%A}"


@pytest.mark.parametrize(
    ("kind", "given"),
    [(Renamed, {"givenName": "Ann"}), (Locked, {"key": "open sesame"}), (Dated, {"day": "2026-11-19"})],
    ids=["alias and computed field", "secret", "serializer"],
)
def test_an_output_is_what_the_model_gave_however_its_type_is_written(kind, given):
    assert Agent(model=ScriptedModel([call(OUTPUT, **given)]), output=kind).run_sync("go").output == kind(**given)


class Child(pydantic.BaseModel):
    name: Annotated[str, pydantic.Field(min_length=2)]
    children: list["Child"] = []


class Place(msgspec.Struct):
    x: Annotated[int, msgspec.Meta(ge=0)]
    owner: Child | None = None


@dataclass
class Visit:
    place: Place
    guest: Child


class Loose(msgspec.Struct):
    owner: Child
    age: Annotated[int, pydantic.Field(gt=0)]


def test_structs_and_pydantic_models_may_stand_in_one_type_and_each_keeps_its_constraints():
    def visit(place: Place, guest: Child) -> Visit:
        return Visit(place, guest)

    ann, nested = {"name": "Ann"}, {"name": "Ann", "children": [{"name": "Bo"}]}
    tries = [({"x": -1}, ann), ({"x": 1}, {"name": "A"}), ({"x": 1, "owner": ann}, nested)]
    given = [{"place": place, "guest": guest} for place, guest in tries]
    right = Visit(Place(1, Child(name="Ann")), Child(name="Ann", children=[Child(name="Bo")]))

    asked = Agent(model=ScriptedModel([call(OUTPUT, **each) for each in given]), output=Visit).run_sync("go")
    assert (asked.output, asked.steps) == (right, 3)
    called = Agent(model=ScriptedModel([[call("visit", **each) for each in given], "done"]), tools=[visit])
    results = [message for message in called.run_sync("go").messages if hasattr(message, "failed")]
    assert [each.failed for each in results] == [True, True, False]
    assert msgspec.json.decode(results[2].text)["place"] == {"x": 1, "owner": {"name": "Ann", "children": []}}
    with pytest.raises(ConfigError, match="Loose has structs of msgspec, so constraints of pydantic must stand in a"):
        Agent(model=ScriptedModel([]), output=Loose)


def test_a_recorded_answer_that_fits_no_longer_is_an_error_of_its_own(tmp_path):
    def agent(output):
        return Agent(model=ScriptedModel([call(OUTPUT, x=1)]), output=output, journal=tmp_path / "journal.db")

    agent(Point).run_sync("go", id="one")
    with pytest.raises(NoOutput, match="the recorded answer does not fit the type of the output"):
        agent(Renamed).run_sync("go", id="one")
