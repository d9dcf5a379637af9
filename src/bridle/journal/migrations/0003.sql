-- The rights of the clients of a server, under the digests of their secrets.
CREATE TABLE access_grant (
    digest TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    place TEXT NOT NULL,
    body BLOB NOT NULL
) STRICT, WITHOUT ROWID;
-- The open turns that a server drives, for its next start.
CREATE TABLE served_turn (
    session TEXT PRIMARY KEY,
    turn INTEGER NOT NULL,
    place TEXT NOT NULL,
    at REAL NOT NULL
) STRICT, WITHOUT ROWID;
