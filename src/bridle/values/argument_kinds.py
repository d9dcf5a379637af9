"""Compares arguments of a program with their annotations: a `ConfigError` names the argument that has another type."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, partial, reduce, wraps
from operator import or_
from reprlib import Repr
from typing import Annotated, Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from typing_extensions import is_typeddict

from bridle.errors import ConfigError

SHOWN = Repr()
SHOWN.maxstring = SHOWN.maxother = 60
WORDS = {str: "text", int: "a whole number", float: "a number", bool: "True or False", type(None): "None"}
Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")
Class = TypeVar("Class")
Kinds = Mapping[str, Any]
"""Annotations by the names of the arguments."""
LISTS = (Iterable, Collection, Sequence, list, tuple, set, frozenset)
TEXTS = (str, bytes, bytearray, memoryview)


def checked(
    kinds: Callable[[], Kinds], *, where: str = "", but: Collection[str] = ()
) -> Callable[[Callable[Parameters, Returned]], Callable[Parameters, Returned]]:
    """Decorate a function: its arguments are compared with these annotations before it is called.

    Errors begin with `where`, which may contain arguments in braces, or with the name of the function. The function
    checks the arguments `but` itself.
    """

    def decorate(function: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
        signature = inspect.signature(function)

        @wraps(function)
        def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Returned:
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError:
                # The call itself raises the error that names the function.
                return function(*args, **kwargs)
            given = {name: value for name, value in bound.arguments.items() if name not in but}
            known = kinds()
            if not all(fits(known[name], value) for name, value in given.items() if name in known):
                bound.apply_defaults()
                check_arguments((where or function.__name__).format_map(bound.arguments), known, given)
            return function(*args, **kwargs)

        return call

    return decorate


def checked_methods(protocol: type, *, but: Collection[str]) -> Callable[[type[Class]], type[Class]]:
    """Decorate a class: the methods of its protocol compare their arguments with the protocol's annotations."""

    def decorate(made: type[Class]) -> type[Class]:
        for name in _methods(protocol):
            kinds = partial(hints_of, getattr(protocol, name))
            setattr(made, name, checked(kinds, but=but)(getattr(made, name)))
        return made

    return decorate


def check_arguments(where: str, kinds: Kinds, given: Mapping[str, object]) -> None:
    """Raise `ConfigError` for the first argument that does not fit its annotation; those without one fit."""
    for name, value in given.items():
        if name in kinds:
            check_argument(f"{where}: {name}", kinds[name], value)


def check_argument(name: str, kind: Any, value: object) -> None:
    """Raise `ConfigError` if a value does not fit an annotation; the elements of a list are named by their place."""
    if fits(kind, value):
        return
    kind = _given(kind)
    element = _element(kind)
    if element is not None and isinstance(value, Iterable) and _is_list(value):
        for place, each in enumerate(value):
            check_argument(f"{name}[{place}]", element, each)
    if (pair := _pair(kind)) is not None and isinstance(value, Mapping) and all(fits(pair[0], key) for key in value):
        for key, each in value.items():
            check_argument(f"{name}: {key}", pair[1], each)
    raise ConfigError(f"{name} must be {in_words(kind)}, not {shown(value)}")


@cache
def hints_of(described: Any, **names: Any) -> Kinds:
    """Return the annotations of a class or function; `names` are those that it imports for type checkers only."""
    return get_type_hints(described, localns=names)


def shown(value: object) -> str:
    """Return a value as a short text for an error."""
    return SHOWN.repr(value)


def fits(kind: Any, value: object) -> bool:
    """Return whether a value fits an annotation, as far as that can be told without using it up."""
    origin = get_origin(kind)
    if origin is Annotated:
        return fits(get_args(kind)[0], value)
    if origin in (Union, types.UnionType):
        return any(fits(each, value) for each in get_args(kind))
    if origin is Literal:
        return any(value == each and type(value) is type(each) for each in get_args(kind))
    if origin is type:
        return isinstance(value, type) or get_origin(value) is not None
    if origin is Callable or kind is Callable:
        return callable(value)
    if (pair := _pair(kind)) is not None:
        given = value.items() if isinstance(value, Mapping) else [(None, None)]
        return all(fits(pair[0], key) and fits(pair[1], each) for key, each in given)
    if _element(kind) is not None:
        return _is_list(value) and _fit_elements(_element(kind), value)
    return _fits_class(origin or kind, value)


def _fit_elements(kind: Any, values: Any) -> bool:
    # An iterator can be read once only, and that is for the function that gets it.
    return iter(values) is values or all(fits(kind, each) for each in values)


def _fits_class(kind: Any, value: object) -> bool:
    if kind is None:
        return value is None
    if not isinstance(kind, type) or kind is Any:
        return True
    if is_typeddict(kind):
        return isinstance(value, Mapping)
    if getattr(kind, "_is_protocol", False):
        return all(callable(getattr(value, name, None)) for name in _methods(kind))
    if kind in (int, float):
        return isinstance(value, (int, kind)) and not isinstance(value, bool)
    return isinstance(value, kind)


def _methods(protocol: type) -> list[str]:
    public = [name for name in vars(protocol) if name == "__call__" or not name.startswith("_")]
    return [name for name in public if isinstance(vars(protocol)[name], types.FunctionType)]


def _is_list(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (*TEXTS, Mapping))


def _element(kind: Any) -> Any:
    """Return the annotation of the elements of a list, sequence or other iterable; None if the kind is none."""
    elements = [each for each in get_args(kind) if each is not ...]
    return elements[0] if get_origin(kind) in LISTS and len(elements) == 1 else None


def _pair(kind: Any) -> tuple[Any, Any] | None:
    """Return the annotations of the keys and values of a mapping; None if the kind is none."""
    origin, pair = get_origin(kind), get_args(kind)
    return (pair[0], pair[1]) if isinstance(origin, type) and issubclass(origin, Mapping) else None


def _given(kind: Any) -> Any:
    """Return an annotation without None, if something else is left."""
    members = [each for each in get_args(kind) if each is not type(None)]
    return reduce(or_, members) if get_origin(kind) in (Union, types.UnionType) and members else kind


def in_words(kind: Any) -> str:
    """Return what a value has to be, as the end of a sentence."""
    origin = get_origin(kind := _given(kind))
    if origin in (Union, types.UnionType, Literal):
        members = get_args(kind)
        words = [repr(each) for each in members] if origin is Literal else [in_words(each) for each in members]
        *most, last = dict.fromkeys(words)
        return f"{', '.join(most)} or {last}" if most else last
    if origin is Callable:
        return "a function"
    if _pair(kind) is not None:
        return "a mapping with text keys"
    if _element(kind) is not None:
        return f"a list of {in_words(_element(kind))}"
    if origin is type:
        return "a type"
    named = origin or kind
    if "__call__" in getattr(named, "__dict__", ()):
        return "a function"
    return WORDS.get(named) or str(getattr(named, "__name__", named))


def takes(function: Callable[..., Any], count: int) -> bool:
    """Return whether a function can be called with this many arguments by position; True if it does not tell."""
    try:
        inspect.signature(function).bind(*[None] * count)
    except TypeError:
        return False
    except ValueError:
        # A function of an extension module.
        return True
    return True
