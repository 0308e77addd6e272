//! A deployed goal without its waits: its driver, its permits and its records, between two occurrences.
//!
//! **Invariant:** the same occurrences at the same times give the same duties and records; it reads no clock and does no I/O but
//! to write objects, whose names are their content.

use std::sync::Arc;

use wf_app::goals::{GoalAct, GoalDeployment};
use wf_base::{name::RunId, time::Moment};
use wf_core::goal::{GoalCommand, GoalDriver, GoalOccurrence, GoalRecord};

use crate::{
    files::objects::Objects,
    goals::{
        log::{GoalLog, run_of},
        permits::GoalPermits,
    },
    messages::goal_order::{
        BegunGoalMark, DeployedGoalSpec, GoalNews, GoalOrder, GoalProgress, NotificationErrand, RecordChain,
        RunErrand, RunReport, StoredRecord,
    },
    run::{
        driver::DEFAULT_QUEUE,
        plan::RunPlans,
        progress::{DriverError, require_own_rules},
    },
};

/// A duty of the waiter for a goal.
#[derive(Clone, Debug)]
pub enum GoalDuty {
    /// Start a run, unless it was started, and report on it.
    Run(RunErrand),
    Cancel(RunId),
    /// Send a notification.
    Notify(NotificationErrand),
}

/// A deployed goal between two occurrences.
pub struct GoalKeeper {
    order: GoalOrder,
    spec: Arc<DeployedGoalSpec>,
    driver: GoalDriver,
    permits: GoalPermits,
    log: GoalLog,
    objects: Objects,
}

impl GoalKeeper {
    /// Opens a goal; nothing happens until [`GoalKeeper::begin`].
    pub fn open(order: GoalOrder, plans: &RunPlans, objects: Objects) -> Result<Self, DriverError> {
        let spec: Arc<DeployedGoalSpec> = Arc::new(objects.get_json_now(&order.spec)?);
        require_own_rules(spec.logic_version)?;
        let progress: Option<GoalProgress> =
            order.progress.map(|digest| objects.get_json_now(&digest)).transpose()?;
        let (driver, account, records, now) =
            if let Some(GoalProgress { driver, permits, records, now }) = progress {
                (driver, Some(permits), records, now)
            } else {
                let GoalDeployment { name, goal, account, .. } = &spec.deployment;
                objects.put_json_now(&BegunGoalMark { begun_goal: name.clone() })?;
                let driver = GoalDriver::new(goal.clone(), name.clone(), account.clone());
                (driver, None, RecordChain::default(), Moment::default())
            };
        let mut permits = GoalPermits::open(&order.spec, Arc::clone(&spec), account, plans, objects.clone())?;
        permits.now = now;
        let log = GoalLog::new(records, objects.clone());
        Ok(Self { order, spec, driver, permits, log, objects })
    }

    /// Begins, or goes on: its runs are waited for again.
    pub fn begin(&mut self, at: Moment) -> Result<Vec<GoalDuty>, DriverError> {
        let running: Vec<RunId> = self.driver.running().map(|(run, _)| run.clone()).collect();
        let mut duties: Vec<GoalDuty> = running.iter().filter_map(|run| self.errand(run)).collect();
        duties.extend(self.step(at, GoalOccurrence::Woke)?);
        Ok(duties)
    }

    /// Processes the passing of time.
    pub fn wake_up(&mut self, at: Moment) -> Result<Vec<GoalDuty>, DriverError> {
        self.step(at, GoalOccurrence::Woke)
    }

    /// Processes the act of a person.
    pub fn act(&mut self, at: Moment, act: GoalAct) -> Result<Vec<GoalDuty>, DriverError> {
        let occurrence = match act {
            GoalAct::Pause { reason } => GoalOccurrence::Pause { reason },
            GoalAct::Resume => GoalOccurrence::Resume,
            GoalAct::Request => GoalOccurrence::Request,
            GoalAct::Recall { cancels } => GoalOccurrence::Recall { cancels },
            GoalAct::Withdraw => {
                self.permits.account.withdrawn.get_or_insert(at);
                GoalOccurrence::Woke
            }
        };
        self.step(at, occurrence)
    }

