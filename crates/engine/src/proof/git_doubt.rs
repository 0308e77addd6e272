//! The doubt whether git could answer a check: an unseen failure of a command looks like an empty result.

use tokio::sync::watch;

use super::judging::{CheckSubject, unchecked_verdict};
use wf_core::machine::CheckVerdict;
use wf_exec::StopLevel;
use wf_exec::check::{CheckEnvironment, CheckOutcome};
use wf_exec::view::ViewedCheck;
use wf_model::{Check, FailureClass};

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
        self.run.judge_output(check, outcome, stop).await
    }
}
