//! The checks of attempts and plans: run one after the other, all of them.
//!
//! **Invariant:** a check passes only on the workspace as it was when the run began and on what is
//! declared (its view), and only if nothing wrote it meanwhile.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::sync::watch;

use wf_base::redact::SecretMask;
use wf_core::machine::{Artifact, Attempt, CheckRuling, CheckVerdict, InputKind, StepItem};
use wf_exec::{
    StopLevel, WorkError,
    check::{self as probe, CheckEnvironment, CheckOutcome},
    evidence::EvidenceSnapshot,
    files,
    view::{self, ViewedCheck, ViewedWorktree},
    worktree::AttemptWorktree,
};
use wf_model::{Check, CheckPhase, FailureClass, JsonObject, Step, StepWork, expr::EvalError};

use super::{before_work, judge_votes};
use crate::{
    files::{copies, worktrees},
    run::{
        RunContext,
        attempt_task::{step_of, written_step},
        declarations,
        scope::TemplateValues,
    },
    session::UnitResult,
};

/// The subject of checks, and the values their templates read.
pub(crate) struct CheckSubject {
    pub(crate) run: Arc<RunContext>,
    /// The attempt; `None`: the plan as a whole.
    pub(crate) attempt: Option<Attempt>,
    /// The phase of checks; `None`: all of them.
    pub(crate) phase: Option<CheckPhase>,
    pub(crate) item: Option<StepItem>,
    pub(crate) reads: JsonObject,
}

/// Runs the checks of an attempt, or the plan's own.
pub(crate) async fn check(subject: CheckSubject, stop: watch::Receiver<StopLevel>) -> UnitResult {
    let run = &subject.run;
    let mut artifacts = match &subject.attempt {
        Some(attempt) => run.outputs_of(attempt)?,
        None => Vec::new(),
    };
    artifacts.extend(subject.earlier_evidence());
    let (verdicts, mut seen) = judge(&subject, &stop, &artifacts).await;
    if let Some(attempt) = &subject.attempt {
        if matches!(step_of(run, &attempt.task_id).work, StepWork::Uses(_)) {
            // The evidence of the plan that it uses counts, too.
            declarations::add_evidence(&mut seen, run.evidence_of(&attempt.task_id).unwrap_or_default());
        }
        subject.with_values(|values| declarations::name_releasing(run, &attempt.task_id, values, &mut seen));
        run.note_evidence(&attempt.task_id, &seen);
    }
    run.session.executor.ensure_supervised()?;
    Ok(Some(InputKind::Judged {
        phase: subject.phase.unwrap_or_default(),
        attempt: subject.attempt,
        verdicts,
        seen,
    }))
}

/// Runs checks, and returns their verdicts and the files they ruled on. `kept` is the output of the work, as it was
/// stored.
pub(crate) async fn judge(
    subject: &CheckSubject,
    stop: &watch::Receiver<StopLevel>,
    artifacts: &[Artifact],
) -> (Vec<CheckVerdict>, Vec<Artifact>) {
    let run = &subject.run;
    let attempt = subject.attempt.as_ref();
    let step = attempt.map(|attempt| written_step(run, &attempt.task_id));
    let evidence_files =
        step.map_or_else(|| Ok(EvidenceFiles::default()), |step| subject.evidence_files(step));
    let folder = subject.folder();
    let before = read_evidence(run, folder.clone(), evidence_files.clone()).await;
    let own = before.as_ref().map(EvidenceSnapshot::files).unwrap_or_default();
    // Nobody else writes a worktree.
    let own = if subject.worktree().is_some() { Vec::new() } else { own };
    let mut verdicts = subject.verdicts(stop, own).await;
    let after = read_evidence(run, folder.clone(), evidence_files).await;
    let mask = run.mask().await;
    let (seen, mut wrong) = compare(before, after, artifacts);
    let mut evidence = declarations::without_secrets(seen, folder, mask.clone()).await;
    if let Some(telling) = evidence.iter().find_map(|file| masked_text(&file.path, &mask)) {
        let reason = format!("the file name `{telling}` contains a secret, but file names are recorded");
        (evidence, wrong) = (Vec::new(), Some(reason));
    }
    for verdict in &mut verdicts {
        if let Some(wrong) = &wrong {
            invalidate_verdict(verdict, wrong);
        }
        // Paths are chosen by the programs that made the files.
        for text in verdict.hidden.iter_mut().chain([&mut verdict.found]) {
            if let Some(masked) = masked_text(text, &mask) {
                *text = masked;
            }
        }
    }
    (verdicts, evidence)
}

