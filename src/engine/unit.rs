//! What is done for places: their work, their checks, their locks.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use tokio::sync::watch;

use crate::exec::environment::{self, Parts};
use crate::exec::process::Command;
use crate::exec::{OnOutput, Stop, Unable, attempt, check as probe, files, http, log, shell, wait};
use crate::machine::{Artifact, Attempt, Ended, Exit, Happening, Item, Place, Ruling, Verdict};
use crate::model::{Object, Step, Wait, Work};
use crate::name::EnvName;

use super::dispatch::Report;
use super::run::Ongoing;
use super::scope::{Known, secrets_read};
use super::{Stream, nested};

/// The work of one attempt.
pub(super) struct Task {
    pub(super) run: Arc<Ongoing>,
    pub(super) attempt: Attempt,
    pub(super) item: Option<Item>,
    pub(super) reads: Object,
    /// Whether it was under way already when the engine died.
    pub(super) again: bool,
}

impl Task {
    /// Does the work and says how it ended.
    pub(super) async fn work(self, stop: watch::Receiver<Stop>) -> Report {
        let run = Arc::clone(&self.run);
        let step = step_of(&run, &self.attempt.place);
        let mut ended = match &step.work {
            Work::Uses(uses) => nested::run(&self, uses, step, stop).await?,
            Work::Wait(Wait::File(path)) => {
                let exit = match self.known(&BTreeMap::new(), |known| path.render(known)) {
                    Ok(path) => wait::file(&run.session.root.join(path), step.timeout, stop).await,
                    Err(error) => Unable::logical(error.to_string()).into(),
                };
                self.ended(exit)
            }
            _ if self.again => self.ended(Exit::Interrupted),
            _ => match self.process_or_request(step, stop).await {
                Ok(ended) => ended,
                Err(unable) => self.ended(unable.into()),
            },
        };
        if ended.exit.is_success() && !step.artifacts.is_empty() {
            match artifacts(&run, step).await {
                Ok(found) => ended.artifacts = found,
                Err(unable) => ended.exit = unable.into(),
            }
        }
        Ok(Some(Happening::Ended(ended)))
    }

    async fn process_or_request(
        &self,
        step: &Step,
        stop: watch::Receiver<Stop>,
    ) -> Result<Ended, Unable> {
        // A program that prints a secret may take its time.
        let secrets = tokio::select! {
            found = self.secrets(step) => found?,
            () = told_to_end(stop.clone()) => return Ok(self.ended(Exit::Cancelled)),
        };
        let log = log::Target {
            path: log::path(&self.run.dir, &self.attempt),
            limit: self.run.session.log_limit,
            mask: self.run.mask().await,
            clock: Arc::clone(&self.run.session.clock),
        };
        let finished = if let Work::Http(http) = &step.work {
            let ask = self.known(&secrets, |known| http::Ask::new(http, known))?;
            let (timeout, outputs) = (step.timeout, step.outputs.clone());
            let job = http::Job {
                ask,
                timeout,
                log,
                outputs,
            };
            self.run
                .session
                .client
                .run(job, stop, self.on_output())
                .await
        } else {
            let job = self.job(step, &secrets, log)?;
            attempt::run(job, stop, self.on_output()).await
        };
        Ok(Ended {
            outputs: finished.outputs,
            ..self.ended(finished.exit)
        })
    }

    fn job(
        &self,
        step: &Step,
        secrets: &BTreeMap<String, String>,
        log: log::Target,
    ) -> Result<attempt::Job, Unable> {
        let run = &self.run;
        let output = log.path.with_extension("out");
        let root = &run.session.root;
        let cwd = step
            .cwd
            .as_ref()
            .map_or_else(|| root.clone(), |cwd| root.join(cwd));
        let env = self.known(secrets, |known| {
            environment::of_step(&self.parts(step, &output), known)
        });
        let env = env.map_err(|error| Unable::logical(error.to_string()))?;
        let path = env
            .iter()
            .find(|(name, _)| name == "PATH")
            .map(|(_, value)| value.as_str());
        let argv = match &step.work {
            Work::Run(script) => shell::argv(script, path, &cwd),
            Work::Exec(templates) => {
                let words = templates.iter();
                let render = |known: &Known<'_>| words.map(|word| word.render(known)).collect();
                let words: Result<Vec<String>, _> = self.known(&BTreeMap::new(), render);
                words.map_err(|error| Unable::logical(error.to_string()))?
            }
            _ => Vec::new(),
        };
        Ok(attempt::Job {
            command: Command { argv, env, cwd },
            timeout: step.timeout,
            grace: run.plan.parts().policy.grace,
            log,
            output,
            outputs: step.outputs.clone(),
        })
    }

