"""JSON encoders and decoders of what a journal stores: recorded events, inbox items, accounts and budgets."""

from __future__ import annotations

import msgspec

from bridle.core.budget import Budget
from bridle.core.events import Entry, Recorded
from bridle.core.inbox import InboxItem
from bridle.core.ledger import Account

_item: msgspec.json.Decoder[InboxItem] = msgspec.json.Decoder(InboxItem)

encode = msgspec.json.Encoder().encode
decode_events = msgspec.json.Decoder(tuple[Recorded, ...]).decode
decode_item = _item.decode
decode_account = msgspec.json.Decoder(Account).decode
decode_budget = msgspec.json.Decoder(Budget).decode


def encode_events(entry: Entry) -> bytes:
    """Encode the events of an entry; its other fields are columns."""
    return encode(entry.events)