    /// Processes a report on a run.
    pub fn report(
        &mut self,
        at: Moment,
        run: RunId,
        report: RunReport,
    ) -> Result<Vec<GoalDuty>, DriverError> {
        match report {
            RunReport::Waits => {
                let mut duties = self.step(at, GoalOccurrence::Waits { run: run.clone() })?;
                duties.extend(self.errand(&run));
                Ok(duties)
            }
            RunReport::Ended { end, tree } => {
                self.permits.account.open.remove(&run);
                if let Some(tree) = tree {
                    self.permits.account.tree = tree;
                }
                self.step(at, GoalOccurrence::Ended { run, end })
            }
        }
    }

    /// Returns the time when it is to be woken; `None`: only if something happens.
    pub fn wake(&self) -> Option<Moment> {
        self.driver.wake()
    }

    /// Returns the reason why an act is refused, if it is. A recall may be repeated, to cancel what it did not.
    pub fn refusal(&self, act: &GoalAct) -> Option<String> {
        let id = &self.driver.goal().id;
        match act {
            GoalAct::Recall { .. } => None,
            _ if self.driver.is_recalled() => Some("the goal was recalled".into()),
            GoalAct::Request if self.driver.is_paused() => {
                Some(format!("{id} is paused; resume it first: wf goal resume {id}"))
            }
            _ => None,
        }
    }

    /// True if all is over, and recorded.
    pub fn is_over(&self) -> bool {
        self.driver.is_over()
    }

    /// Returns the news for the readers of its records.
    pub fn news(&self) -> GoalNews {
        self.log.news()
    }

    /// Stores the goal, and returns the order going on with it.
    pub fn store(&mut self) -> Result<GoalOrder, DriverError> {
        let stored = GoalProgress {
            driver: self.driver.clone(),
            permits: self.permits.account.clone(),
            records: self.log.seal()?,
            now: self.permits.now,
        };
        let progress = Some(self.objects.put_json_now(&stored)?);
        Ok(GoalOrder { progress, ..self.order.clone() })
    }

    fn step(&mut self, at: Moment, occurrence: GoalOccurrence) -> Result<Vec<GoalDuty>, DriverError> {
        self.permits.now = self.permits.now.max(at);
        let now = self.permits.now;
        let commands = self.driver.step(now, occurrence, &mut self.permits);
        self.permits.take_failure()?;
        let records = self.driver.take_records();
        let records = records.into_iter().map(|record| self.stored(record)).collect();
        self.log.add(records)?;
        Ok(commands.into_iter().flat_map(|command| self.duties(command)).collect())
    }

    /// Returns a record with the run it says was started.
    fn stored(&self, record: GoalRecord) -> StoredRecord {
        let run = run_of(&record.fact).and_then(|run| self.permits.account.open.get(run));
        StoredRecord { spec: run.map(|run| run.spec), record }
    }

    fn duties(&self, command: GoalCommand) -> Vec<GoalDuty> {
        match command {
            GoalCommand::Start(run) => self.errand(&run.run).into_iter().collect(),
            GoalCommand::Cancel(run) => vec![GoalDuty::Cancel(run)],
            GoalCommand::Notify(notices) => {
                let (spec, tree) = (self.order.spec, self.permits.account.tree);
                let errand = |notice| GoalDuty::Notify(NotificationErrand { spec, tree, notice });
                notices.into_iter().map(errand).collect()
            }
        }
    }

    /// Returns the duty to wait for a run that has not ended.
    fn errand(&self, run: &RunId) -> Option<GoalDuty> {
        let permitted = self.permits.account.open.get(run)?;
        let is_waiting = self.driver.running().any(|(running_run, waits)| running_run == run && waits);
        Some(GoalDuty::Run(RunErrand {
            run: run.clone(),
            spec: permitted.spec,
            queue: self.spec.queues.get(DEFAULT_QUEUE).cloned().unwrap_or_default(),
            wants_files: permitted.changes_files,
            is_waiting,
        }))
    }
}
