//! The checks of attempts and plans: run one after the other, all of them.
//!
//! **Invariant:** a check passes only on the workspace as it was when the run began and on what is
//! declared ([`View`](view::View)), and only if nobody wrote it meanwhile.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::watch;

use crate::exec::evidence::Evidence;
use crate::exec::{Stop, Unable, check as probe, view};
use crate::machine::{Artifact, Attempt, Happening, Item, Ruling, Verdict};
use crate::mask::Mask;
use crate::model::{Check, CheckPhase, Class, Object, Step, Work};

use super::artifacts;
use super::dispatch::Report;
use super::run::Ongoing;
use super::scope::Known;
use super::steps::{step_of, written};

/// What is checked, and what its templates read.
pub(super) struct Case {
    pub(super) run: Arc<Ongoing>,
    /// The attempt; `None`: the plan as a whole.
    pub(super) attempt: Option<Attempt>,
    /// The phase of checks; `None`: all of them.
    pub(super) phase: Option<CheckPhase>,
    pub(super) item: Option<Item>,
    pub(super) reads: Object,
}

/// Runs the checks of an attempt, or the plan's own.
pub(super) async fn check(case: Case, stop: watch::Receiver<Stop>) -> Report {
    let run = &case.run;
    let mut kept = match &case.attempt {
        Some(attempt) => run.left_by(attempt)?,
        None => Vec::new(),
    };
    kept.extend(case.seen_before());
    let (verdicts, mut seen) = judge(&case, &stop, &kept).await;
    if let Some(attempt) = &case.attempt {
        if matches!(step_of(run, &attempt.place).work, Work::Uses(_)) {
            // What the plan that it uses was checked with counts on.
            let inside = run.evidence_of(&attempt.place).unwrap_or_default();
            let own = |file: &Artifact| seen.iter().any(|own| own.path == file.path);
            let more: Vec<Artifact> = inside.into_iter().filter(|file| !own(file)).collect();
            seen.extend(more);
        }
        run.note_evidence(&attempt.place, &seen);
    }
    run.session.hands.hold()?;
    Ok(Some(Happening::Judged {
        phase: case.phase.unwrap_or_default(),
        attempt: case.attempt,
        verdicts,
        seen,
    }))
}

/// Runs checks, and gives what they ruled and the files that they ruled on. `kept` is what the
/// work left, as it was put away.
pub(super) async fn judge(
    case: &Case,
    stop: &watch::Receiver<Stop>,
    kept: &[Artifact],
) -> (Vec<Verdict>, Vec<Artifact>) {
    let run = &case.run;
    let attempt = case.attempt.as_ref();
    let step = attempt.map(|attempt| written(run, &attempt.place));
    let globs = step.map_or_else(|| Ok(Vec::new()), |step| case.globs(step));
    let before = look(run, globs.clone()).await;
    let mut verdicts = case.verdicts(stop).await;
    let after = look(run, globs).await;
    let mask = run.mask().await;
    let (mut seen, mut wrong) = compare(before, after, kept);
    if let Some(telling) = seen.iter().find_map(|file| hidden_in(&file.path, &mask)) {
        let why =
            format!("the name of `{telling}` contains a secret, and names of files are recorded");
        (seen, wrong) = (Vec::new(), Some(why));
    }
    for verdict in &mut verdicts {
        if let Some(wrong) = &wrong {
            unsettle(verdict, wrong);
        }
        // Paths are words of whoever made the files.
        for text in verdict.hidden.iter_mut().chain([&mut verdict.found]) {
            if let Some(masked) = hidden_in(text, &mask) {
                *text = masked;
            }
        }
    }
    (verdicts, seen)
}

/// A text with its secrets masked, if it has some.
fn hidden_in(text: &str, mask: &Mask) -> Option<String> {
    match mask.text(text) {
        Cow::Owned(masked) => Some(masked),
        Cow::Borrowed(_) => None,
    }
}

/// What the result of a step is judged by, besides its checks.
async fn look(run: &Arc<Ongoing>, globs: Result<Vec<String>, Unable>) -> Result<Evidence, Unable> {
    let globs = globs?;
    if globs.is_empty() {
        return Ok(Evidence::default());
    }
    let run = Arc::clone(run);
    let look = move || Evidence::look(&run.session.root, &globs, &run.session.memo);
    tokio::task::spawn_blocking(look)
        .await
        .unwrap_or_else(|_| Err(Unable::environmental("the files could not be read")))
}

/// What was seen, and what is wrong with it.
fn compare(
    before: Result<Evidence, Unable>,
    after: Result<Evidence, Unable>,
    kept: &[Artifact],
) -> (Vec<Artifact>, Option<String>) {
    match (before, after) {
        (Ok(before), Ok(after)) => {
            let early = before.differs(kept);
            let early = early.map(|path| format!("{path} changed before it was checked"));
            let late = before.touched(&after);
            let late = late.map(|path| format!("{path} changed while it was checked"));
            (before.files(), early.or(late))
        }
        (Err(unable), _) | (_, Err(unable)) => (Vec::new(), Some(unable.why)),
    }
}

/// Takes back what a check found about files that were written meanwhile.
fn unsettle(verdict: &mut Verdict, why: &str) {
    verdict.ruling = Ruling::Error;
    verdict.expected = "files that nobody writes while they are checked".into();
    why.clone_into(&mut verdict.found);
    verdict.class = Some(Class::Environmental);
}

