"""Which kinds, states, fields and words of the recorded types occur in a set of journals, and which do not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from data.journals.reading import Raw
from msgspec import inspect

from bridle.core.events import Recorded, SessionInfo
from bridle.core.inbox import InboxItem
from bridle.core.ledger import Account


class Coverage:
    """Walks recorded JSON along the types, and notes each member of a union, each field and each literal."""

    def __init__(self) -> None:
        self.known: set[str] = set()
        self.seen: set[str] = set()
        self._listed: set[str] = set()

    def add(self, raws: Iterable[Raw]) -> None:
        event, item, account, info = map(inspect.type_info, (Recorded, InboxItem, Account, SessionInfo))
        for each in (event, item, account, info):
            self._list(each, "")
        for raw in raws:
            for events in (each for entries in raw.entries.values() for each in entries):
                for value in events:
                    self._walk(event, value, "")
            for value in (each for items in raw.items.values() for each in items):
                self._walk(item, value, "")
            for value in raw.accounts.values():
                self._walk(account, value, "")
            for value in raw.infos.values():
                self._walk(info, value, "")

    @property
    def missing(self) -> list[str]:
        return sorted(self.known - self.seen)

    def _list(self, kind: Any, where: str) -> None:
        """Note everything that a type can hold."""
        match kind:
            case inspect.StructType():
                name = kind.cls.__name__
                if name in self._listed:
                    return
                self._listed.add(name)
                self.known.add(name)
                for field in kind.fields:
                    self.known.add(f"{name}.{field.name}")
                    self._list(field.type, f"{name}.{field.name}")
            case inspect.LiteralType():
                self.known |= {f"{where} = {value}" for value in kind.values}
            case inspect.UnionType():
                for each in kind.types:
                    self._list(each, where)
            case inspect.VarTupleType() | inspect.ListType():
                self._list(kind.item_type, where)
            case inspect.TupleType():
                for each in kind.item_types:
                    self._list(each, where)
            case inspect.DictType():
                self._list(kind.key_type, where)
                self._list(kind.value_type, where)

    def _walk(self, kind: Any, value: Any, where: str) -> None:
        """Note what a value holds."""
        match kind:
            case inspect.StructType():
                name = kind.cls.__name__
                self.seen.add(name)
                for field in kind.fields:
                    if field.encode_name in value:
                        self.seen.add(f"{name}.{field.name}")
                        self._walk(field.type, value[field.encode_name], f"{name}.{field.name}")
                    elif isinstance(field.default, str):
                        self.seen.add(f"{name}.{field.name} = {field.default}")
            case inspect.LiteralType():
                self.seen.add(f"{where} = {value}")
            case inspect.UnionType():
                for each in kind.types:
                    if self._fits(each, value):
                        self._walk(each, value, where)
            case inspect.VarTupleType() | inspect.ListType():
                for each in value:
                    self._walk(kind.item_type, each, where)
            case inspect.TupleType():
                for inner, each in zip(kind.item_types, value, strict=True):
                    self._walk(inner, each, where)
            case inspect.DictType():
                for key, each in value.items():
                    self._walk(kind.key_type, key, where)
                    self._walk(kind.value_type, each, where)

    @staticmethod
    def _fits(kind: Any, value: Any) -> bool:
        if isinstance(kind, inspect.StructType):
            return isinstance(value, dict) and (kind.tag_field is None or value.get(kind.tag_field) == kind.tag)
        if isinstance(kind, inspect.LiteralType):
            return value in kind.values
        return value is not None


def missing_in(raws: Iterable[Raw]) -> list[str]:
    """Return everything that the recorded types can hold and these journals do not."""
    coverage = Coverage()
    coverage.add(raws)
    return coverage.missing
