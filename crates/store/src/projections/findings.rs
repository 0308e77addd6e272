use crate::column::{ItemColumn, JsonColumn, MomentColumn, NO_ITEM};
use crate::projections::project::ProjectionChange;
use wf_core::machine::{Attempt, CheckVerdict, StaleFile};

/// The findings of checks and of the user.
impl ProjectionChange<'_> {
    pub(crate) fn apply_verdict(
        &self,
        attempt: Option<&Attempt>,
        verdict: &CheckVerdict,
    ) -> rusqlite::Result<()> {
        if let Some(attempt) = attempt.filter(|attempt| attempt.attempt == 0 && !verdict.passed()) {
            // The cached result is not trusted, so none of it belongs to this run.
            self.execute(
                "DELETE FROM artifacts WHERE run = ?1 AND step = ?2 AND item = ?3 AND attempt = 0",
                (self.run, attempt.place.step.as_str(), ItemColumn(attempt.place.item)),
            )?;
        }
        self.execute(
            "INSERT INTO checks (run, run_seq, step, item, attempt, at, verdict)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            (
                self.run,
                self.n,
                attempt.map(|attempt| attempt.place.step.as_str()),
                attempt.and_then(|attempt| attempt.place.item),
                attempt.map(|attempt| attempt.attempt),
                MomentColumn(self.at),
                JsonColumn(verdict),
            ),
        )
    }

    /// Marks a task as stale, and the repeated step that it is an item of.
    pub(crate) fn mark_stale(&self, StaleFile { place, path }: &StaleFile) -> rusqlite::Result<()> {
        let (step, item) = (place.step.as_str(), ItemColumn(place.item));
        self.execute(
            "UPDATE steps SET standing = 'reported', stale = iif(item = ?3, ?4, stale)
             WHERE run = ?1 AND step = ?2 AND item IN (?3, ?5) AND standing IN ('verified', 'plausible')",
            (self.run, step, item, path, NO_ITEM),
        )
    }

    /// Applies a question to the user.
    pub(crate) fn apply_question(&self, ask: &wf_core::machine::ApprovalRequest) -> rusqlite::Result<()> {
        self.count_open_questions(1)?;
        match &ask.place {
            Some(place) => self.step_waits(place, &ask.message),
            None => Ok(()),
        }
    }

    /// Counts the open questions to the user.
    pub(crate) fn count_open_questions(&self, more: i32) -> rusqlite::Result<()> {
        let sql = "UPDATE runs SET pending_approvals = pending_approvals + ?2 WHERE key = ?1";
        self.execute(sql, (self.run, more))
    }
}
