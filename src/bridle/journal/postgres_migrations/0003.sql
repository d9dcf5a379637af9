-- The rights of the clients of a server, under the digests of their secrets.
CREATE TABLE bridle.access_grant (
    digest text COLLATE "C" PRIMARY KEY,
    name text NOT NULL,
    place text NOT NULL,
    body bytea NOT NULL
);
-- The open turns that a server drives, for its next start.
CREATE TABLE bridle.served_turn (
    session text COLLATE "C" PRIMARY KEY,
    turn integer NOT NULL,
    place text NOT NULL,
    at double precision NOT NULL
);
UPDATE bridle.version SET number = 3;
