//! The runs, and what each of them has: steps, attempts, verdicts, artifacts, texts, nested runs.

use serde_json::Value;

use crate::{
    column::{ItemColumn, JsonColumn},
    db::reader::StoreReader,
    error::StoreError,
    lease::run_lease,
    views::{
        rows,
        view::{ArtifactRow, AttemptRow, CheckRow, RunFilter, RunOwner, RunRow, RunState, StepRow},
    },
};
use wf_base::{
    digest::Sha256Digest,
    name::{PlanId, RunId, SessionName},
};
use wf_core::{
    machine::{Attempt, Standing},
    undo::UndoRun,
};

/// A text of a run: its path, its digest, and the content stored under that.
type SourceTextRow = (String, [u8; 32], Option<String>);

impl StoreReader {
    /// Returns the latest runs, newest first.
    pub fn runs(&self, limit: usize, filter: &RunFilter) -> Result<Vec<RunRow>, StoreError> {
        self.fold_all()?;
        let (any_state, outcome) = match filter.state {
            None => (true, None),
            Some(RunState::Running) => (false, None),
            Some(RunState::Ended(outcome)) => (false, Some(outcome.as_str())),
        };
        let sql = format!(
            "SELECT {} FROM runs
             WHERE (?1 OR outcome IS ?2) AND (?3 IS NULL OR plan = ?3) AND (?4 OR parent IS NULL)
                 AND (?5 IS NULL OR session = ?5)
             ORDER BY key DESC LIMIT ?6",
            rows::RUN
        );
        let plan = filter.plan.as_ref().map(PlanId::as_str);
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let session = filter.session.as_ref().map(SessionName::as_str);
        let values = (any_state, outcome, plan, filter.nested, session, limit);
        let mut run_rows: Vec<RunRow> = self.all(&sql, values, rows::run)?;
        if self.follow_log(&mut run_rows)? {
            run_rows.retain(|row| filter.state.is_none_or(|state| row.state == state));
        }
        run_rows.into_iter().map(|row| self.with_idle(row)).collect()
    }

