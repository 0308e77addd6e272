//! What is done for places: their work and their checks.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::exec::attempt::Gone;
use crate::exec::environment::{self, Parts};
use crate::exec::keeper::{self, Lost, Past, Recall, Wires, recall};
use crate::exec::process::Command;
use crate::exec::{Env, Stop, Unable, attempt, correction, http, log, outputs, usage, wait};
use crate::machine::{Attempt, Correction, Ended, Exit, Happening, Item, Usage};
use crate::model::{Http, Object, Step, Wait, Work};
use crate::time::Moment;
use crate::verify::classify;

use super::dispatch::Report;
use super::evidence::Reliance;
use super::run::Ongoing;
use super::stage::Seated;
use super::steps::step_of;
use super::words::of_skill;
use super::{artifacts, nested};

/// The work of one attempt.
pub(super) struct Task {
    pub(super) run: Arc<Ongoing>,
    pub(super) attempt: Attempt,
    pub(super) item: Option<Item>,
    pub(super) reads: Object,
    /// When it began or was staged, if that was before the engine died.
    pub(super) since: Option<Moment>,
    /// How it takes up room, if it is counted.
    pub(super) seated: Option<Seated>,
    /// What was wrong with the attempt before, where there was one.
    pub(super) correction: Option<Box<Correction>>,
    /// What gates rewrote of what is to be executed.
    pub(super) tool_args: Option<Box<serde_json::Value>>,
}

impl Task {
    /// The work of an attempt that begins now, is not counted, and is told nothing.
    pub(super) fn new(
        run: Arc<Ongoing>,
        attempt: Attempt,
        item: Option<Item>,
        reads: Object,
    ) -> Self {
        Self {
            run,
            attempt,
            item,
            reads,
            since: None,
            seated: None,
            correction: None,
            tool_args: None,
        }
    }

    /// Does the work and says how it ended.
    pub(super) async fn work(self, stop: watch::Receiver<Stop>) -> Report {
        let run = Arc::clone(&self.run);
        let step = step_of(&run, &self.attempt.place);
        let step = &*step;
        let reliance = Reliance::of(&run, &self.attempt).await;
        let mut ended = match &step.work {
            Work::Uses(uses) => nested::run(&self, uses, step, stop).await?,
            Work::Wait(Wait::File(path)) => {
                let exit = match self.known(&BTreeMap::new(), |known| path.render(known)) {
                    Ok(path) => {
                        let path = run.session.root.join(path);
                        wait::file(&path, self.left_of(step.timeout), stop).await
                    }
                    Err(error) => Unable::logical(error.to_string()).into(),
                };
                self.ended(exit)
            }
            Work::Http(_) if self.since.is_some() => self.ended(Exit::Interrupted),
            Work::Http(http) => self.or_unable(self.request(http, step, stop).await),
            _ => {
                let Some(done) = self.process(step, stop).await? else {
                    let attempt = self.attempt;
                    return Ok(Some(Happening::Unstaged { attempt }));
                };
                self.or_unable(done)
            }
        };
        self.confirmed(step, &mut ended).await;
        reliance.end(&run);
        if ended.exit.is_success() && !step.artifacts.is_empty() {
            let globs = self.known(&BTreeMap::new(), |known| artifacts::globs(step, known));
            let found = match globs {
                Ok(globs) => artifacts::put_away(&run, globs).await,
                Err(unable) => Err(unable),
            };
            match found {
                Ok(found) => {
                    run.note_left(&self.attempt, &found);
                    ended.artifacts = found;
                }
                Err(unable) => ended.exit = unable.into(),
            }
        }
        if let Exit::Unable { why, .. } = &mut ended.exit {
            // It may name files, and their names are words of whoever made them.
            *why = run.mask().await.text(why).into_owned();
        }
        self.show_end(step, &ended);
        Ok(Some(Happening::Ended(ended)))
    }

    /// What is left of a limit on this attempt.
    fn left_of(&self, limit: Option<Duration>) -> Option<Duration> {
        let now = self.run.session.clock.now();
        let spent = self.since.map_or(Duration::ZERO, |since| now.since(since));
        limit.map(|limit| limit.saturating_sub(spent))
    }

