-- Days that no limit looks at any more are removed.
CREATE INDEX spent_by_day ON spent (day);
