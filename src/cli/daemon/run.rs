use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use super::children::{Children, Errand, Gone, Way};
use super::lead::{Lead, lead};
use super::look::{Look, Start, look, pause};
use super::reload::Goals;
use super::warp::Warp;
use crate::cli::goals::tell;
use crate::cli::{Exit, Failure, Ui};
use crate::report::{BAD, WARN, paint};
use crate::service::alarm::Alarm;
use crate::service::health::{Endpoint, GoalHealth, Health};
use crate::service::systemd::{Tell, sign_of_life};
use crate::service::watch::Watch;
use crate::store::RunState;
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
    let lead = lead(ui, service.standby)?;
    let goals = Goals::read(ui, service.branch.clone())?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| system(&error))?;
    let warp = ui.env.warp();
    let daemon = Daemon {
        ui,
        service,
        lead,
        goals,
        notify,
        warp,
        children: Children::default(),
        failed: BTreeMap::new(),
        orphans: BTreeMap::new(),
        trouble: 0,
        health: watch::Sender::new(Health::default()),
    };
    runtime.block_on(daemon.live())
}

fn system(error: &std::io::Error) -> Failure {
    Failure::new(Exit::State, error.to_string())
}

struct Daemon<'a> {
    ui: &'a Ui,
    service: Service,
    lead: Lead,
    goals: Goals,
    notify: Tell,
    warp: Option<Warp>,
    children: Children,
    /// The slots whose processes ended without having begun a cycle: how often, and until when
    /// they are let be.
    failed: BTreeMap<(String, Moment), (u32, Moment)>,
    /// The cycles whose processes died under this daemon: how often, and when they are gone on
    /// with.
    orphans: BTreeMap<crate::name::RunId, (u32, Moment)>,
    /// How often the ledger could not be used, in a row.
    trouble: u32,
    health: watch::Sender<Health>,
}

/// What wakes a daemon up.
enum Event {
    /// A slot, or the end of a pause.
    Alarm,
    /// A file changed.
    Changed,
    /// A process ended.
    Gone,
    /// It is told to end.
    Stop,
    /// It is told to read everything again.
    Reload,
    /// It is to say that it lives.
    Watchdog,
}

/// What a daemon waits for.
struct Waits {
    alarm: Alarm,
    watch: Option<Watch>,
    stop: [Signal; 2],
    reload: Signal,
    watchdog: Option<tokio::time::Interval>,
}

