-- How many questions of a run people have not answered: a projection.
ALTER TABLE runs ADD COLUMN asks INTEGER NOT NULL DEFAULT 0;

-- The uses of approvals, each once for ever: it stays when its run is forgotten.
CREATE TABLE consumed (
    nonce     TEXT NOT NULL,
    execution INTEGER NOT NULL,
    token     TEXT NOT NULL,
    run       TEXT NOT NULL,
    PRIMARY KEY (nonce, execution)
) STRICT, WITHOUT ROWID;

-- What people answered to the questions of runs, signed; whoever works on the run judges it.
CREATE TABLE answers (
    run     TEXT NOT NULL,
    number  INTEGER NOT NULL,
    key     TEXT NOT NULL,
    verdict TEXT NOT NULL,
    token   TEXT NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (run, number, key)
) STRICT, WITHOUT ROWID;
