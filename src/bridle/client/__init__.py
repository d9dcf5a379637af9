"""A client of a Bridle server: implements `Sessions` and `Project` over HTTP, and reconnects automatically."""

from bridle.client.client import ServerClient as ServerClient, connect as connect
