//! A check with a view: the workspace is compared before it and after it, and the check made again if disturbed.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde_json::Value;

use wf_core::machine::{CHANGES_LIMIT, CheckVerdict, ForeignChanges, ProductChanges};
use wf_model::{Check, CheckProbe, Expectation, JsonObject, expr::Template};

use super::{ViewedWorktree, WorkspaceSnapshot, WorkspaceView, first_paths, remedy};
use crate::{processes::environment::KnownValues, work::check::CheckEnvironment, work_error::WorkError};

/// Reads the commit, its folders, and whether its files are there. Without git there is nothing a check could have
/// asked; a partial clone may lack files, so of that only the commit and its top folder are read.
const SCRIPT: &str = r"
command -v git >/dev/null || exit 0
export GIT_NO_LAZY_FETCH=1
if git config --get-regexp '^(extensions\.partialclone|remote\..*\.promisor)$' >/dev/null 2>&1; then
  exec git cat-file -e 'HEAD^{tree}'
fi
exec git rev-list --objects --no-walk --quiet HEAD
";

impl WorkspaceView {
    /// Inspects a view on a blocking thread.
    pub async fn apart<T: Send + 'static>(
        view: &Arc<Self>,
        look: fn(&Self) -> Result<T, WorkError>,
    ) -> Result<T, WorkError> {
        let view = Arc::clone(view);
        blocking(move || look(&view)).await
    }
}

async fn blocking<T: Send + 'static>(
    look: impl FnOnce() -> Result<T, WorkError> + Send + 'static,
) -> Result<T, WorkError> {
    let lost = |_| Err(WorkError::environmental("cannot scan the workspace"));
    let looked = tokio::task::spawn_blocking(look).await;
    looked.unwrap_or_else(lost)
}

/// The minimum number of runs of a check whose files somebody changes meanwhile.
const MIN_RUNS: usize = 3;

/// The minimum time spent on such a check: people and their tools change files in bursts.
const MIN_TIME: Duration = Duration::from_secs(5);

/// The least that a run counts: one that ends at once is not repeated for ever.
const RUN_FLOOR: Duration = Duration::from_millis(50);

/// The runs of a check that were in vain, since somebody changed files meanwhile.
#[derive(Clone, Copy, Debug, Default)]
pub struct CheckPatience {
    runs: usize,
    time: Duration,
}

impl CheckPatience {
    /// True after a run in vain.
    pub fn is_disturbed(self) -> bool {
        self.runs > 0
    }

    /// Counts a run in vain. Returns true if the check is to be run again.
    pub fn bears(&mut self, duration: Duration) -> bool {
        self.runs += 1;
        self.time += duration.max(RUN_FLOOR);
        self.runs < MIN_RUNS || self.time < MIN_TIME
    }
}

/// A check seeing the workspace through a view.
#[derive(Clone, Debug)]
pub struct ViewedCheck {
    pub(super) workspace_view: Arc<WorkspaceView>,
    pub(super) check: Arc<Check>,
    /// The globs of the products of the checked work.
    products: Arc<[String]>,
    /// The worktree it sees; `None`: the workspace.
    pub(super) worktree: Option<Arc<ViewedWorktree>>,
}

impl ViewedCheck {
    /// Prepares a check of a result. Its words are rendered with the values that are not results of
    /// work: those of the parameters and of the item.
    pub fn new(
        view: Arc<WorkspaceView>,
        products: Arc<[String]>,
        check: &Check,
        params: &JsonObject,
        item: Option<&Value>,
    ) -> Self {
        let scope = KnownValues { params: Some(params), item };
        let mut check = check.clone();
        if let Some(CheckProbe::Exec(words)) = &mut check.probe {
            let words_so_far = words.iter().filter_map(|word| word.render(&scope).ok());
            *words = words_so_far.map(|word| Template::literal(&word)).collect();
        }
        Self { workspace_view: view, check: Arc::new(check), products, worktree: None }
    }

    /// Lets the check see a worktree.
    #[must_use]
    pub fn in_worktree(self, worktree: Option<Arc<ViewedWorktree>>) -> Self {
        Self { worktree, ..self }
    }

