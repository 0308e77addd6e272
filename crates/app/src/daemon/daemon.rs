use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::Arc,
    time::Duration,
};

use tokio::{runtime::Runtime, sync::watch};

use super::{
    broken,
    children::ChildProcesses,
    deployed, idle_runs,
    lead::{DaemonStandby, Leadership, acquire_leadership},
    look::{DueReconciliation, backoff_pause, examine_goals},
    reload::LoadedGoals,
    report::{self, GoalCounters},
    waits::{DaemonEvent, DaemonEventSources, StopSignals, WatchdogTimer},
};
use crate::{
    Caller, CliExitCode, CommandError, TestClock,
    daemon_io::{
        health::{DaemonHealth, HealthEndpoint},
        systemd::SystemdNotifier,
    },
    specs::load,
};
use wf_base::{
    name::{PlanId, RunId},
    time::Moment,
    units::plural,
    untrusted::{BAD, paint},
};
use wf_core::goal::GoalAgenda;
use wf_lang::DiskFiles;
use wf_model::Goal;

/// The options of a daemon.
#[derive(Clone, Debug)]
pub struct DaemonOptions {
    /// The branch of the goals; `None`: the files as they are.
    pub branch: Option<String>,
    /// The address of its health endpoint.
    pub health: Option<SocketAddr>,
    /// True if it waits for another daemon to exit.
    pub standby: bool,
    /// The maximum number of concurrent reconciliations.
    pub jobs: usize,
    /// The time it waits for reconciliations on shutdown.
    pub drain: Duration,
    /// True if it checks once and exits.
    pub once: bool,
}

/// Begins what else a process does once its daemon leads.
pub type LeadHook<'h> = &'h dyn Fn() -> Result<(), CommandError>;

/// Runs the scheduler for the goals of a workspace until it is asked to exit.
pub fn run(
    caller: &dyn Caller,
    options: DaemonOptions,
    on_lead: LeadHook<'_>,
) -> Result<CliExitCode, CommandError> {
    let notify = SystemdNotifier::new(caller.host().var("NOTIFY_SOCKET")).map_err(|error| system(&error))?;
    if options.standby {
        // For the service manager, a standby daemon is up: it may wait for days.
        let _ = notify.ready("standby");
    }
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| system(&error))?;
    let ended = lead_and_schedule(caller, options, notify, &runtime, on_lead);
    // Waits for running reconciliations end here: dropping the runtime would block on them.
    runtime.shutdown_background();
    ended
}

/// Acquires the lead, and schedules goals from then on.
fn lead_and_schedule(
    caller: &dyn Caller,
    options: DaemonOptions,
    notify: SystemdNotifier,
    runtime: &Runtime,
    on_lead: LeadHook<'_>,
) -> Result<CliExitCode, CommandError> {
    let entered = runtime.enter();
    let (mut stop, mut alive) = (StopSignals::listen()?, WatchdogTimer::of(caller));
    drop(entered);
    let standby = options.standby.then_some(DaemonStandby { notify: &notify, watchdog: &mut alive });
    let Some(lead) = runtime.block_on(acquire_leadership(caller, &mut stop, standby))? else {
        return Ok(CliExitCode::Ok);
    };
    on_lead()?;
    let goals = LoadedGoals::read(caller, options.branch.clone())?;
    if !options.once {
        warn_of_unlimited_retention(caller)?;
    }
    let daemon = Daemon {
        caller,
        options,
        leadership: lead,
        goals,
        systemd: notify,
        watchdog: alive,
        test_clock: caller.host().warp(),
        agenda: GoalAgenda::default(),
        children: ChildProcesses::default(),
        failed_starts: BTreeMap::new(),
        orphans: BTreeMap::new(),
        answers_at_resume: BTreeMap::new(),
        due_at_resume: BTreeMap::new(),
        replaced: BTreeSet::new(),
        deployed: BTreeMap::new(),
        notification_retry_at: None,
        ledger_failures: 0,
        health: watch::Sender::new(DaemonHealth::default()),
        accounts: BTreeMap::new(),
    };
    runtime.block_on(daemon.run_loop(stop))
}

/// Warns where runs are kept forever: a daemon creates many.
fn warn_of_unlimited_retention(caller: &dyn Caller) -> Result<(), CommandError> {
    let workspace = caller.host().workspace();
    let files = DiskFiles::new(&workspace.root);
    let (config, _) = load::configuration(caller, &files, &workspace)?;
    if config.retention.limits().is_none() {
        caller.info("run history is never pruned: wf.yaml sets `retention: {}`\n");
    }
    Ok(())
}

pub(super) fn system(error: &std::io::Error) -> CommandError {
    CommandError::new(CliExitCode::State, error.to_string())
}

