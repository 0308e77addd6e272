use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::watch;

use super::children::Children;
use super::lead::{Lead, Standby, lead};
use super::look::{Start, look, pause};
use super::reload::Goals;
use super::report::Account;
use super::waits::{Alive, Event, Stop, Waits};
use super::warp::Warp;
use crate::cli::{Exit, Failure, Ui, load};
use crate::goal::Agenda;
use crate::model::Goal;
use crate::name::{PlanId, RunId};
use crate::report::{BAD, paint, plural};
use crate::service::health::{Endpoint, Health};
use crate::service::systemd::Tell;
use crate::spec::Disk;
use crate::time::Moment;

/// How a daemon is to work.
#[derive(Clone, Debug)]
pub struct Service {
    /// The branch that goals are read from; `None`: the files as they are.
    pub branch: Option<String>,
    /// Where it answers how it does.
    pub health: Option<SocketAddr>,
    /// Whether it waits for another daemon to end.
    pub standby: bool,
    /// How many cycles run at once.
    pub jobs: usize,
    /// How long it waits for cycles when it is to end.
    pub drain: Duration,
    /// Whether it looks once.
    pub once: bool,
}

/// Keeps the goals of a workspace true until it is told to end.
pub fn run(ui: &Ui, service: Service) -> Result<Exit, Failure> {
    let notify = Tell::new(ui.env.var("NOTIFY_SOCKET")).map_err(|error| system(&error))?;
    if service.standby {
        // For whoever waits for it, one that waits is up: it may wait for days.
        let _ = notify.ready("stands by");
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| system(&error))?;
    let ended = keep(ui, service, notify, &runtime);
    // What waits for cycles that go on waits no more: dropping the runtime would.
    runtime.shutdown_background();
    ended
}

/// Leads, and keeps goals true from then on.
fn keep(ui: &Ui, service: Service, notify: Tell, runtime: &Runtime) -> Result<Exit, Failure> {
    let entered = runtime.enter();
    let (mut stop, mut alive) = (Stop::listen()?, Alive::of(ui));
    drop(entered);
    let standby = service.standby.then_some(Standby {
        notify: &notify,
        alive: &mut alive,
    });
    let Some(lead) = runtime.block_on(lead(ui, &mut stop, standby))? else {
        return Ok(Exit::Ok);
    };
    let goals = Goals::read(ui, service.branch.clone())?;
    if !service.once {
        keeps(ui)?;
    }
    let daemon = Daemon {
        ui,
        service,
        lead,
        goals,
        notify,
        alive,
        warp: ui.env.warp(),
        agenda: Agenda::default(),
        children: Children::default(),
        failed: BTreeMap::new(),
        orphans: BTreeMap::new(),
        tried: BTreeMap::new(),
        replaced: BTreeSet::new(),
        untold: None,
        trouble: 0,
        health: watch::Sender::new(Health::default()),
        accounts: BTreeMap::new(),
    };
    runtime.block_on(daemon.live(stop))
}

/// Says so where runs are kept for ever: a daemon makes many.
fn keeps(ui: &Ui) -> Result<(), Failure> {
    let workspace = ui.workspace();
    let files = Disk::new(&workspace.root);
    let (config, _) = load::configuration(ui, &files, &workspace)?;
    if config.retention.max_age.is_none() && config.retention.max_runs.is_none() {
        ui.note(
            "runs are kept for ever: `retention: {max_age: 30d}` in wf.yaml lets old ones go\n",
        );
    }
    Ok(())
}

pub(super) fn system(error: &std::io::Error) -> Failure {
    Failure::new(Exit::State, error.to_string())
}

pub(super) struct Daemon<'a> {
    pub(super) ui: &'a Ui,
    pub(super) service: Service,
    pub(super) lead: Lead,
    pub(super) goals: Goals,
    pub(super) notify: Tell,
    pub(super) alive: Alive,
    /// Which goals are to be looked at when.
    pub(super) agenda: Agenda<PlanId>,
    pub(super) warp: Option<Warp>,
    pub(super) children: Children,
    /// The slots whose processes ended without having begun a cycle: how often, and until when
    /// they are let be.
    pub(super) failed: BTreeMap<(String, Moment), (u32, Moment)>,
    /// The cycles whose processes died under this daemon: how often, and when they are gone on
    /// with.
    pub(super) orphans: BTreeMap<RunId, (u32, Moment)>,
    /// The cycles that waited for people and were gone on with: how much was heard then.
    pub(super) tried: BTreeMap<RunId, usize>,
    /// The cycles that were asked to end since a later slot replaces them.
    pub(super) replaced: BTreeSet<RunId>,
    /// When people are tried to be told again what they could not be told.
    pub(super) untold: Option<Moment>,
    /// How often the ledger could not be used, in a row.
    pub(super) trouble: u32,
    pub(super) health: watch::Sender<Health>,
    /// What the health endpoint counts of each goal.
    pub(super) accounts: BTreeMap<PlanId, Account>,
}

