CREATE TABLE session (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    epoch INTEGER NOT NULL,
    info BLOB NOT NULL
) STRICT;
-- The key is the session's number and the sequence in one integer: one tree, grown at its end.
CREATE TABLE entry (
    key INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    elapsed REAL NOT NULL,
    events BLOB NOT NULL
) STRICT;
CREATE TABLE inbox (
    number INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES session (number),
    id TEXT NOT NULL,
    item BLOB,
    UNIQUE (session, id)
) STRICT;
CREATE INDEX inbox_open ON inbox (session, number) WHERE item IS NOT NULL;
CREATE TABLE account (
    id TEXT PRIMARY KEY,
    account BLOB NOT NULL
) STRICT, WITHOUT ROWID;