pub(super) struct Daemon<'a> {
    pub(super) caller: &'a dyn Caller,
    pub(super) options: DaemonOptions,
    pub(super) leadership: Leadership,
    pub(super) goals: LoadedGoals,
    pub(super) systemd: SystemdNotifier,
    pub(super) watchdog: WatchdogTimer,
    /// The times to examine goals.
    pub(super) agenda: GoalAgenda<PlanId>,
    pub(super) test_clock: Option<TestClock>,
    pub(super) children: ChildProcesses,
    /// The scheduled times whose processes exited without having started a reconciliation: the
    /// number of failures, and the end of the pause.
    pub(super) failed_starts: BTreeMap<(String, Moment), (u32, Moment)>,
    /// The reconciliations whose processes died under this daemon: the number of deaths, and the
    /// time of the next attempt to resume.
    pub(super) orphans: BTreeMap<RunId, (u32, Moment)>,
    /// The resumed reconciliations, with the number of answers at that time.
    pub(super) answers_at_resume: BTreeMap<RunId, usize>,
    /// The resumed runs, with their progress at that time.
    pub(super) due_at_resume: BTreeMap<RunId, usize>,
    /// The reconciliations asked to exit, replaced by a later scheduled time.
    pub(super) replaced: BTreeSet<RunId>,
    /// The deployed goals: the number of failures in a row to record what happens to each, and the end of the pause.
    pub(super) deployed: BTreeMap<PlanId, (u32, Moment)>,
    /// The time to try failed notifications again.
    pub(super) notification_retry_at: Option<Moment>,
    /// The number of consecutive failures to use the ledger.
    pub(super) ledger_failures: u32,
    pub(super) health: watch::Sender<DaemonHealth>,
    /// The counters of each goal for the health endpoint.
    pub(super) accounts: BTreeMap<PlanId, GoalCounters>,
}