impl Daemon<'_> {
    async fn live(mut self, mut stop: Stop) -> Result<Exit, Failure> {
        let mut waits = self.waits()?;
        // What changed since they were read and before they were watched is seen here.
        self.goals.again(self.ui).await?;
        self.attend_all();
        self.adopt()?;
        let mut asked = tokio::task::JoinSet::new();
        let endpoint = match self.service.health {
            Some(address) => Some(
                Endpoint::bind(address)
                    .await
                    .map_err(|error| system(&error))?,
            ),
            None => None,
        };
        if let Some(endpoint) = endpoint {
            self.ui
                .note(&format!("answers at http://{}\n", endpoint.address()));
            let health = self.health.subscribe();
            asked.spawn(async move { endpoint.serve(health).await });
        }
        let since = self.ui.env.now();
        self.health.send_modify(|health| {
            (health.since, health.leads) = (since, true);
        });
        let mut wake = tokio::select! {
            biased;
            looked = self.look() => looked?,
            () = stop.told() => return self.stop(stop).await,
        };
        let _ = self.notify.ready(&self.status(wake));
        if !self.service.once {
            self.ui.note_line(&format!("leads · {}", self.status(wake)));
        }
        loop {
            if self.service.once && self.children.len() == 0 {
                return Ok(self.once());
            }
            let event = self.event(&mut waits, &mut stop, wake).await?;
            match event {
                Event::Watchdog => {
                    let _ = self.notify.alive();
                    continue;
                }
                Event::Stop => return self.stop(stop).await,
                Event::Alarm | Event::Gone | Event::Changed | Event::Reload => {}
            }
            // Whoever waits for the ledger, or for files, can be told to end all the same.
            wake = tokio::select! {
                biased;
                looked = self.take(&event, &mut waits) => looked?,
                () = stop.told() => return self.stop(stop).await,
            };
            let _ = self.notify.status(&self.status(wake));
        }
    }

    /// Does what follows from what came; gives when to look again.
    async fn take(&mut self, event: &Event, waits: &mut Waits) -> Result<Option<Moment>, Failure> {
        match event {
            Event::Changed => self.changed(waits).await?,
            Event::Reload => {
                let _ = self.notify.reloading();
                self.changed(waits).await?;
                let _ = self.notify.ready(&self.status(None));
            }
            Event::Alarm | Event::Gone | Event::Stop | Event::Watchdog => {}
        }
        self.look().await
    }

    /// Every goal is looked at the next time.
    fn attend_all(&mut self) {
        self.agenda = Agenda::default();
        self.forget_gone();
        for goal in self.goals.goals().keys() {
            self.agenda.add(goal.clone());
        }
    }

    /// The exit code of one look: whether all that was due could begin.
    fn once(&self) -> Exit {
        if self.failed.is_empty() && self.trouble == 0 {
            Exit::Ok
        } else {
            Exit::RunFailed
        }
    }

    /// Looks at the goals that are due and begins what is to begin; gives when to look again.
    async fn look(&mut self) -> Result<Option<Moment>, Failure> {
        let now = self.ui.env.now();
        let due = self.agenda.due(now);
        let goals = due.iter().filter_map(|id| self.goals.goals().get(id));
        let goals: Vec<Arc<Goal>> = goals.cloned().collect();
        let looked = look(&self.lead, &goals, now).await?;
        for (goal, turn) in &looked.turns {
            self.agenda.put(&goal.id, turn);
            for run in &turn.cancel {
                if self.replaced.insert(run.clone())
                    && let Err(failure) = self.cancel(goal.id.as_str(), run)
                {
                    self.ui.say(&failure.render());
                }
            }
        }
        for goal in &looked.left {
            self.agenda.remove(&goal.id);
            self.agenda.add(goal.id.clone());
        }
        let mut wakes: Vec<Moment> = self.agenda.wake().into_iter().collect();
        wakes.extend(self.answered(now));
        wakes.extend(self.go_on(now));
        for (goal, turn) in &looked.turns {
            for (slot, cause) in &turn.start {
                // It is due until its process claims it.
                self.agenda.add(goal.id.clone());
                wakes.extend(self.start(&Start::of(goal, *slot, *cause), now));
            }
        }
        if let Some(error) = &looked.trouble {
            self.trouble += 1;
            wakes.push(now.after(pause(self.trouble)));
            let (bad, remedy) = (paint(BAD, "error:"), error.remedy());
            self.ui.say_line(&format!("{bad} {error}; {remedy}"));
        } else {
            self.trouble = 0;
        }
        wakes.extend(self.tell(now));
        self.report(&looked);
        Ok(wakes.into_iter().min())
    }

    /// Reads the goals again.
    async fn changed(&mut self, waits: &mut Waits) -> Result<(), Failure> {
        // Slots of schedules that are about to change are accounted for as what they were.
        let goals: Vec<Arc<Goal>> = self.goals.goals().values().cloned().collect();
        look(&self.lead, &goals, self.ui.env.now()).await?;
        // Watched first, then read: what changes in between is seen as one more change.
        waits.watch = self.watch();
        if let Err(failure) = self.goals.again(self.ui).await {
            self.ui.say(&failure.render());
        }
        self.attend_all();
        // What could not go on may now.
        self.tried.clear();
        if let Err(failure) = self.adopt() {
            self.ui.say(&failure.render());
        }
        Ok(())
    }

    /// Begins nothing more; waits for what goes on, not for ever.
    async fn stop(mut self, mut stop: Stop) -> Result<Exit, Failure> {
        let _ = self.notify.stopping();
        let end = tokio::time::Instant::now() + self.service.drain;
        let mut insists = 0;
        while self.children.len() > 0 {
            let count = self.children.len();
            if insists == 0 {
                let cycles = plural(count, "cycle");
                self.ui.note_line(&format!("waits for {cycles} to end"));
            }
            tokio::select! {
                gone = self.children.ended() => self.note(&gone),
                () = tokio::time::sleep_until(end) => {
                    let cycles = plural(count, "cycle");
                    self.ui.say_line(&format!("left {cycles} behind; the next daemon goes on with what is left"));
                    break;
                }
                () = stop.told() => { insists += 1; self.children.cancel_all(); }
                () = self.alive.next() => drop(self.notify.alive()),
            }
        }
        if !self.lead.end() {
            self.ui.note("another process holds the database; the next daemon decides what was not written\n");
        }
        Ok(Exit::Ok)
    }
}
