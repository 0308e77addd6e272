-- When a goal was last resumed: cycles that failed before do not count towards its next pause.
ALTER TABLE goals ADD COLUMN resumed INTEGER;