    /// Sends the step's request.
    async fn request(
        &self,
        http: &Http,
        step: &Step,
        stop: watch::Receiver<Stop>,
    ) -> Result<Ended, Unable> {
        let Some(secrets) = self.secrets(step, &stop).await? else {
            return Ok(self.ended(Exit::Cancelled));
        };
        let ask = self.known(&secrets, |known| http::Ask::new(http, known))?;
        let job = http::Job {
            ask,
            timeout: step.timeout,
            log: log::Target {
                path: log::path(&self.run.dir, &self.attempt),
                limit: self.run.session.log_limit,
                mask: self.run.mask().await,
                clock: Arc::clone(&self.run.session.clock),
            },
            outputs: step.outputs.clone(),
        };
        let client = &self.run.session.client;
        let (exit, outputs) = client.run(job, stop, self.on_output()).await;
        Ok(Ended {
            outputs,
            ..self.ended(exit)
        })
    }

    /// Runs the step's process, or learns what became of one that an earlier engine asked for;
    /// `None`: it was staged, and does not begin.
    async fn process(
        &self,
        step: &Step,
        stop: watch::Receiver<Stop>,
    ) -> Result<Option<Result<Ended, Unable>>, Lost> {
        if let Some(gone) = self.recalled(&stop).await {
            return Ok(Some(Ok(self.left(step, gone))));
        }
        let seated = self.seated.as_ref();
        // What began of what was staged before the engine died was recalled.
        if self.since.is_some() && self.is_staged() {
            return Ok(None);
        }
        let job = match self.prepared(step, &stop).await {
            Ok(Some(job)) => job,
            // It was told to end before anybody was asked to begin it.
            Ok(None) if self.is_staged() => return Ok(None),
            unready => {
                if let Some(seated) = seated {
                    seated.note_lost(&self.attempt);
                }
                if unready.is_err() {
                    self.run.session.hands.hold()?;
                }
                return Ok(Some(unready.map(|_| self.ended(Exit::Cancelled))));
            }
        };
        let hands = &self.run.session.hands;
        let seat = seated.map(|seated| seated.seat);
        let gone = hands.run(self.task(), job, seat, self.wires(stop)).await?;
        if let (Some(gone), Some(seated)) = (&gone, seated) {
            seated.note_end(&self.attempt, gone);
        }
        Ok(gone.map(|gone| Ok(self.left(step, gone))))
    }

    fn is_staged(&self) -> bool {
        let seated = self.seated.as_ref();
        seated.is_some_and(|seated| seated.seat.staged.is_some())
    }

    fn wires(&self, stop: watch::Receiver<Stop>) -> Wires {
        let seated = self.seated.as_ref();
        Wires {
            stop,
            on_output: self.on_output(),
            staged: seated.and_then(|seated| seated.staged(&self.attempt)),
        }
    }

    /// What to execute; `None` if the step was told to end before that was known.
    async fn prepared(
        &self,
        step: &Step,
        stop: &watch::Receiver<Stop>,
    ) -> Result<Option<attempt::Job>, Unable> {
        match self.secrets(step, stop).await? {
            Some(secrets) => self.job(step, &secrets).await.map(Some),
            None => Ok(None),
        }
    }

    /// The end of a process, with its outputs read.
    fn left(&self, step: &Step, gone: Gone) -> Ended {
        if !gone.exit.is_success() {
            let ends = [&gone.ends.out, &gone.ends.err].map(String::as_bytes);
            return Ended {
                class: classify(&gone.exit, ends[0], ends[1], &step.classify),
                usage: gone.usage,
                ..self.ended(gone.exit)
            };
        }
        let (usage, mut problems) = usage::read(&gone.output, &step.outputs);
        let outputs = outputs::parse(&gone.output, &step.outputs);
        let outputs = outputs.unwrap_or_else(|more| {
            problems.extend(more);
            Object::new()
        });
        let ended = if problems.is_empty() {
            self.ended(gone.exit)
        } else {
            self.ended(Unable::logical(problems.join("; ")).into())
        };
        Ended {
            outputs,
            usage,
            service: gone.service,
            ..ended
        }
    }