impl Daemon<'_> {
    async fn run_loop(mut self, mut stop: StopSignals) -> Result<CliExitCode, CommandError> {
        let mut waits = self.open_event_sources()?;
        // Changes since they were read and before they were watched are seen here.
        self.goals.reload(self.caller).await?;
        self.mark_all_due();
        self.resume_abandoned()?;
        let mut listeners = tokio::task::JoinSet::new();
        let endpoint = match self.options.health {
            Some(address) => Some(HealthEndpoint::bind(address).await.map_err(|error| system(&error))?),
            None => None,
        };
        if let Some(endpoint) = endpoint {
            self.caller.info(&format!("listening on http://{}\n", endpoint.address()));
            let health = self.health.subscribe();
            listeners.spawn(async move { endpoint.serve(health).await });
        }
        let since = self.caller.host().now();
        self.health.send_modify(|health| {
            (health.since, health.leads) = (since, true);
        });
        let mut wake = tokio::select! {
            biased;
            looked = self.examine_due() => looked?,
            () = stop.exit_requested() => return self.shut_down(stop).await,
        };
        let _ = self.systemd.ready(&report::status(&self, wake));
        if !self.options.once {
            self.caller.info_line(&format!("leader, {}", report::status(&self, wake)));
        }
        loop {
            if self.options.once && self.children.is_empty() {
                return Ok(self.single_check_exit_code());
            }
            let event = self.next_event(&mut waits, &mut stop, wake).await?;
            match event {
                DaemonEvent::Watchdog => {
                    let _ = self.systemd.keep_alive();
                    continue;
                }
                DaemonEvent::Stop => return self.shut_down(stop).await,
                DaemonEvent::Alarm
                | DaemonEvent::ChildExited
                | DaemonEvent::FilesChanged
                | DaemonEvent::Reload => {}
            }
            // While waiting for the ledger, or for files, the daemon can still be asked to exit.
            wake = tokio::select! {
                biased;
                looked = self.handle_event(&event, &mut waits) => looked?,
                () = stop.exit_requested() => return self.shut_down(stop).await,
            };
            let _ = self.systemd.status(&report::status(&self, wake));
        }
    }

    /// Handles an event; returns the time of the next check.
    async fn handle_event(
        &mut self,
        event: &DaemonEvent,
        sources: &mut DaemonEventSources,
    ) -> Result<Option<Moment>, CommandError> {
        match event {
            DaemonEvent::FilesChanged => self.reload_goals(sources).await?,
            DaemonEvent::Reload => {
                let _ = self.systemd.reloading();
                self.reload_goals(sources).await?;
                let _ = self.systemd.ready(&report::status(self, None));
            }
            DaemonEvent::Alarm | DaemonEvent::ChildExited | DaemonEvent::Stop | DaemonEvent::Watchdog => {}
        }
        self.examine_due().await
    }

    /// Marks every goal for the next check.
    fn mark_all_due(&mut self) {
        self.agenda = GoalAgenda::default();
        report::forget_removed_goals(self);
        deployed::find_deployed(self);
        for goal in self.goals.goals().keys().filter(|goal| !self.deployed.contains_key(*goal)) {
            self.agenda.add(goal.clone());
        }
    }

    /// The exit code of a single check: success if all due reconciliations could start.
    fn single_check_exit_code(&self) -> CliExitCode {
        if self.failed_starts.is_empty() && self.ledger_failures == 0 {
            CliExitCode::Ok
        } else {
            CliExitCode::RunFailed
        }
    }

    /// Examines the goals due and starts their reconciliations; returns the time of the next check.
    async fn examine_due(&mut self) -> Result<Option<Moment>, CommandError> {
        let now = self.caller.host().now();
        let due = self.agenda.due(now);
        let goals = due.iter().filter_map(|id| self.goals.goals().get(id));
        let goals: Vec<Arc<Goal>> = goals.cloned().collect();
        let examination = examine_goals(&self.leadership, &goals, now).await?;
        for (goal, turn) in &examination.turns {
            self.agenda.put(&goal.id, turn);
            for run in &turn.cancel {
                if self.replaced.insert(run.clone())
                    && let Err(error) = self.cancel(goal.id.as_str(), run)
                {
                    self.report_failure(Some(goal.id.as_str()), &error);
                }
            }
        }
        for goal in &examination.unaccounted {
            self.agenda.remove(&goal.id);
            self.agenda.add(goal.id.clone());
        }
        let mut wakes: Vec<Moment> = self.agenda.wake().into_iter().collect();
        wakes.extend(self.resume_answered(now));
        wakes.extend(self.resume_orphans(now));
        wakes.extend(idle_runs::resume_due_runs(self, now));
        wakes.extend(deployed::sync_deployed(self, now));
        for (goal, turn) in &examination.turns {
            for (slot, cause) in &turn.start {
                // It is due until its process claims it.
                self.agenda.add(goal.id.clone());
                wakes.extend(self.start(&DueReconciliation::of(goal, *slot, *cause), now));
            }
        }
        if let Some(error) = &examination.error {
            self.ledger_failures += 1;
            wakes.push(now.after(backoff_pause(self.ledger_failures)));
            let (bad, remedy) = (paint(BAD, "error:"), self.caller.remedy_text(&error.remedy()));
            self.caller.message_line(&format!("{bad} {error}; {remedy}"));
        } else {
            self.ledger_failures = 0;
        }
        wakes.extend(broken::miss_broken(self, now).await);
        wakes.extend(self.send_notifications(now));
        report::update_health(self, &examination);
        Ok(wakes.into_iter().min())
    }

    /// Reads the goals again.
    async fn reload_goals(&mut self, sources: &mut DaemonEventSources) -> Result<(), CommandError> {
        // Times of schedules that are about to change are accounted for under the old schedule.
        let goals = self.goals.goals().values().filter(|goal| !self.deployed.contains_key(&goal.id));
        let goals: Vec<Arc<Goal>> = goals.cloned().collect();
        examine_goals(&self.leadership, &goals, self.caller.host().now()).await?;
        // Watched first, then read: a change in between is seen as one more change.
        sources.file_watcher = self.watch();
        if let Err(error) = self.goals.reload(self.caller).await {
            self.report_failure(None, &error);
        }
        self.mark_all_due();
        // Those that could not be resumed may be now.
        self.answers_at_resume.clear();
        self.due_at_resume.clear();
        if let Err(error) = self.resume_abandoned() {
            self.report_failure(None, &error);
        }
        Ok(())
    }

    /// Starts nothing more; waits for running reconciliations, but not forever.
    async fn shut_down(mut self, mut stop: StopSignals) -> Result<CliExitCode, CommandError> {
        let _ = self.systemd.stopping();
        self.children.leave_deployed_goals();
        let end = tokio::time::Instant::now() + self.options.drain;
        let mut insists = 0;
        while self.children.work_count() > 0 {
            let count = self.children.work_count();
            if insists == 0 {
                let cycles = plural(count, "reconciliation");
                self.caller.info_line(&format!("waiting for {cycles} to finish"));
            }
            tokio::select! {
                gone = self.children.next_exit() => self.record_exit(&gone),
                () = tokio::time::sleep_until(end) => {
                    let cycles = plural(count, "reconciliation");
                    self.caller.message_line(&format!("left {cycles} unfinished; the next daemon resumes them"));
                    break;
                }
                () = stop.exit_requested() => { insists += 1; self.children.cancel_all(); }
                () = self.watchdog.next() => drop(self.systemd.keep_alive()),
            }
        }
        if !self.leadership.resign() {
            self.caller.info(
                "the database is locked by another process; the next daemon decides what was not written\n",
            );
        }
        Ok(CliExitCode::Ok)
    }
}
