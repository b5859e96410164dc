-- Instants are whole nanoseconds since 1970 in UTC, NULL for none. Columns are
-- what a query looks at; everything else lies in a JSON document.

-- Turns write record and never choice; commands write choice.
CREATE TABLE sessions (
    agent  TEXT NOT NULL,
    thread TEXT NOT NULL,
    choice TEXT NOT NULL DEFAULT '{}',
    record TEXT NOT NULL DEFAULT '{}',
    PRIMARY KEY (agent, thread)
) STRICT;

-- A settled row stays, without its message, so that its key stays known.
CREATE TABLE inbox (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    key     TEXT    NOT NULL UNIQUE,
    agent   TEXT    NOT NULL,
    thread  TEXT    NOT NULL,
    at      INTEGER,
    turn    TEXT    NOT NULL DEFAULT '',
    tool    INTEGER NOT NULL DEFAULT 0,
    settled INTEGER NOT NULL DEFAULT 0,
    message TEXT    NOT NULL
) STRICT;
CREATE INDEX inbox_waiting ON inbox (seq) WHERE settled = 0;

CREATE TABLE entries (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    agent      TEXT NOT NULL,
    thread     TEXT NOT NULL,
    transcript TEXT NOT NULL,
    entry      TEXT NOT NULL
) STRICT;
CREATE INDEX entries_by_transcript ON entries (agent, thread, transcript, seq);

CREATE TABLE turns (
    id     TEXT PRIMARY KEY,
    agent  TEXT NOT NULL,
    thread TEXT NOT NULL,
    turn   TEXT NOT NULL
) STRICT;

CREATE TABLE delivery (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    agent       TEXT    NOT NULL,
    thread      TEXT    NOT NULL,
    turn        TEXT    NOT NULL,
    kind        TEXT    NOT NULL,
    part        INTEGER NOT NULL,
    state       TEXT    NOT NULL,
    platform_id TEXT    NOT NULL,
    tries       INTEGER NOT NULL,
    created     INTEGER,
    settled     INTEGER,
    error       TEXT    NOT NULL,
    post        TEXT    NOT NULL,
    UNIQUE (turn, kind, part)
) STRICT;
CREATE INDEX delivery_open ON delivery (id) WHERE state IN ('queued', 'sending', 'preview');

CREATE TABLE states (
    agent   TEXT NOT NULL,
    profile TEXT NOT NULL,
    state   TEXT NOT NULL,
    PRIMARY KEY (agent, profile)
) STRICT;
