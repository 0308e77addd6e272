//! The work of attempts running on this worker, whoever waits for it: a wait may be given up and taken up again.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use tokio::{sync::watch, task::JoinSet};

use wf_core::machine::{Attempt, InputKind};
use wf_exec::{StopLevel, supervisor::RunAttempt};

/// The result of work, once it has ended.
pub type WorkResult = Result<Vec<InputKind>, String>;

/// The work of attempts, until it is forgotten.
#[derive(Default)]
pub struct RunningWork {
    attempts: Mutex<BTreeMap<RunAttempt, WorkWait>>,
    tasks: Mutex<JoinSet<()>>,
}

/// A wait for work. To drop it ends the wait, and not the work.
#[derive(Clone)]
pub struct WorkWait {
    /// The number of looks at the files of its copy before the work began.
    pub looks: u64,
    stop: watch::Sender<StopLevel>,
    result: watch::Receiver<Option<WorkResult>>,
}

impl WorkWait {
    /// Waits until the work has ended, and passes stop requests on to it.
    pub async fn wait(mut self, mut stop: watch::Receiver<StopLevel>) -> WorkResult {
        loop {
            let result = self.result.borrow_and_update().clone();
            if let Some(ended) = result {
                return ended;
            }
            tokio::select! {
                changed = self.result.changed() => if changed.is_err() {
                    return Err("the work was aborted".into());
                },
                Ok(()) = stop.changed() => {
                    let stop_level = *stop.borrow_and_update();
                    self.stop.send_modify(|level| *level = (*level).max(stop_level));
                }
            }
        }
    }
}

impl RunningWork {
    /// Returns a wait for the work of an attempt, which is begun if it is not under way, after a number of looks.
    pub fn find_or_begin<F>(
        &self,
        attempt: &RunAttempt,
        looks: u64,
        begin: impl FnOnce(watch::Receiver<StopLevel>) -> F,
    ) -> WorkWait
    where
        F: Future<Output = WorkResult> + Send + 'static,
    {
        let mut attempts = self.attempts();
        let running = attempts.entry(attempt.clone()).or_insert_with(|| {
            let (stop, heard) = watch::channel(StopLevel::No);
            let (done, result) = watch::channel(None);
            let work = begin(heard);
            let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
            // What has ended is kept by the set until somebody asks for it.
            while tasks.try_join_next().is_some() {}
            tasks.spawn(async move {
                let ended = work.await;
                done.send_replace(Some(ended));
            });
            WorkWait { looks, stop, result }
        });
        running.clone()
    }

    /// Forgets the earlier attempts of a task, which are over.
    pub fn forget_before(&self, begun_attempt: &RunAttempt) {
        let RunAttempt { run, attempt } = begun_attempt.clone();
        let first = RunAttempt { run, attempt: Attempt { attempt: 0, ..attempt } };
        self.attempts().extract_if(first..begun_attempt.clone(), |_, _| true).for_each(drop);
    }

    /// Forgets the work of an attempt, so it can begin anew.
    pub fn forget(&self, attempt: &RunAttempt) {
        self.attempts().remove(attempt);
    }

    /// True if no work is under way.
    pub fn is_idle(&self) -> bool {
        self.attempts().values().all(|running| running.result.borrow().is_some())
    }

    fn attempts(&self) -> std::sync::MutexGuard<'_, BTreeMap<RunAttempt, WorkWait>> {
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot;
    use wf_base::name::{Name, RunId};
    use wf_core::machine::TaskId;

    fn attempt() -> RunAttempt {
        let attempt = Attempt { task_id: TaskId::of_step(&Name::parse("a").unwrap()), attempt: 1 };
        RunAttempt { run: RunId::from_bytes([1; 16]), attempt }
    }

    #[tokio::test]
    async fn work_goes_on_without_whoever_waits_and_is_begun_once() {
        let running = RunningWork::default();
        let (release, released) = oneshot::channel::<()>();
        let (_stop, heard) = watch::channel(StopLevel::No);
        let begin = |_| async move {
            released.await.unwrap();
            Ok(Vec::new())
        };
        let first = running.find_or_begin(&attempt(), 0, begin).wait(heard.clone());
        assert!(tokio::time::timeout(std::time::Duration::from_millis(5), first).await.is_err());
        assert!(!running.is_idle());
        release.send(()).unwrap();
        let never = |_| async { panic!("it is begun twice") };
        assert_eq!(running.find_or_begin(&attempt(), 0, never).wait(heard).await, Ok(Vec::new()));
        assert!(running.is_idle());
    }

    #[tokio::test]
    async fn a_stop_reaches_the_work() {
        let running = RunningWork::default();
        let (stop, heard) = watch::channel(StopLevel::No);
        let begin = |mut told: watch::Receiver<StopLevel>| async move {
            told.changed().await.unwrap();
            Err(format!("{:?}", *told.borrow()))
        };
        stop.send_replace(StopLevel::Gently);
        assert_eq!(running.find_or_begin(&attempt(), 0, begin).wait(heard).await, Err("Gently".to_owned()));
    }
}