/// A check is run again while others disturb what it sees: at least so often,
const LOOKS: usize = 3;

/// and until this was spent on it, in milliseconds: others may be at work for a while.
const PATIENCE: u64 = 5_000;

impl Case {
    /// The checks of all phases.
    fn checks(&self) -> &[Check] {
        match &self.attempt {
            Some(attempt) => &written(&self.run, &attempt.place).verify,
            None => &self.run.plan.parts().verify,
        }
    }

    /// The files that an earlier phase of the same attempt was checked with: each phase rules on
    /// the same result, so they must be what they were.
    fn seen_before(&self) -> Vec<Artifact> {
        let first = CheckPhase::after(None, self.checks());
        let attempt = self.attempt.as_ref().filter(|_| self.phase != first);
        let seen = attempt.and_then(|attempt| self.run.evidence_of(&attempt.place));
        seen.unwrap_or_default()
    }

    async fn verdicts(&self, stop: &watch::Receiver<Stop>) -> Vec<Verdict> {
        let wanted = |check: &&Check| self.phase.is_none_or(|phase| check.phase == phase);
        let checks: Vec<&Check> = self.checks().iter().filter(wanted).collect();
        let ground = self.ground().await;
        let mut verdicts = Vec::with_capacity(checks.len());
        for check in checks {
            verdicts.push(self.verdict(check, &ground, stop).await);
        }
        verdicts
    }

    async fn ground(&self) -> probe::Ground {
        let session = &self.run.session;
        probe::Ground {
            hands: session.hands.clone(),
            root: session.root.clone(),
            host: Arc::clone(&session.host),
            mask: self.run.mask().await,
            clock: Arc::clone(&session.clock),
            grace: self.run.plan.parts().policy.grace,
            around: session.around.clone(),
            pins: self.run.pins.clone(),
            whiteouts: Vec::new(),
            params: self.run.params().clone(),
        }
    }

    /// Runs one check, on the workspace as it was when the run began and what is declared.
    async fn verdict(
        &self,
        check: &Check,
        ground: &probe::Ground,
        stop: &watch::Receiver<Stop>,
    ) -> Verdict {
        let error = |unable: &Unable| Verdict {
            class: Some(unable.class),
            ..ruled(check, &unable.why)
        };
        let products = match self.products() {
            Ok(products) => Arc::<[String]>::from(products),
            Err(unable) => return error(&unable),
        };
        let (mut looks, mut spent) = (0, 0);
        loop {
            if *stop.borrow() != Stop::No {
                return ruled(check, "not run: the run was told to end");
            }
            let Some(view) = self.run.view.clone().filter(|_| check.probe.is_some()) else {
                return self.trial(check, ground).run(stop.clone()).await;
            };
            let seen_by = (view, Arc::clone(&products));
            let item = self.item.as_ref().map(|item| &item.value);
            let looking = view::Looking::new(seen_by, check, self.run.params(), item);
            let seen = looking.look(ground).await;
            let (sight, ground) = match seen {
                Ok(seen) => seen,
                Err(unable) => return error(&unable),
            };
            let verdict = self.trial(check, &ground).run(stop.clone()).await;
            match looking.recheck(sight).await {
                Ok(()) => return verdict,
                Err(_) if verdict.ruling != Ruling::Pass => return verdict,
                Err(unable) => {
                    (looks, spent) = (looks + 1, spent + verdict.millis);
                    if looks >= LOOKS && spent >= PATIENCE {
                        return error(&unable);
                    }
                }
            }
        }
    }

    /// The globs of what the work that is checked left.
    fn products(&self) -> Result<Vec<String>, Unable> {
        match &self.attempt {
            Some(attempt) => {
                let step = written(&self.run, &attempt.place);
                self.known(|known| artifacts::globs(step, known))
            }
            None => Ok(Vec::new()),
        }
    }

    fn trial(&self, check: &Check, ground: &probe::Ground) -> probe::Trial {
        self.known(|known| probe::Trial::new(check, ground, known))
    }

    /// The globs of the files that the result of a step is judged by.
    fn globs(&self, step: &Step) -> Result<Vec<String>, Unable> {
        let inputs = step.cache.iter().flat_map(|cache| &cache.inputs);
        let mut globs: Vec<String> = inputs.cloned().collect();
        globs.extend(self.known(|known| artifacts::globs(step, known))?);
        Ok(globs)
    }

    fn known<T>(&self, with: impl FnOnce(&Known<'_>) -> T) -> T {
        let attempt = self.attempt.as_ref();
        with(&Known {
            run: &self.run.this.id,
            params: self.run.params(),
            reads: &self.reads,
            item: self.item.as_ref(),
            index: attempt.and_then(|attempt| attempt.place.item),
            secrets: &BTreeMap::new(),
        })
    }
}

/// A verdict on a criterion whose check was not run, or did not count.
fn ruled(check: &Check, why: &str) -> Verdict {
    Verdict {
        name: check.name.clone(),
        phase: check.phase,
        ruling: Ruling::Error,
        expected: String::new(),
        found: why.into(),
        evidence: String::new(),
        class: None,
        millis: 0,
        mode: check.mode,
        guards: None,
        hidden: Vec::new(),
    }
}