fn masked_text(text: &str, mask: &SecretMask) -> Option<String> {
    match mask.text(text) {
        Cow::Owned(masked) => Some(masked),
        Cow::Borrowed(_) => None,
    }
}

/// The files the result of a step is judged by, besides its checks.
#[derive(Clone, Default)]
struct EvidenceFiles {
    globs: Vec<String>,
    /// The files listed in `writes` alone.
    products: Vec<String>,
}

/// Reads the files the result of a step is judged by, besides its checks.
async fn read_evidence(
    run: &Arc<RunContext>,
    folder: PathBuf,
    wanted: Result<EvidenceFiles, WorkError>,
) -> Result<EvidenceSnapshot, WorkError> {
    let EvidenceFiles { globs, products } = wanted?;
    if globs.is_empty() && products.is_empty() {
        return Ok(EvidenceSnapshot::default());
    }
    let run = Arc::clone(run);
    let look = move || {
        let memo = &run.session.shared.memo;
        EvidenceSnapshot::read_matching(&folder, &globs, memo)?.with_products(&folder, &products, memo)
    };
    tokio::task::spawn_blocking(look)
        .await
        .unwrap_or_else(|_| Err(WorkError::environmental("cannot read the files")))
}

/// Returns the files that were seen, and the problem with them, if any.
fn compare(
    before: Result<EvidenceSnapshot, WorkError>,
    after: Result<EvidenceSnapshot, WorkError>,
    artifacts: &[Artifact],
) -> (Vec<Artifact>, Option<String>) {
    match (before, after) {
        (Ok(before), Ok(after)) => {
            let early = before.differs(artifacts);
            let early = early.map(|path| format!("{path} changed before it was checked"));
            let late = before.touched(&after);
            let late = late.map(|path| format!("{path} changed while it was checked"));
            (before.files(), early.or(late))
        }
        (Err(unable), _) | (_, Err(unable)) => (Vec::new(), Some(unable.reason)),
    }
}

/// Revokes the finding of a check about files written meanwhile.
fn invalidate_verdict(verdict: &mut CheckVerdict, reason: &str) {
    verdict.ruling = CheckRuling::Error;
    verdict.expected = "files that do not change while they are checked".into();
    reason.clone_into(&mut verdict.found);
    verdict.failure_class = Some(FailureClass::Environmental);
}

impl CheckSubject {
    /// Returns the checks of all phases.
    fn checks(&self) -> &[Check] {
        match &self.attempt {
            Some(attempt) => &written_step(&self.run, &attempt.task_id).verify,
            None => &self.run.plan.parts().verify,
        }
    }

    /// Returns the checked worktree. After the run, its result is in the workspace.
    fn worktree(&self) -> Option<AttemptWorktree> {
        let attempt = self.attempt.as_ref().filter(|_| self.phase.is_some());
        attempt.and_then(|attempt| worktrees::worktree_of(&self.run, attempt))
    }

    /// Returns the folder with the checked files.
    fn folder(&self) -> PathBuf {
        self.worktree().map_or_else(|| self.run.session.root.clone(), |worktree| worktree.folder())
    }

    /// Returns the files an earlier phase of the same attempt was checked with: each phase rules on the same result, so
    /// they must be unchanged.
    fn earlier_evidence(&self) -> Vec<Artifact> {
        let first = CheckPhase::next_phase(None, self.checks());
        let attempt = self.attempt.as_ref().filter(|_| self.phase != first);
        let evidence = attempt.and_then(|attempt| self.run.evidence_of(&attempt.task_id));
        evidence.unwrap_or_default()
    }

    /// Runs the checks; `own` are the files of the result they judge.
    async fn verdicts(
        &self,
        stop: &watch::Receiver<StopLevel>,
        own_artifacts: Vec<Artifact>,
    ) -> Vec<CheckVerdict> {
        let is_of_phase = |check: &&Check| self.phase.is_none_or(|phase| check.phase == phase);
        let checks: Vec<&Check> = self.checks().iter().filter(is_of_phase).collect();
        self.verdicts_of(checks, stop, Some(own_artifacts)).await
    }

    /// Runs the checks run before the work, on the workspace as it is.
    pub(super) async fn verdicts_before(&self, stop: &watch::Receiver<StopLevel>) -> Vec<CheckVerdict> {
        let checks = self.checks().iter().filter(|check| check.is_run_before()).collect();
        self.verdicts_of(checks, stop, None).await
    }

