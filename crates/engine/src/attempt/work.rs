//! The work of an attempt, from its beginning, or from where an earlier engine left it, to its collected end.

use std::{borrow::Cow, collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use tokio::sync::watch;

use wf_core::{
    machine::{Attempt, AttemptEnd, InputKind, WorkExit},
    verify::{SandboxDenial, classify},
};
use wf_exec::{
    HostEnv, ProcessEnv, StopLevel, WorkError,
    attempt::{self, ProcessOutcome},
    container::AttemptContainer,
    correction,
    environment::{self, EnvironmentSources},
    log, outputs,
    process::ProcessCommand,
    sandbox::SandboxSpec,
    supervisor::{self, JobHooks, RecalledOutcome, SupervisorLost, SupervisorSearch, recall},
    usage, wait,
};
use wf_model::{JsonObject, Step, StepWork, WaitCondition};

use super::{
    argv::{self, skill_argv},
    output, request,
};
use crate::{
    files::{copies, reliance::ReliedEvidence, worktrees},
    nested::running,
    run::{AttemptTask, attempt_task::step_of},
    session::UnitResult,
};

/// The part of the engine's own environment a step in a container sees.
static NOTHING: HostEnv = HostEnv::new();

impl AttemptTask {
    /// Does the work and reports its end.
    pub(crate) async fn work(self, stop: watch::Receiver<StopLevel>) -> UnitResult {
        let run = Arc::clone(&self.run);
        let step = step_of(&run, &self.attempt.task_id);
        let step = &*step;
        let reliance = ReliedEvidence::check_before(&self).await;
        let ended = match &step.work {
            StepWork::Uses(_) | StepWork::Generated(_) => running::run_nested(&self, step, stop).await?,
            StepWork::Wait(WaitCondition::File(path)) => {
                let exit = match self.with_template_values(&BTreeMap::new(), |values| path.render(values)) {
                    Ok(path) => {
                        let path = run.session.root.join(path);
                        wait::file(&path, self.time_left(step.timeout), stop).await
                    }
                    Err(error) => WorkError::logical(error.to_string()).into(),
                };
                self.end_without_outputs(exit)
            }
            StepWork::Http(_) if self.since.is_some() => self.end_without_outputs(WorkExit::Interrupted),
            StepWork::Http(http) => self.or_unable(request::send(&self, http, step, stop).await),
            _ => {
                let done = self.process(step, stop).await?;
                self.or_unable(done)
            }
        };
        self.collect(ended, Some(reliance)).await
    }

    /// Collects what the work left, and reports its end.
    pub(crate) async fn collect(&self, mut end: AttemptEnd, reliance: Option<ReliedEvidence>) -> UnitResult {
        let run = &self.run;
        let step = step_of(run, &self.attempt.task_id);
        let step = &*step;
        self.revoke_if_changed(step, &mut end).await;
        if let Some(reliance) = reliance {
            end.swapped_file = reliance.end(run);
        }
        self.release_changed().await;
        worktrees::end_worktree(self, &mut end).await;
        if end.exit.is_success() && !step.artifacts.is_empty() {
            let globs =
                self.with_template_values(&BTreeMap::new(), |values| copies::artifact_globs(step, values));
            let artifacts = match globs {
                Ok(globs) => copies::store_artifacts(run, &self.attempt, globs).await,
                Err(unable) => Err(unable),
            };
            match artifacts {
                Ok(collected) => {
                    run.note_outputs(&self.attempt, &collected);
                    end.artifacts = collected;
                }
                Err(unable) => end.exit = unable.into(),
            }
        }
        self.mask_reason(&mut end.exit).await;
        end.log = output::log_digest(self).await;
        end.breakers = self.breakers.take_notes();
        output::show_end(self, step, &end);
        Ok(Some(InputKind::Ended(end)))
    }

    /// Masks the reason of an exit. It may name files, and their names are chosen by the programs that made them.
    pub(super) async fn mask_reason(&self, exit: &mut WorkExit) {
        if let WorkExit::Error { reason, .. } | WorkExit::Denied { reason } = exit {
            *reason = self.run.mask().await.text(reason).into_owned();
        }
    }

    fn time_left(&self, limit: Option<Duration>) -> Option<Duration> {
        let now = self.run.session.clock.now();
        let spent = self.since.map_or(Duration::ZERO, |since| now.since(since));
        limit.map(|limit| limit.saturating_sub(spent))
    }

    /// Runs the step's process, or determines the state of one an earlier engine asked for.
    async fn process(
        &self,
        step: &Step,
        stop: watch::Receiver<StopLevel>,
    ) -> Result<Result<AttemptEnd, WorkError>, SupervisorLost> {
        if let Some(gone) = self.recall_outcome(&stop).await {
            return Ok(Ok(self.end_with_outputs(step, gone)));
        }
        let job = match self.prepare_command(step, &stop).await {
            Ok(Some(job)) => job,
            unready => {
                if unready.is_err() {
                    self.run.session.executor.ensure_supervised()?;
                }
                return Ok(unready.map(|_| self.end_without_outputs(WorkExit::Cancelled)));
            }
        };
        let hands = &self.run.session.executor;
        let gone = hands.run(self.task(), job, self.wires(stop)).await?;
        Ok(Ok(self.end_with_outputs(step, gone)))
    }

    fn wires(&self, stop: watch::Receiver<StopLevel>) -> JobHooks {
        JobHooks { stop, on_output: output::on_output(self) }
    }

    /// Returns the command to execute; `None` if the step was told to end before that was known.
    async fn prepare_command(
        &self,
        step: &Step,
        stop: &watch::Receiver<StopLevel>,
    ) -> Result<Option<attempt::ProcessJob>, WorkError> {
        match self.secrets(step, stop).await? {
            Some(secrets) => self.job(step, &secrets).await.map(Some),
            None => Ok(None),
        }
    }

    fn end_with_outputs(&self, step: &Step, outcome: ProcessOutcome) -> AttemptEnd {
        if !outcome.exit.is_success() {
            let ends = [&outcome.tails.out, &outcome.tails.err].map(String::as_bytes);
            let allow = self.run.session.sandboxes.as_ref().and(step.allow.as_deref());
            let exit = SandboxDenial::explain(outcome.exit, ends, allow, &step.classify);
            return AttemptEnd {
                failure_class: classify(&exit, ends[0], ends[1], &step.classify),
                usage: outcome.usage,
                ..self.end_without_outputs(exit)
            };
        }
        let (usage, mut problems) = usage::parse_usage(&outcome.output, &step.outputs);
        let outputs = outputs::parse(&outcome.output, &step.outputs);
        let outputs = outputs.unwrap_or_else(|more| {
            problems.extend(more);
            JsonObject::new()
        });
        let ended = if problems.is_empty() {
            self.end_without_outputs(outcome.exit)
        } else {
            self.end_without_outputs(WorkError::logical(problems.join("; ")).into())
        };
        AttemptEnd { outputs, usage, left: outcome.left, ..ended }
    }

    /// Returns the end of an attempt under way when an engine died; `None` if it is still to begin.
    async fn recall_outcome(&self, stop: &watch::Receiver<StopLevel>) -> Option<ProcessOutcome> {
        self.since?;
        let session = &self.run.session;
        let past = SupervisorSearch {
            dir: &session.store.folder().keepers(),
            own: session.executor.supervisor_id(),
            supervisors: self.run.ownership.supervisors.as_deref(),
        };
        match recall(past, &self.task(), self.wires(stop.clone())).await {
            RecalledOutcome::Gone(mut gone) => {
                if gone.exit == WorkExit::Interrupted {
                    self.remove_container().await;
                    gone.usage = attempt::recovered_usage(&self.output());
                }
                Some(gone)
            }
            RecalledOutcome::NeverBegan => None,
        }
    }

    /// Returns the path of the file that `WF_OUTPUT` names.
    pub(crate) fn output(&self) -> std::path::PathBuf {
        log::path(&self.run.dir, &self.attempt).with_extension("out")
    }

    fn task(&self) -> supervisor::RunAttempt {
        supervisor::RunAttempt { run: self.run.run_ref.id.clone(), attempt: self.attempt.clone() }
    }

    fn or_unable(&self, done: Result<AttemptEnd, WorkError>) -> AttemptEnd {
        done.unwrap_or_else(|unable| self.end_without_outputs(unable.into()))
    }

    async fn job(
        &self,
        step: &Step,
        secrets: &BTreeMap<String, String>,
    ) -> Result<attempt::ProcessJob, WorkError> {
        let run = &self.run;
        let output = self.output();
        let mut command = self.whole_command(step, secrets).await?;
        let mut cleanup = None;
        let name = self.container_name();
        if let Some(container) = self.container(step, &name, &output) {
            command = container.wrap(command)?;
            cleanup = Some(container.removal()?);
        }
        Ok(attempt::ProcessJob {
            command,
            timeout: step.timeout,
            grace: run.plan.parts().policy.grace,
            log: log::path(&run.dir, &self.attempt),
            limit: run.session.log_limit,
            most: step.limits.output,
            output,
            cleanup,
            redactions: run.secrets.redactions().await,
            detach: step.detach,
        })
    }

    /// Returns the process of the step, with its program.
    pub(crate) async fn whole_command(
        &self,
        step: &Step,
        secrets: &BTreeMap<String, String>,
    ) -> Result<ProcessCommand, WorkError> {
        let mut command = self.command(step, secrets).await?;
        let path = command.env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_str());
        let argv = argv::argv(self, step, path, &command.cwd)?;
        command.argv = argv;
        if let (StepWork::Skill(_), Some(sandbox)) = (&step.work, &mut command.sandbox) {
            sandbox.starts(command.argv.first());
        }
        command.env.extend(skill_argv(step, command.sandbox.is_some(), &self.run.session.root)?);
        Ok(command)
    }

    /// Returns the environment, the folder and the sandbox of the step's processes, without a program.
    pub(crate) async fn command(
        &self,
        step: &Step,
        secrets: &BTreeMap<String, String>,
    ) -> Result<ProcessCommand, WorkError> {
        let run = &self.run;
        let log = log::path(&run.dir, &self.attempt);
        let output = self.output();
        let root = &run.session.root;
        let cwd = match argv::working_dir(self, step)? {
            Some(cwd) => root.join(cwd),
            None => root.clone(),
        };
        let feedback = self.feedback.as_ref();
        let feedback =
            feedback.map_or(Ok(ProcessEnv::new()), |feedback| correction::write_feedback(feedback, &log))?;
        let env = self.with_template_values(secrets, |values| {
            environment::of_step(&self.parts(step, &output, &feedback), values)
        });
        let env = env.map_err(|error| WorkError::logical(error.to_string()))?;
        let worktree = worktrees::worktree_of(run, &self.attempt);
        let sandboxes = run.session.sandboxes.as_deref().map(|sandboxes| match &worktree {
            Some(worktree) => Cow::Owned(sandboxes.of_worktree(&worktree.folder())),
            None => Cow::Borrowed(sandboxes),
        });
        let is_confined = sandboxes.is_some() && step.allow.is_some();
        let unseen = self.hidden_paths(is_confined).await?;
        let copies = self.kept_copies(step, is_confined).await?;
        let sandbox = sandboxes.and_then(|sandboxes| sandboxes.of_step(step, &output, &unseen));
        let sandbox = sandbox.map(|sandbox| SandboxSpec { copies, ..sandbox });
        Ok(ProcessCommand {
            argv: Vec::new(),
            env,
            cwd,
            sandbox,
            pins: run.pinned_files.clone(),
            input: None,
        })
    }

    /// Returns the container where it runs, if it does.
    fn container<'a>(
        &'a self,
        step: &'a Step,
        name: &'a str,
        output: &'a Path,
    ) -> Option<AttemptContainer<'a>> {
        let (host, root) = (&self.run.session.host, &self.run.session.root);
        step.container.as_deref().map(|image| AttemptContainer { image, name, host, root, output })
    }

    /// Returns the name of its container, which no other attempt has.
    fn container_name(&self) -> String {
        let Attempt { task_id, attempt } = &self.attempt;
        let item = task_id.item.map(|item| format!("-{item}")).unwrap_or_default();
        format!("wf-{}-{}{item}-{attempt}", self.run.run_ref.id, task_id.step)
    }

    /// Removes the container of an attempt whose supervisor died.
    async fn remove_container(&self) {
        let step = step_of(&self.run, &self.attempt.task_id);
        let (name, output) = (self.container_name(), self.output());
        let container = self.container(&step, &name, &output);
        if let Some(Ok(removal)) = container.map(|container| container.removal()) {
            self.run.session.executor.probe(removal, watch::channel(StopLevel::No).1).await;
        }
    }

    fn parts<'a>(
        &'a self,
        step: &'a Step,
        output: &'a Path,
        correction: &'a ProcessEnv,
    ) -> EnvironmentSources<'a> {
        EnvironmentSources {
            host: &self.run.session.host,
            passed: if step.container.is_some() { &NOTHING } else { &self.run.session.shared.passed_env },
            permissions: self.run.session.sandboxes.as_ref().and(step.allow.as_deref()),
            plan_env: &self.run.plan.parts().env,
            step_env: &step.env,
            params: self.run.params(),
            run: &self.run.run_ref.id,
            key_scope: &self.run.key_scope,
            attempt: &self.attempt,
            item: self.item.as_ref(),
            repetition: &step.fan,
            output,
            correction,
            workspace: &self.run.session.root,
        }
    }
}
