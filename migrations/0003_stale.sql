-- A file that changed after it was evidence of what was verified.
ALTER TABLE steps ADD COLUMN stale TEXT;