    /// Runs checks; `own` are the files of the result they judge, or `None` before the work.
    async fn verdicts_of(
        &self,
        checks: Vec<&Check>,
        stop: &watch::Receiver<StopLevel>,
        own_artifacts: Option<Vec<Artifact>>,
    ) -> Vec<CheckVerdict> {
        let precedes_work = own_artifacts.is_none();
        let own = own_artifacts.unwrap_or_default();
        let place = self.attempt.as_ref().map(|attempt| attempt.task_id.clone());
        let ground = match copies::of_checks_of(&self.run, place, own).await {
            Ok(copies) => {
                let worktree = self.worktree();
                let prior =
                    self.attempt.as_ref().and_then(|of| before_work::recorded(&self.run, &of.task_id));
                let prior = Arc::new(prior.unwrap_or_default());
                probe::CheckEnvironment {
                    copies,
                    prior,
                    precedes_work,
                    ..self.run.check_environment(worktree.as_ref()).await
                }
            }
            Err(unable) => {
                let error = |check: &&Check| unchecked_verdict(check, &unable.reason);
                return checks.iter().map(error).collect();
            }
        };
        let worktree = match self.viewed_worktree().await {
            Ok(worktree) => worktree.map(Arc::new),
            Err(unable) => {
                let error = |check: &&Check| unchecked_verdict(check, &unable.reason);
                return checks.iter().map(error).collect();
            }
        };
        let mut verdicts = Vec::with_capacity(checks.len());
        for check in checks {
            verdicts.push(self.verdict(check, &ground, worktree.clone(), stop).await);
        }
        if !ground.copies.is_empty() && verdicts.iter().any(|verdict| verdict.ruling != CheckRuling::Pass) {
            self.explain(&mut verdicts).await;
        }
        verdicts
    }

    /// Returns the worktree the checks see, with what its attempt has changed.
    async fn viewed_worktree(&self) -> Result<Option<ViewedWorktree>, WorkError> {
        let Some(worktree) = self.worktree().filter(|_| self.run.view.is_some()) else {
            return Ok(None);
        };
        let _alone = self.run.merging.lock().await;
        let changes = worktrees::open_git(&self.run).await?.changes_in(&worktree).await?;
        Ok(Some(ViewedWorktree { folder: worktree.folder(), changes }))
    }

    /// Adds to the verdicts that did not pass what the checks saw otherwise than it lies there.
    async fn explain(&self, verdicts: &mut [CheckVerdict]) {
        let place = self.attempt.as_ref().map(|attempt| attempt.task_id.clone());
        let remark = copies::blocking(&self.run, move |run| Ok(copies::remark(run, place.as_ref()))).await;
        for verdict in verdicts.iter_mut().filter(|failed| failed.ruling != CheckRuling::Pass) {
            verdict.found += remark.as_deref().unwrap_or_default();
        }
    }

    /// Runs one check, on the workspace as it was when the run began and what is declared.
    async fn verdict(
        &self,
        check: &Check,
        ground: &probe::CheckEnvironment,
        worktree: Option<Arc<ViewedWorktree>>,
        stop: &watch::Receiver<StopLevel>,
    ) -> CheckVerdict {
        let error = |work_error: &WorkError| CheckVerdict {
            failure_class: Some(work_error.failure_class),
            ..unchecked_verdict(check, &work_error.reason)
        };
        let products = match self.products() {
            Ok(products) => Arc::<[String]>::from(products),
            Err(unable) => return error(&unable),
        };
        let is_product = self
            .attempt
            .as_ref()
            .map(|attempt| view::declared_by(written_step(&self.run, &attempt.task_id), self.run.params()));
        let mut patience = view::CheckPatience::default();
        loop {
            if *stop.borrow() != StopLevel::No {
                return unchecked_verdict(check, "not run: the run is being cancelled");
            }
            let Some(view) = self.run.view.clone().filter(|_| check.probe.is_some()) else {
                let outcome = self.trial(check, ground).run(stop.clone()).await;
                return judge_votes::judge_output(&self.run, check, outcome, stop).await;
            };
            let item = self.item.as_ref().map(|item| &item.value);
            let looking = view::ViewedCheck::new(view, Arc::clone(&products), check, self.run.params(), item);
            let looking = looking.in_worktree(worktree.clone());
            let inspection = looking.inspect_workspace(ground, patience.is_disturbed()).await;
            let (sight, ground) = match inspection {
                Ok(seen) => seen,
                Err(unable) => return error(&unable),
            };
            let mut outcome = self.trial(check, &ground).run(stop.clone()).await;
            let is_product = is_product.as_ref().map(|made| made as &dyn Fn(&Path) -> bool);
            outcome.verdict = looking.describe(outcome.verdict, sight.as_ref(), is_product);
            match looking.recheck(sight.as_ref()).await {
                Ok(()) => return self.judge_undoubted(check, outcome, &looking, &ground, stop).await,
                // Neither verdict counts until then: a check that failed may have done so for what it saw meanwhile.
                Err(_) if patience.bears(Duration::from_millis(outcome.verdict.duration_ms)) => {}
                Err(_) if outcome.verdict.ruling != CheckRuling::Pass => return outcome.verdict,
                Err(unable) => return error(&unable),
            }
        }
    }