    /// What became of an attempt that was under way when an engine died; `None` if it is still
    /// to begin.
    async fn recalled(&self, stop: &watch::Receiver<Stop>) -> Option<Gone> {
        self.since?;
        let session = &self.run.session;
        let past = Past {
            dir: &session.store.folder().keepers(),
            own: session.hands.keeper(),
            meant_for: self.run.tenure.keepers.as_deref(),
        };
        match recall(past, &self.task(), self.wires(stop.clone())).await {
            Recall::Gone(mut gone) => {
                if gone.exit == Exit::Interrupted {
                    gone.usage = attempt::left_behind(&self.output());
                }
                Some(gone)
            }
            Recall::NeverBegan => None,
        }
    }

    /// The file that `WF_OUTPUT` names.
    fn output(&self) -> std::path::PathBuf {
        log::path(&self.run.dir, &self.attempt).with_extension("out")
    }

    fn task(&self) -> keeper::Task {
        keeper::Task {
            run: self.run.this.id.clone(),
            attempt: self.attempt.clone(),
        }
    }

    fn or_unable(&self, done: Result<Ended, Unable>) -> Ended {
        done.unwrap_or_else(|unable| self.ended(unable.into()))
    }

    async fn job(
        &self,
        step: &Step,
        secrets: &BTreeMap<String, String>,
    ) -> Result<attempt::Job, Unable> {
        let run = &self.run;
        let log = log::path(&run.dir, &self.attempt);
        let output = self.output();
        let root = &run.session.root;
        let cwd = match self.cwd(step)? {
            Some(cwd) => root.join(cwd),
            None => root.clone(),
        };
        let told = self.correction.as_ref();
        let told = told.map_or(Ok(Env::new()), |told| correction::hand_over(told, &log))?;
        let env = self.known(secrets, |known| {
            environment::of_step(&self.parts(step, &output, &told), known)
        });
        let mut env = env.map_err(|error| Unable::logical(error.to_string()))?;
        let path = env
            .iter()
            .find(|(name, _)| name == "PATH")
            .map(|(_, value)| value.as_str());
        let argv = self.argv(step, (path, &cwd))?;
        let around = run.session.around.as_ref();
        let is_confined = around.is_some() && step.allow.is_some();
        let unseen = self.admitted(is_confined).await?;
        let mut sandbox = around.and_then(|around| around.of_step(step, &output, &unseen));
        if let (Work::Skill(_), Some(sandbox)) = (&step.work, &mut sandbox) {
            sandbox.starts(argv.first());
        }
        env.extend(of_skill(step, sandbox.is_some(), root)?);
        Ok(attempt::Job {
            command: Command {
                argv,
                env,
                cwd,
                sandbox,
                pins: run.pins.clone(),
                input: None,
            },
            timeout: step.timeout,
            grace: run.plan.parts().policy.grace,
            log,
            limit: run.session.log_limit,
            most: step.limits.output,
            output,
            secrets: run.secrets.known().await,
        })
    }

    fn parts<'a>(&'a self, step: &'a Step, output: &'a Path, correction: &'a Env) -> Parts<'a> {
        Parts {
            host: &self.run.session.host,
            passed: &self.run.session.passed,
            allow: self.run.session.around.as_ref().and(step.allow.as_deref()),
            plan: &self.run.plan.parts().env,
            step: &step.env,
            params: self.run.params(),
            run: &self.run.this.id,
            attempt: &self.attempt,
            item: self.item.as_ref(),
            fan: &step.fan,
            output,
            correction,
            workspace: &self.run.session.root,
        }
    }

    pub(super) fn ended(&self, exit: Exit) -> Ended {
        Ended {
            attempt: self.attempt.clone(),
            exit,
            outputs: Object::new(),
            artifacts: Vec::new(),
            standing: None,
            class: None,
            seen: Vec::new(),
            usage: Usage::default(),
            service: false,
        }
    }
}