impl Daemon<'_> {
    async fn live(mut self) -> Result<Exit, Failure> {
        let mut waits = self.waits()?;
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
        let mut wake = self.look()?;
        let _ = self.notify.ready(&self.status(wake));
        loop {
            if self.service.once && self.children.len() == 0 {
                return Ok(Exit::Ok);
            }
            match self.event(&mut waits, wake).await? {
                Event::Alarm | Event::Gone => {}
                Event::Changed => self.changed(&mut waits)?,
                Event::Reload => {
                    let _ = self.notify.reloading();
                    self.changed(&mut waits)?;
                    let _ = self.notify.ready(&self.status(wake));
                }
                Event::Watchdog => {
                    let _ = self.notify.alive();
                    continue;
                }
                Event::Stop => return self.stop(waits).await,
            }
            wake = self.look()?;
            let _ = self.notify.status(&self.status(wake));
        }
    }

    fn waits(&self) -> Result<Waits, Failure> {
        let listen = |kind| signal(kind).map_err(|error| system(&error));
        let var = |name| self.ui.env.var(name);
        let alive = sign_of_life(
            var("WATCHDOG_USEC"),
            var("WATCHDOG_PID"),
            std::process::id(),
        );
        Ok(Waits {
            alarm: Alarm::new().map_err(|error| system(&error))?,
            watch: self.watch(),
            stop: [
                listen(SignalKind::interrupt())?,
                listen(SignalKind::terminate())?,
            ],
            reload: listen(SignalKind::hangup())?,
            watchdog: alive.map(tokio::time::interval),
        })
    }

    /// Watches files; where that cannot be, a reload must be asked for.
    fn watch(&self) -> Option<Watch> {
        match self.goals.watch() {
            Ok(watch) => Some(watch),
            Err(error) => {
                let warning = paint(WARN, "warning:");
                self.ui.say(&format!(
                    "{warning} changes of files are not seen ({error}): send SIGHUP after one\n"
                ));
                None
            }
        }
    }

    /// Waits for what comes next.
    async fn event(&mut self, waits: &mut Waits, wake: Option<Moment>) -> Result<Event, Failure> {
        if let Some(warp) = &self.warp {
            // No time passes while somebody works.
            if self.children.len() > 0 {
                let gone = self.children.ended().await;
                self.note(&gone);
                return Ok(Event::Gone);
            }
            return Ok(if warp.go(wake) {
                Event::Alarm
            } else {
                Event::Stop
            });
        }
        let [interrupt, terminate] = &mut waits.stop;
        let changed = async {
            match &mut waits.watch {
                Some(watch) => watch.changed().await,
                None => std::future::pending().await,
            }
        };
        let alive = async {
            match &mut waits.watchdog {
                Some(interval) => drop(interval.tick().await),
                None => std::future::pending().await,
            }
        };
        let gone = tokio::select! {
            _ = interrupt.recv() => return Ok(Event::Stop),
            _ = terminate.recv() => return Ok(Event::Stop),
            _ = waits.reload.recv() => return Ok(Event::Reload),
            () = alive => return Ok(Event::Watchdog),
            gone = self.children.ended() => gone,
            // An error is a change, too.
            _ = changed => return Ok(Event::Changed),
            woken = waits.alarm.until(wake) => {
                woken.map_err(|error| system(&error))?;
                return Ok(Event::Alarm);
            }
        };
        self.note(&gone);
        Ok(Event::Gone)
    }

    /// Takes note of how a process ended.
    fn note(&mut self, gone: &Gone) {
        self.note_orphan(&gone.errand);
        let Errand::Slot(start) = &gone.errand else {
            return;
        };
        let key = (start.goal.to_string(), start.slot);
        let still_due = crate::name::PlanId::parse(&start.goal)
            .ok()
            .and_then(|id| self.lead.reader.known(&id).ok().flatten())
            .is_some_and(|known| known.open.iter().any(|open| open.slot == start.slot));
        if still_due {
            let (count, _) = self.failed.get(&key).copied().unwrap_or_default();
            let until = self.ui.env.now().after(pause(count + 1));
            self.failed.insert(key, (count + 1, until));
            let code = gone
                .code
                .map_or("a signal".to_owned(), |code| format!("code {code}"));
            let (bad, goal) = (paint(BAD, "not begun:"), &start.goal);
            let slot = start.slot.to_second();
            self.ui.say(&format!(
                "{bad} {goal}, the slot {slot} (ended with {code})\n"
            ));
        } else {
            self.failed.remove(&key);
        }
        let word = match gone.code {
            Some(0) => "good",
            Some(5) => "waiting",
            _ => "bad",
        };
        self.health.send_modify(|health| {
            *health.cycles.entry(word.to_owned()).or_default() += 1;
        });
    }

    /// Takes note of a cycle that was left by a process that ended.
    fn note_orphan(&mut self, errand: &Errand) {
        // If that cannot be read, the next daemon goes on with it.
        let live = self.lead.reader.live_cycles().unwrap_or_default();
        let left = live.into_iter().find(|cycle| match errand {
            Errand::Slot(start) => {
                *start.goal == *cycle.goal.as_str() && Some(start.slot) == cycle.slot
            }
            Errand::Adopt(run) => cycle.run == *run,
            Errand::Cancel(_) => false,
        });
        if let Some(cycle) = left {
            let (count, _) = self.orphans.get(&cycle.run).copied().unwrap_or_default();
            let until = self.ui.env.now().after(pause(count + 1));
            self.orphans.insert(cycle.run, (count + 1, until));
        } else if let Errand::Adopt(run) = errand {
            self.orphans.remove(run);
        }
    }

    /// Goes on with cycles whose processes died; gives when to do so with others.
    fn go_on(&mut self, now: Moment) -> Result<Vec<Moment>, Failure> {
        let mut later = Vec::new();
        for (run, (_, until)) in self.orphans.clone() {
            let errand = Errand::Adopt(run);
            if self.children.has(&errand) {
                continue;
            }
            if until > now {
                later.push(until);
            } else if self.children.len() < self.service.jobs {
                self.spawn(errand)?;
            }
        }
        Ok(later)
    }

    /// Looks at all goals and begins what is due; gives when to look again.
    fn look(&mut self) -> Result<Option<Moment>, Failure> {
        let now = self.ui.env.now();
        let goals = self.goals.goals();
        let looked = look(&self.lead, &goals, now)?;
        let mut wakes: Vec<Moment> = looked.next.values().copied().collect();
        for (goal, run) in &looked.cancel {
            self.cancel(goal.as_str(), run)?;
        }
        wakes.extend(self.go_on(now)?);
        for start in &looked.start {
            wakes.extend(self.start(start, now)?);
        }
        if let Some(error) = &looked.trouble {
            self.trouble += 1;
            wakes.push(now.after(pause(self.trouble)));
            let (bad, remedy) = (paint(BAD, "error:"), error.remedy());
            self.ui.say(&format!("{bad} {error}; {remedy}\n"));
        } else {
            self.trouble = 0;
        }
        if looked.missed > 0 {
            tell(self.ui)?;
        }
        self.report(&looked);
        Ok(wakes.into_iter().min())
    }

    /// Begins a cycle, unless it has begun; gives when to try again if it must wait.
    fn start(&mut self, start: &Start, now: Moment) -> Result<Option<Moment>, Failure> {
        let key = (start.goal.to_string(), start.slot);
        if let Some((_, until)) = self.failed.get(&key)
            && *until > now
        {
            return Ok(Some(*until));
        }
        let errand = Errand::Slot(start.clone());
        // Those for which there is no room are looked at when another one ends.
        if !self.children.has(&errand) && self.children.len() < self.service.jobs {
            self.spawn(errand)?;
        }
        Ok(None)
    }

    fn spawn(&mut self, errand: Errand) -> Result<(), Failure> {
        let way = Way {
            ui: self.ui,
            token: self.lead.token,
            commit: self.goals.commit(),
            now: self.warp.as_ref().map(|_| self.ui.env.now()),
        };
        self.children.start(&way, errand)
    }

    /// Asks a cycle to end: its process, or whoever works on its runs.
    fn cancel(&mut self, goal: &str, run: &crate::name::RunId) -> Result<(), Failure> {
        let cycle = self.lead.reader.cycle(run)?;
        let slot = cycle.as_ref().and_then(|cycle| cycle.slot);
        let is_it = |errand: &Errand| match errand {
            Errand::Slot(start) => &*start.goal == goal && Some(start.slot) == slot,
            Errand::Adopt(_) | Errand::Cancel(_) => false,
        };
        if self.children.cancel(is_it) {
            return Ok(());
        }
        let last = cycle
            .and_then(|cycle| cycle.repair)
            .unwrap_or_else(|| run.clone());
        let errand = Errand::Cancel(last);
        if self.children.has(&errand) {
            return Ok(());
        }
        self.spawn(errand)
    }

    /// Goes on with cycles that others left, and with repairs whose questions were answered.
    fn adopt(&mut self) -> Result<(), Failure> {
        let mut runs: Vec<crate::name::RunId> = Vec::new();
        for cycle in self.lead.reader.live_cycles()? {
            runs.push(cycle.run);
        }
        for goal in self.goals.goals() {
            let last = self.lead.reader.cycles(&goal.id, 1)?.into_iter().next();
            let Some(repair) = last.as_ref().and_then(|cycle| cycle.repair.as_ref()) else {
                continue;
            };
            let row = self.lead.reader.run(repair)?;
            if row.state == RunState::Running && row.asks == 0 {
                runs.extend(last.map(|cycle| cycle.run));
            }
        }
        for run in runs {
            let mine = |errand: &Errand| matches!(errand, Errand::Adopt(other) if *other == run);
            if !self.children.any(mine) && !self.works_on(&run)? {
                self.spawn(Errand::Adopt(run))?;
            }
        }
        Ok(())
    }

    /// Whether a process of this daemon works on a cycle.
    fn works_on(&self, run: &crate::name::RunId) -> Result<bool, Failure> {
        let cycle = self.lead.reader.cycle(run)?;
        Ok(cycle.is_some_and(|cycle| {
            self.children.any(|errand| match errand {
                Errand::Slot(start) => {
                    *start.goal == *cycle.goal.as_str() && Some(start.slot) == cycle.slot
                }
                Errand::Adopt(_) | Errand::Cancel(_) => false,
            })
        }))
    }

    /// Reads the goals again.
    fn changed(&mut self, waits: &mut Waits) -> Result<(), Failure> {
        // Slots of schedules that are about to change are accounted for as what they were.
        let goals = self.goals.goals();
        look(&self.lead, &goals, self.ui.env.now())?;
        if let Err(failure) = self.goals.again(self.ui) {
            self.ui.say(&failure.render());
        }
        waits.watch = self.watch();
        self.adopt()
    }

    /// Begins nothing more; waits for what goes on, not for ever.
    async fn stop(mut self, mut waits: Waits) -> Result<Exit, Failure> {
        let _ = self.notify.stopping();
        let end = tokio::time::Instant::now() + self.service.drain;
        let mut insists = 0;
        while self.children.len() > 0 {
            let count = self.children.len();
            if insists == 0 {
                self.ui.note(&format!("waits for {count} cycles\n"));
            }
            let [interrupt, terminate] = &mut waits.stop;
            tokio::select! {
                gone = self.children.ended() => self.note(&gone),
                () = tokio::time::sleep_until(end) => {
                    self.ui.say(&format!("{count} cycles go on; the next daemon adopts them\n"));
                    return Ok(Exit::Ok);
                }
                _ = interrupt.recv() => { insists += 1; self.children.cancel_all(); }
                _ = terminate.recv() => { insists += 1; self.children.cancel_all(); }
            }
        }
        Ok(Exit::Ok)
    }

    fn status(&self, wake: Option<Moment>) -> String {
        let goals = self.goals.goals().len();
        let next = wake.map_or("never".to_owned(), Moment::to_second);
        let running = self.children.len();
        format!("{goals} goals, next {next}, {running} cycles go on")
    }

    /// Tells whoever asks how it goes.
    fn report(&self, looked: &Look) {
        let trouble = looked.trouble.as_ref().map(ToString::to_string);
        let problem = trouble.or_else(|| self.goals.broken());
        let running = self.children.len() as u64;
        let started = looked.start.len() as u64;
        let goals = self.goals.goals();
        let health_of = |goal: &crate::model::Goal| {
            let cycles = self.lead.reader.cycles(&goal.id, 5).unwrap_or_default();
            let last = cycles.into_iter().find_map(|cycle| cycle.ended);
            GoalHealth {
                next: looked.next.get(&goal.id).copied(),
                holds: last.map(|(_, health, _)| health.is_good()),
            }
        };
        let goals: BTreeMap<String, GoalHealth> = goals
            .iter()
            .map(|goal| (goal.id.to_string(), health_of(goal)))
            .collect();
        self.health.send_modify(|health| {
            health.problem = problem;
            health.running = running;
            health.goals = goals;
            *health.slots.entry("started".into()).or_default() += started;
            *health.slots.entry("missed".into()).or_default() += looked.missed;
        });
    }
}