    /// Returns the globs of the files the checked work left.
    fn products(&self) -> Result<Vec<String>, WorkError> {
        match &self.attempt {
            Some(attempt) => {
                let step = written_step(&self.run, &attempt.task_id);
                self.with_values(|values| copies::artifact_globs(step, values))
            }
            None => Ok(Vec::new()),
        }
    }

    pub(super) fn trial(&self, check: &Check, ground: &probe::CheckEnvironment) -> probe::RenderedCheck {
        self.with_values(|values| probe::RenderedCheck::new(check, ground, values))
    }

    /// Returns the files the result of a step is judged by.
    fn evidence_files(&self, step: &Step) -> Result<EvidenceFiles, WorkError> {
        let inputs = step.cache.iter().flat_map(|cache| &cache.inputs);
        let inputs = self.with_values(|values| {
            inputs.map(|glob| files::glob(glob, values)).collect::<Result<Vec<String>, EvalError>>()
        });
        let mut globs = inputs.map_err(|error| WorkError::logical(error.to_string()))?;
        globs.extend(self.with_values(|values| copies::artifact_globs(step, values))?);
        Ok(EvidenceFiles {
            globs,
            products: self.with_values(|values| declarations::literal_products(step, values)),
        })
    }

    fn with_values<T>(&self, with: impl FnOnce(&TemplateValues<'_>) -> T) -> T {
        let attempt = self.attempt.as_ref();
        with(&TemplateValues {
            run: &self.run.run_ref,
            params: self.run.params(),
            reads: &self.reads,
            item: self.item.as_ref(),
            index: attempt.and_then(|attempt| attempt.task_id.item),
            secrets: &BTreeMap::new(),
        })
    }
}

/// Creates a verdict on a criterion whose check was not run, or did not count.
pub(super) fn unchecked_verdict(check: &Check, reason: &str) -> CheckVerdict {
    CheckVerdict {
        name: check.name.clone(),
        phase: check.phase,
        ruling: CheckRuling::Error,
        expected: String::new(),
        found: reason.into(),
        evidence: String::new(),
        failure_class: None,
        duration_ms: 0,
        certainty: check.mode,
        isolation: None,
        hidden: Vec::new(),
        changes: None,
        changed_inputs: Vec::new(),
        foreign_changes: None,
        is_unbounded: false,
        tests: None,
        before: None,
        judgement: None,
    }
}

impl CheckSubject {
    /// Judges the output of a check. One that passed is an error if git cannot read the commit it was told of any more.
    pub(super) async fn judge_undoubted(
        &self,
        check: &Check,
        outcome: CheckOutcome,
        viewed_check: &ViewedCheck,
        environment: &CheckEnvironment,
        stop: &watch::Receiver<StopLevel>,
    ) -> CheckVerdict {
        if let Some(question) = viewed_check.git_check().filter(|_| outcome.verdict.passed()) {
            let verdict = self.trial(&question, environment).run(stop.clone()).await.verdict;
            if !verdict.passed() {
                let reason = format!(
                    "git cannot read the commit with which the run began, so what it says here is no answer: {}; \
                     objects were removed meanwhile (`git gc --prune`), or the settings of the repository changed: \
                     mend it, and start a new `wf run`, or use `wf run --worktree`",
                    verdict.found
                );
                let failure_class = Some(FailureClass::Environmental);
                return CheckVerdict { failure_class, ..unchecked_verdict(check, &reason) };
            }
        }
        judge_votes::judge_output(&self.run, check, outcome, stop).await
    }
}
