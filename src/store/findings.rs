use super::column::{At, ItemColumn, Json, NO_ITEM};
use super::project::Change;
use crate::machine::{Attempt, Stale, Verdict};

/// What checks and people found.
impl Change<'_> {
    pub(super) fn judged(
        &self,
        attempt: Option<&Attempt>,
        verdict: &Verdict,
    ) -> rusqlite::Result<()> {
        if let Some(attempt) = attempt.filter(|attempt| attempt.attempt == 0 && !verdict.passed()) {
            // What the cache held is not believed, so nothing of it is this run's.
            self.execute(
                "DELETE FROM artifacts WHERE run = ?1 AND step = ?2 AND item = ?3 AND attempt = 0",
                (
                    self.run,
                    attempt.place.step.as_str(),
                    ItemColumn(attempt.place.item),
                ),
            )?;
        }
        self.execute(
            "INSERT INTO checks (run, n, step, item, attempt, at, verdict)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            (
                self.run,
                self.n,
                attempt.map(|attempt| attempt.place.step.as_str()),
                attempt.and_then(|attempt| attempt.place.item),
                attempt.map(|attempt| attempt.attempt),
                At(self.at),
                Json(verdict),
            ),
        )
    }

    /// A place is no longer what was checked, and so is the repeated step that it is an item of.
    pub(super) fn stale(&self, Stale { place, path }: &Stale) -> rusqlite::Result<()> {
        let (step, item) = (place.step.as_str(), ItemColumn(place.item));
        self.execute(
            "UPDATE steps SET standing = 'reported', stale = iif(item = ?3, ?4, stale)
             WHERE run = ?1 AND step = ?2 AND item IN (?3, ?5) AND standing = 'verified'",
            (self.run, step, item, path, NO_ITEM),
        )
    }

    /// Shows that people are asked something.
    pub(super) fn asked(&self, ask: &crate::machine::Ask) -> rusqlite::Result<()> {
        self.asks(1)?;
        match &ask.place {
            Some(place) => self.step_waits(place, &ask.message),
            None => Ok(()),
        }
    }

    /// Counts the questions that people have not answered.
    pub(super) fn asks(&self, more: i32) -> rusqlite::Result<()> {
        let sql = "UPDATE runs SET asks = asks + ?2 WHERE key = ?1";
        self.execute(sql, (self.run, more))
    }
}
