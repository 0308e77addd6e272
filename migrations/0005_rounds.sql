-- How many criteria held, if a run was accepted with less than all: a projection.
ALTER TABLE runs ADD COLUMN accepted TEXT;
