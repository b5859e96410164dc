-- What users, places and all together used, by day. Money is in billionths of a
-- US dollar; unpriced are tokens that it leaves out. Messages stand under the
-- model ''.
CREATE TABLE spent (
    kind        TEXT    NOT NULL,
    id          TEXT    NOT NULL,
    day         TEXT    NOT NULL,
    model       TEXT    NOT NULL,
    messages    INTEGER NOT NULL,
    tokens_in   INTEGER NOT NULL,
    tokens_out  INTEGER NOT NULL,
    cache_read  INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    reasoning   INTEGER NOT NULL,
    cost        INTEGER NOT NULL,
    unpriced    INTEGER NOT NULL,
    PRIMARY KEY (kind, id, day, model)
) STRICT, WITHOUT ROWID;
