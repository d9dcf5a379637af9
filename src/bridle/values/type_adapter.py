"""Adapters for Python types (dataclasses, structs, pydantic models, unions, …): schema, reading and writing JSON."""

from __future__ import annotations

import dataclasses
import inspect
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from typing import Annotated, Any, NamedTuple, Protocol, Union, get_args, get_origin, get_type_hints

import msgspec

from bridle.errors import ConfigError

MOST_PROBLEMS = 5


class TypeAdapter(Protocol):
    """Reads and writes the values of one Python type. Has no state."""

    schema: Mapping[str, Any]
    """The JSON schema of the type."""

    def load(self, value: Any) -> Any:
        """Return JSON data as a value of the type; raises `msgspec.ValidationError` if it does not fit."""

    def dump(self, value: Any) -> Any:
        """Return a value of the type as JSON data."""


def adapter_for(kind: Any, name: str) -> TypeAdapter:
    """Return the adapter of a type; raises `ConfigError`, beginning with `name`, if no JSON describes the type.

    Pydantic is used for types that mention it and for unions that msgspec cannot tell apart; it is imported only then.
    """
    if inspect.isroutine(kind):
        # Pydantic would describe its parameters.
        raise ConfigError(f"{name}: {kind.__name__} is a function and no type")
    makers: tuple[Callable[[Any], TypeAdapter], ...] = (_MsgspecAdapter, _PydanticAdapter)
    if mixed := _mentions_pydantic(kind, set()):
        makers = (_PydanticAdapter, _MixedAdapter)
    problems: list[str] = []
    for make in makers:
        try:
            return make(kind)
        except Exception as error:
            # Both libraries raise several kinds of errors for types that they cannot describe.
            problems.append(str(error).partition("\n")[0])
        if _is_union(kind):
            return _UnionAdapter([adapter_for(member, name) for member in get_args(_bare(kind))])
    raise ConfigError(f"{name}: {problems[-1 if mixed else 0]}")


def to_json(value: Any) -> Any:
    """Return any value that a tool may return as JSON data; raises `TypeError` or `ValueError`."""
    return msgspec.to_builtins(value, enc_hook=_encoded)