    /// Inspects the workspace on a blocking thread. Returns its state, if a sandbox can hide parts
    /// of it, and the ground on which the check sees only what it may.
    pub async fn inspect_workspace(
        &self,
        environment: &CheckEnvironment,
        is_disturbed: bool,
    ) -> Result<(Option<WorkspaceSnapshot>, CheckEnvironment), WorkError> {
        if self.workspace_view.is_open || environment.sandboxes.is_none() {
            let look = |at: &Self| at.workspace_view.inspect_unconfined(&at.check, &at.products);
            self.apart(look).await?;
            return Ok((None, environment.clone()));
        }
        let sight = self.apart(move |at| {
            let around = at.workspace_view.inspect(&at.check, &at.products, is_disturbed)?;
            match &at.worktree {
                None => Ok(around),
                Some(worktree) => worktree.inspect(&at.workspace_view, &at.check, &at.products, around),
            }
        });
        let sight = sight.await?;
        let whiteouts = sight.hidden.iter().chain(&sight.caches).cloned().collect();
        let copies =
            environment.copies.iter().chain(&sight.copies).chain(&sight.originals).cloned().collect();
        let sandboxes = environment.sandboxes.as_ref();
        let sandboxes = sandboxes.map(|around| Arc::new(around.with_git_folders(sight.git_folders.clone())));
        let ground = CheckEnvironment { sandboxes, whiteouts, copies, ..environment.clone() };
        Ok((Some(sight), ground))
    }

    /// Adds to a verdict the view of the check: the changed products, the hidden files, and the kept ones. `made` tells
    /// the products of the checked work; `None`: all of the run.
    pub fn describe(
        &self,
        verdict: CheckVerdict,
        snapshot: Option<&WorkspaceSnapshot>,
        made: Option<&dyn Fn(&Path) -> bool>,
    ) -> CheckVerdict {
        let is_unbounded = self.workspace_view.shows_little(&self.check);
        let Some(sight) = snapshot else {
            return CheckVerdict { is_unbounded, ..verdict };
        };
        let changed: Vec<&PathBuf> =
            sight.products.iter().filter(|path| made.is_none_or(|made| made(path))).collect();
        let shown = |paths: &[&PathBuf]| paths.iter().map(|path| path.display().to_string()).collect();
        let changes = ProductChanges {
            count: changed.len().try_into().unwrap_or(u64::MAX),
            first: shown(changed.get(..CHANGES_LIMIT).unwrap_or(&changed)),
        };
        let foreign =
            ForeignChanges { restored: first_paths(&sight.restored), current: first_paths(&sight.foreign) };
        let given_paths: Vec<&PathBuf> = sight.given_paths.iter().take(CHANGES_LIMIT).collect();
        let has_moved = || !sight.git_folders.is_empty() && self.workspace_view.originals.has_git_moved();
        let writers = &self.workspace_view.writers;
        let remark =
            if verdict.passed() { String::new() } else { remedy::remark(sight, writers, has_moved()) };
        CheckVerdict {
            changes: Some(changes),
            changed_inputs: shown(&given_paths),
            foreign_changes: (foreign != ForeignChanges::default()).then(|| Box::new(foreign)),
            is_unbounded,
            found: verdict.found + &remark,
            ..verdict
        }
    }

    /// Fails if the check may have seen other changes meanwhile.
    pub async fn recheck(&self, before: Option<&WorkspaceSnapshot>) -> Result<(), WorkError> {
        let Some(before) = before.cloned() else {
            return Ok(());
        };
        let again = move |looking: &Self| {
            let Self { workspace_view: view, check, products, worktree } = looking;
            view.recheck(&before, check, products)?;
            match worktree {
                None => Ok(()),
                Some(worktree) => worktree.recheck(view, &before, check, products),
            }
        };
        self.apart(again).await
    }

    /// Returns the question whether git can read the commit with which the run began, where that is in doubt: a command
    /// finding nothing since git failed looks like one that found nothing.
    pub fn git_check(&self) -> Option<Check> {
        let is_in_doubt = self.worktree.is_none() && self.workspace_view.originals.may_have_lost_commits();
        let words = ["sh", "-c", SCRIPT].map(Template::literal);
        is_in_doubt.then(|| Check {
            probe: Some(CheckProbe::Exec(words.into())),
            expect: Expectation { exit_code: Some(0), ..Expectation::default() },
            env: Vec::new(),
            cwd: None,
            classify: Vec::new(),
            before: None,
            judge: None,
            ..Check::clone(&self.check)
        })
    }

    async fn apart<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Self) -> Result<T, WorkError> + Send + 'static,
    ) -> Result<T, WorkError> {
        let looking = self.clone();
        blocking(move || look(&looking)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how often a check is run whose runs, each of a duration, are all in vain; at most 200 times.
    fn runs(duration: Duration) -> usize {
        let mut patience = CheckPatience::default();
        1 + (0..200).take_while(|_| patience.bears(duration)).count()
    }

    #[test]
    fn a_check_is_run_again_until_both_its_runs_and_its_time_are_spent() {
        assert_eq!(runs(Duration::from_millis(100)), 50);
        assert_eq!(runs(Duration::from_mins(1)), 3);
        assert_eq!(runs(Duration::ZERO), 100);
        let mut patience = CheckPatience::default();
        assert!(!patience.is_disturbed() && patience.bears(Duration::ZERO) && patience.is_disturbed());
    }
}
