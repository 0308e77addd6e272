use tokio::signal::unix::{Signal, SignalKind, signal};

use super::daemon::{Daemon, system};
use crate::cli::Failure;
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
    pub(super) stop: [Signal; 2],
    reload: Signal,
    watchdog: Option<tokio::time::Interval>,
}

impl Daemon<'_> {
    pub(super) fn waits(&self) -> Result<Waits, Failure> {
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
    pub(super) fn watch(&self) -> Option<Watch> {
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
    pub(super) async fn event(
        &mut self,
        waits: &mut Waits,
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
}
