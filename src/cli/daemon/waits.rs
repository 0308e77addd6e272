use tokio::signal::unix::{Signal, SignalKind, signal};

use super::daemon::{Daemon, system};
use crate::cli::{Failure, Ui};
use crate::report::{WARN, paint};
use crate::service::alarm::Alarm;
use crate::service::systemd::sign_of_life;
use crate::service::watch::Watch;
use crate::time::Moment;

/// What wakes a daemon up.
pub(super) enum Event {
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
pub(super) struct Waits {
    alarm: Alarm,
    pub(super) watch: Option<Watch>,
    reload: Signal,
}

/// What tells a daemon to end.
pub struct Stop([Signal; 2]);

impl Stop {
    /// Listens from now on: what comes while nobody asks is heard later.
    pub(super) fn listen() -> Result<Self, Failure> {
        let listen = |kind| signal(kind).map_err(|error| system(&error));
        Ok(Self([
            listen(SignalKind::interrupt())?,
            listen(SignalKind::terminate())?,
        ]))
    }

    /// Waits until it is told to end.
    pub(super) async fn told(&mut self) {
        let [interrupt, terminate] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    }
}

/// When a daemon is to say that it lives: where nobody asks, never.
pub struct Alive(Option<tokio::time::Interval>);

impl Alive {
    /// As the environment asks for it.
    pub(super) fn of(ui: &Ui) -> Self {
        let var = |name| ui.env.var(name);
        let alive = sign_of_life(
            var("WATCHDOG_USEC"),
            var("WATCHDOG_PID"),
            std::process::id(),
        );
        Self(alive.map(|every| {
            let mut interval = tokio::time::interval(every);
            interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            interval
        }))
    }

    /// Waits until it is time.
    pub(super) async fn next(&mut self) {
        match &mut self.0 {
            Some(interval) => drop(interval.tick().await),
            None => std::future::pending().await,
        }
    }
}

impl Daemon<'_> {
    pub(super) fn waits(&self) -> Result<Waits, Failure> {
        let listen = |kind| signal(kind).map_err(|error| system(&error));
        Ok(Waits {
            alarm: Alarm::new().map_err(|error| system(&error))?,
            watch: self.watch(),
            reload: listen(SignalKind::hangup())?,
        })
    }

    /// Watches files; where that cannot be, a reload must be asked for.
    pub(super) fn watch(&self) -> Option<Watch> {
        match self.goals.watch() {
            Ok(watch) => Some(watch),
            Err(error) => {
                let warning = paint(WARN, "warning:");
                self.ui.say_line(&format!(
                    "{warning} changes of files are not seen ({error}): send SIGHUP after one"
                ));
                None
            }
        }
    }

    /// Waits for what comes next.
    pub(super) async fn event(
        &mut self,
        waits: &mut Waits,
        stop: &mut Stop,
        wake: Option<Moment>,
    ) -> Result<Event, Failure> {
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
        let changed = async {
            match &mut waits.watch {
                Some(watch) => watch.changed().await,
                None => std::future::pending().await,
            }
        };
        let gone = tokio::select! {
            () = stop.told() => return Ok(Event::Stop),
            _ = waits.reload.recv() => return Ok(Event::Reload),
            () = self.alive.next() => return Ok(Event::Watchdog),
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
}
