-- The accounts at services that skills look after, by name. No secret is here, and nothing that a
-- secret follows from: they are kept beside the database, see docs/connections.md. This is no
-- projection: no run tells of it.
CREATE TABLE connections (
    name               TEXT PRIMARY KEY,
    skill              TEXT NOT NULL,
    folder             TEXT NOT NULL,
    digest             TEXT NOT NULL,
    auth               TEXT NOT NULL,
    state              TEXT NOT NULL,
    account            TEXT,
    permissions        TEXT NOT NULL,
    refs               TEXT NOT NULL,
    created            INTEGER NOT NULL,
    checked            INTEGER,
    token_expires_at   INTEGER,
    refresh_expires_at INTEGER,
    last_refresh       INTEGER,
    last_used          INTEGER,
    failure            TEXT,
    message            TEXT
) STRICT, WITHOUT ROWID;