    fn parts<'a>(&'a self, step: &'a Step, output: &'a Path) -> Parts<'a> {
        Parts {
            host: &self.run.session.host,
            pass: &self.run.session.pass,
            plan: &self.run.plan.parts().env,
            step: &step.env,
            params: &self.run.params,
            run: &self.run.this.id,
            attempt: &self.attempt,
            item: self.item.as_ref(),
            fan: &step.fan,
            output,
            workspace: &self.run.session.root,
        }
    }

    async fn secrets(&self, step: &Step) -> Result<BTreeMap<String, String>, Unable> {
        let mut found = BTreeMap::new();
        for name in secrets_read(step) {
            let name = EnvName::parse(name).map_err(|error| Unable::logical(error.to_string()))?;
            let secret = self.run.secrets.get(&name).await;
            let secret = secret.map_err(|error| Unable::environmental(error.to_string()))?;
            found.insert(name.to_string(), secret.expose().to_owned());
        }
        Ok(found)
    }

    /// Does something with what this attempt's templates read.
    pub(super) fn known<T>(
        &self,
        secrets: &BTreeMap<String, String>,
        with: impl FnOnce(&Known<'_>) -> T,
    ) -> T {
        with(&Known {
            run: &self.run.this.id,
            params: &self.run.params,
            reads: &self.reads,
            item: self.item.as_ref(),
            index: self.attempt.place.item,
            secrets,
        })
    }

    pub(super) fn ended(&self, exit: Exit) -> Ended {
        Ended {
            attempt: self.attempt.clone(),
            exit,
            outputs: Object::new(),
            artifacts: Vec::new(),
            standing: None,
        }
    }

    fn on_output(&self) -> Option<OnOutput> {
        let mut wants = false;
        self.run
            .session
            .observe(|observer| wants = observer.wants_output());
        let (run, attempt) = (Arc::clone(&self.run), self.attempt.clone());
        let show = move |stream: log::Stream, bytes: &[u8]| {
            let stream = match stream {
                log::Stream::Out => Stream::Out,
                log::Stream::Err | log::Stream::Note => Stream::Err,
            };
            run.session
                .observe(|observer| observer.output(&run.this, &attempt, stream, bytes));
        };
        wants.then(|| Box::new(show) as OnOutput)
    }
}

async fn told_to_end(mut stop: watch::Receiver<Stop>) {
    if stop.wait_for(|stop| *stop != Stop::No).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// The step of a place.
pub(super) fn step_of<'a>(run: &'a Ongoing, place: &Place) -> &'a Step {
    let ix = run.plan.find(place.step.as_str());
    run.plan
        .step(ix.expect("the machine names only steps of its plan"))
}

/// Puts the files away that a step leaves.
async fn artifacts(run: &Arc<Ongoing>, step: &Step) -> Result<Vec<Artifact>, Unable> {
    let (run, globs) = (Arc::clone(run), step.artifacts.clone());
    let collect = move || {
        let blobs = run.session.store.blobs();
        files::artifacts(&run.session.root, &globs, |path| blobs.put_file(path))
    };
    match tokio::task::spawn_blocking(collect).await {
        Ok(found) => found,
        Err(_) => Err(Unable::environmental(
            "the artifacts could not be collected",
        )),
    }
}

/// Runs the checks of an attempt, or the plan's own, one after the other; all of them.
pub(super) async fn check(
    run: Arc<Ongoing>,
    attempt: Option<Attempt>,
    item: Option<Item>,
    reads: Object,
    stop: watch::Receiver<Stop>,
) -> Report {
    let session = &run.session;
    let checks = match &attempt {
        Some(attempt) => &step_of(&run, &attempt.place).verify,
        None => &run.plan.parts().verify,
    };
    let ground = probe::Ground {
        root: session.root.clone(),
        host: Arc::clone(&session.host),
        mask: run.mask().await,
        clock: Arc::clone(&session.clock),
        grace: run.plan.parts().policy.grace,
        params: run.params.clone(),
    };
    let mut verdicts = Vec::with_capacity(checks.len());
    for check in checks {
        let trial = {
            let known = Known {
                run: &run.this.id,
                params: &run.params,
                reads: &reads,
                item: item.as_ref(),
                index: attempt.as_ref().and_then(|attempt| attempt.place.item),
                secrets: &BTreeMap::new(),
            };
            probe::Trial::new(check, &ground, &known)
        };
        let stopped = *stop.borrow() != Stop::No;
        verdicts.push(if stopped {
            not_run(check)
        } else {
            trial.run(stop.clone()).await
        });
    }
    Ok(Some(Happening::Judged { attempt, verdicts }))
}

/// The verdict on a criterion whose check was not run, because the run was told to end.
fn not_run(check: &crate::model::Check) -> Verdict {
    Verdict {
        name: check.name.clone(),
        ruling: Ruling::Error,
        expected: String::new(),
        found: "not run: the run was told to end".into(),
        evidence: String::new(),
        class: None,
        millis: 0,
    }
}

/// Holds a lock for a place.
pub(super) async fn lock(run: Arc<Ongoing>, place: Place, lock: String) -> Report {
    let session = &run.session;
    session
        .locks
        .hold(&session.store, &lock, &run.this.id, &place)
        .await?;
    Ok(Some(Happening::Locked { place }))
}

/// Gives a lock back.
pub(super) async fn unlock(run: Arc<Ongoing>, place: Place, lock: String) -> Report {
    let session = &run.session;
    session
        .locks
        .free(&session.store, &lock, &run.this.id, &place)
        .await?;
    Ok(None)
}