    /// Replaces rows whose end is not the one the log has. Returns true if there were any.
    fn follow_log(&self, run_rows: &mut [RunRow]) -> Result<bool, StoreError> {
        let mut log = None;
        for row in run_rows.iter_mut().filter(|_| self.projections.is_none()) {
            let (state, standing) =
                self.logged_end(&row.id)?.unwrap_or((RunState::Running, Standing::default()));
            if (row.state, row.standing) != (state, standing) {
                let reader = match log.take() {
                    Some(reader) => reader,
                    None => Self::from_log(self.folder().path())?,
                };
                match log.insert(reader).run(&row.id) {
                    Ok(logged) => *row = logged,
                    // Retention removed it meanwhile.
                    Err(StoreError::UnknownRun(_)) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(log.is_some())
    }

    pub fn run(&self, run: &RunId) -> Result<RunRow, StoreError> {
        self.fold(run)?;
        let sql = format!("SELECT {} FROM runs WHERE id = ?1", rows::RUN);
        let row = self.query_one(&sql, [run.as_str()], rows::run)?;
        self.with_idle(row.ok_or_else(|| StoreError::UnknownRun(run.clone()))?)
    }

    /// Returns the configuration a run was recorded with.
    pub fn config(&self, run: &RunId) -> Result<Value, StoreError> {
        self.fold(run)?;
        let sql = "SELECT config FROM runs WHERE id = ?1";
        self.query_one(sql, [run.as_str()], |row| row.get::<_, JsonColumn<_>>(0))?
            .map(|config| config.0)
            .ok_or_else(|| StoreError::UnknownRun(run.clone()))
    }

    /// Returns the process working on a run, or did last; `None` once it released the run.
    pub fn owner(&self, run: &RunId) -> Result<Option<RunOwner>, StoreError> {
        let newest = run_lease::newest(self.connection(), run);
        let newest = newest.map_err(|error| self.failed(&error))?;
        let held = newest.filter(|lease| lease.released.is_none());
        Ok(held.map(|lease| RunOwner { pid: lease.pid, alive: !lease.may_be_taken }))
    }

    /// Returns the steps of a run with any event, in the order of their first events.
    pub fn steps(&self, run: &RunId) -> Result<Vec<StepRow>, StoreError> {
        self.fold(run)?;
        self.all(rows::STEPS, [run.as_str()], rows::step)
    }

    /// Returns the attempts of a run, in the order of their starts.
    pub fn attempts(&self, run: &RunId) -> Result<Vec<AttemptRow>, StoreError> {
        self.fold(run)?;
        self.all(rows::ATTEMPTS, [run.as_str()], rows::attempt)
    }

    /// Returns an attempt of a run; `None` if it has none of that number.
    pub fn attempt(&self, run: &RunId, attempt: &Attempt) -> Result<Option<AttemptRow>, StoreError> {
        self.fold(run)?;
        let values =
            (run.as_str(), attempt.task_id.step.as_str(), ItemColumn(attempt.task_id.item), attempt.attempt);
        self.query_one(rows::ATTEMPT, values, rows::attempt)
    }

    /// Returns the verdicts of a run, in order.
    pub fn checks(&self, run: &RunId) -> Result<Vec<CheckRow>, StoreError> {
        self.fold(run)?;
        self.all(rows::CHECKS, [run.as_str()], rows::check)
    }

    /// Returns the artifacts of a run's attempts.
    pub fn artifacts(&self, run: &RunId) -> Result<Vec<ArtifactRow>, StoreError> {
        self.fold(run)?;
        self.all(rows::ARTIFACTS, [run.as_str()], rows::artifact)
    }

    /// Returns the runs nested in a run, with the attempt each is nested in.
    pub fn children(&self, run: &RunId) -> Result<Vec<(RunId, String)>, StoreError> {
        self.fold(run)?;
        self.all(
            "SELECT id, parent_attempt FROM runs WHERE parent = ?1 ORDER BY key",
            [run.as_str()],
            |row| Ok((RunId::from_stored(row.get::<_, String>(0)?), row.get(1)?)),
        )
    }

    /// Returns the runs that retry a run, in the order of their starts.
    pub fn repeats(&self, run: &RunId) -> Result<Vec<RunId>, StoreError> {
        self.ids("SELECT id FROM runs WHERE retry_of = ?1 ORDER BY key", [run.as_str()])
    }

    /// Returns the runs undoing a run, in the order of their starts.
    pub fn undos(&self, run: &RunId) -> Result<Vec<UndoRun>, StoreError> {
        let runs =
            self.ids("SELECT id FROM runs WHERE config ->> '$.undo_of' = ?1 ORDER BY key", [run.as_str()])?;
        let row = |run: RunId| {
            let outcome = match self.run(&run)?.state {
                RunState::Running => None,
                RunState::Ended(outcome) => Some(outcome),
            };
            Ok(UndoRun { run, outcome })
        };
        runs.into_iter().map(row).collect()
    }

    /// Returns the run of the same plan recorded before a run, nested if that is; `None` if it is the first.
    pub fn run_before(&self, run: &RunId) -> Result<Option<RunId>, StoreError> {
        let sql = "SELECT earlier.id FROM runs JOIN runs AS earlier
                ON earlier.plan = runs.plan AND earlier.key < runs.key
                    AND (earlier.parent IS NULL) = (runs.parent IS NULL)
             WHERE runs.id = ?1 ORDER BY earlier.key DESC LIMIT 1";
        Ok(self.ids(sql, [run.as_str()])?.into_iter().next())
    }

    /// Returns the texts of a run: path and content, its own spec first. A missing text, or one
    /// that does not match its digest in the log, is an error.
    pub fn sources(&self, run: &RunId) -> Result<Vec<(String, String)>, StoreError> {
        self.fold(run)?;
        let rows: Vec<SourceTextRow> = self.all(
            "SELECT path, run_sources.text, source_texts.text FROM run_sources
             LEFT JOIN source_texts ON digest = run_sources.text
             WHERE run = (SELECT key FROM runs WHERE id = ?1) AND position >= 0 ORDER BY position",
            [run.as_str()],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )?;
        let texts = rows.into_iter().map(|(path, digest, text)| match text {
            Some(text) if *Sha256Digest::of_bytes(text.as_bytes()).bytes() == digest => Ok((path, text)),
            Some(_) => Err(self.tampered_text(run, &path, "differs from the log")),
            None => Err(self.tampered_text(run, &path, "is missing")),
        });
        texts.collect()
    }

    /// Returns a text of any run by its digest; `None` also if it was altered.
    pub fn text(&self, digest: &Sha256Digest) -> Result<Option<String>, StoreError> {
        let sql = "SELECT text FROM source_texts WHERE digest = ?1";
        let found: Vec<String> = self.all(sql, [digest.bytes().as_slice()], |row| row.get(0))?;
        let text = found.into_iter().next();
        Ok(text.filter(|text| Sha256Digest::of_bytes(text.as_bytes()) == *digest))
    }

    fn tampered_text(&self, run: &RunId, path: &str, how: &str) -> StoreError {
        StoreError::Tampered {
            path: self.folder().database(),
            what: format!("text `{path}` recorded for run {} {how}", run.short()),
        }
    }
}