def _encoded(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    if dump is None:
        raise TypeError(f"{type(value).__name__} is no JSON")
    return dump(mode="json")


class _MsgspecAdapter:
    def __init__(self, kind: Any) -> None:
        self._kind = kind
        self.schema: Mapping[str, Any] = inlined(msgspec.json.schema(kind))

    def load(self, value: Any) -> Any:
        # Not strict: a number given as text is accepted.
        return msgspec.convert(value, self._kind, strict=False)

    def dump(self, value: Any) -> Any:
        return msgspec.to_builtins(value)


class _PydanticAdapter:
    def __init__(self, kind: Any) -> None:
        import pydantic

        self._adapter = pydantic.TypeAdapter(kind)
        self.schema: Mapping[str, Any] = inlined(self._adapter.json_schema())

    def load(self, value: Any) -> Any:
        return _validated(lambda: self._adapter.validate_python(value))

    def dump(self, value: Any) -> Any:
        # By alias, and without computed fields: `load` has to read it again.
        return self._adapter.dump_python(value, mode="json", by_alias=True, round_trip=True)


class _MixedAdapter:
    """A type with structs and pydantic models in it: msgspec reads it, and pydantic reads the models."""

    def __init__(self, kind: Any) -> None:
        if _has_constraints_outside_models(kind, set()):
            named = getattr(kind, "__name__", kind)
            raise TypeError(f"{named} has structs of msgspec, so constraints of pydantic must stand in a model")
        self._kind = kind
        self.schema: Mapping[str, Any] = inlined(_hoisted(msgspec.json.schema(kind, schema_hook=_model_schema)))

    def load(self, value: Any) -> Any:
        return msgspec.convert(value, self._kind, strict=False, dec_hook=_load_model)

    def dump(self, value: Any) -> Any:
        return msgspec.to_builtins(value, enc_hook=_dump_model)


def _model_schema(kind: type) -> dict[str, Any]:
    return dict(_PydanticAdapter(kind).schema)


def _load_model(kind: type, value: Any) -> Any:
    return _PydanticAdapter(kind).load(value)


def _dump_model(value: Any) -> Any:
    return _PydanticAdapter(type(value)).dump(value)


def _hoisted(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema with all definitions at its top, where references look for them; raises `TypeError`."""
    definitions: dict[str, Any] = {}

    def without(inner: Any) -> Any:
        if isinstance(inner, list):
            return [without(each) for each in inner]
        if not isinstance(inner, Mapping):
            return inner
        for name, each in inner.get("$defs", {}).items():
            if definitions.setdefault(name, without(each)) != without(each):
                raise TypeError(f"two types are called {name}")
        return {key: without(each) for key, each in inner.items() if key != "$defs"}

    return {**without(schema), "$defs": definitions}


class _UnionAdapter:
    """A union whose members are told apart by trying them in order; one that knows all given keys is preferred."""

    def __init__(self, members: Sequence[TypeAdapter]) -> None:
        self._members = members
        schemas = [dict(member.schema) for member in members]
        definitions: dict[str, Any] = {}
        for schema in schemas:
            definitions |= schema.pop("$defs", {})
        self.schema: Mapping[str, Any] = {"anyOf": schemas, **({"$defs": definitions} if definitions else {})}

    def load(self, value: Any) -> Any:
        problems: list[str] = []
        fitting: list[Any] = []
        for member in self._members:
            try:
                fitting.append(found := member.load(value))
            except msgspec.ValidationError as error:
                problems.append(str(error))
            else:
                if not isinstance(value, Mapping) or value.keys() <= member.dump(found).keys():
                    return found
        if fitting:
            # Each of them ignores some of the keys.
            return fitting[0]
        raise msgspec.ValidationError("fits no type of the union: " + "; or ".join(problems))

    def dump(self, value: Any) -> Any:
        return to_json(value)


def _validated(load: Callable[[], Any]) -> Any:
    """Call a pydantic validation; raises `msgspec.ValidationError` that lists the problems."""
    import pydantic

    try:
        return load()
    except pydantic.ValidationError as error:
        found = [f"{'.'.join(map(str, each['loc'])) or 'the value'}: {each['msg']}" for each in error.errors()]
        raise msgspec.ValidationError("; ".join(found[:MOST_PROBLEMS])) from error


def inlined(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema whose top is no reference; definitions stay as long as anything refers to them."""
    found = dict(schema)
    reference = found.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/$defs/"):
        definitions = found["$defs"]
        found = {**definitions[reference.removeprefix("#/$defs/")], "$defs": definitions}
        if reference not in references(found):
            definitions = {name: each for name, each in definitions.items() if f"#/$defs/{name}" != reference}
            found["$defs"] = definitions
    if not found.get("$defs"):
        found.pop("$defs", None)
    return found


def references(schema: Any) -> Iterator[str]:
    """Yield every reference in a schema."""
    if isinstance(schema, Mapping):
        for key, value in schema.items():
            if key in ("$ref", "$dynamicRef") and isinstance(value, str):
                yield value
            yield from references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from references(value)


def _bare(kind: Any) -> Any:
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _is_union(kind: Any) -> bool:
    return get_origin(_bare(kind)) in (Union, types.UnionType)


def _mentions_pydantic(kind: Any, seen: set[int]) -> bool:
    """Return whether a type, or a type nested in it, is a pydantic model or has constraints for pydantic."""
    if "pydantic" not in sys.modules and "annotated_types" not in sys.modules:
        return False
    if id(kind) in seen:
        return False
    seen.add(id(kind))
    if hasattr(kind, "__pydantic_core_schema__") or hasattr(kind, "__get_pydantic_core_schema__"):
        return True
    if get_origin(kind) is Annotated and any(map(_is_foreign_constraint, kind.__metadata__)):
        return True
    return any(_mentions_pydantic(inner, seen) for inner in (*get_args(kind), *_fields(kind)))


def _has_constraints_outside_models(kind: Any, seen: set[int]) -> bool:
    """Return whether a type has constraints of pydantic that msgspec would ignore."""
    if id(kind) in seen:
        return False
    seen.add(id(kind))
    if hasattr(kind, "__get_pydantic_core_schema__") or hasattr(kind, "__pydantic_core_schema__"):
        return dataclasses.is_dataclass(kind)
    if get_origin(kind) is Annotated and any(map(_is_foreign_constraint, kind.__metadata__)):
        return True
    return any(_has_constraints_outside_models(inner, seen) for inner in (*get_args(kind), *_fields(kind)))


def _is_foreign_constraint(constraint: object) -> bool:
    return type(constraint).__module__.partition(".")[0] in ("pydantic", "annotated_types")


def _fields(kind: Any) -> Iterable[Any]:
    """Return the types of the fields of a class; none if they cannot be resolved."""
    described = dataclasses.is_dataclass(kind) or hasattr(kind, "__struct_fields__") or hasattr(kind, "__total__")
    if not isinstance(kind, type) or not (described or hasattr(kind, "_fields")):
        return ()
    try:
        return get_type_hints(kind, include_extras=True).values()
    except (NameError, TypeError):
        return ()


class Field(NamedTuple):
    """A parameter of a function: its name, type, default and description."""

    name: str
    kind: Any
    default: Any = msgspec.NODEFAULT
    description: str = ""


def fields_adapter(name: str, fields: Sequence[Field]) -> TypeAdapter:
    """Return the adapter of a JSON object with these fields and no others; `load` returns an object with attributes.

    Raises `ConfigError`, beginning with `name`, if no JSON describes a field.
    """
    plain = not any(_mentions_pydantic(field.kind, set()) for field in fields)
    makers = (_plain_object, _pydantic_object) if plain else (_pydantic_object, _mixed_object)
    problems: list[str] = []
    for make in makers:
        try:
            return make(fields)
        except Exception as error:
            # Both libraries raise several kinds of errors for types that they cannot describe.
            problems.append(str(error).partition("\n")[0])
    raise ConfigError(f"{name}: {problems[0 if plain else -1]}")


def _plain_object(fields: Sequence[Field]) -> TypeAdapter:
    return _MsgspecAdapter(_struct(fields))


def _mixed_object(fields: Sequence[Field]) -> TypeAdapter:
    return _MixedAdapter(_struct(fields))


def _struct(fields: Sequence[Field]) -> type[msgspec.Struct]:
    described = [(field.name, _described(field, msgspec.Meta), _default(field, msgspec.field)) for field in fields]
    return msgspec.defstruct("Arguments", described, kw_only=True, forbid_unknown_fields=True)


def _pydantic_object(fields: Sequence[Field]) -> TypeAdapter:
    import pydantic

    described = [
        (field.name, _described(field, pydantic.Field), _default(field, dataclasses.field)) for field in fields
    ]
    settings = {"__pydantic_config__": {"extra": "forbid"}}
    return _PydanticAdapter(dataclasses.make_dataclass("Arguments", described, kw_only=True, namespace=settings))


def _described(field: Field, constraint: Callable[..., Any]) -> Any:
    return Annotated[field.kind, constraint(description=field.description)] if field.description else field.kind


def _default(field: Field, make: Callable[..., Any]) -> Any:
    if field.default is msgspec.NODEFAULT:
        return make()
    if isinstance(field.default, (list, dict, set)):
        return make(default_factory=partial(copy, field.default))
    return make(default=field.default)
