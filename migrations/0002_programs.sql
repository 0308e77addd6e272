-- The programs that opened the state to write: a row each time that another one than the last did. It says which
-- program wrote a schema that another one does not know. It is not rebuilt from the log, and nothing decides by it.
CREATE TABLE programs (
    number  INTEGER PRIMARY KEY,
    version TEXT NOT NULL,
    since   INTEGER NOT NULL
) STRICT;

-- Which runs are older than an age is asked after each run.
CREATE INDEX runs_by_end ON runs (ended) WHERE ended IS NOT NULL AND parent IS NULL;
