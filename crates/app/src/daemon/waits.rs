use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{
    daemon::{Daemon, system},
    idle_runs::LOOK_INTERVAL,
};
use crate::{
    Caller, CommandError,
    daemon_io::{alarm::WallClockTimer, systemd::watchdog_interval, watch::FileWatcher},
};
use wf_base::{
    time::Moment,
    untrusted::{WARN, paint},
};

/// An event to wake a daemon up.
pub(super) enum DaemonEvent {
    /// A scheduled time, or the end of a pause.
    Alarm,
    /// A file changed.
    FilesChanged,
    /// A process exited.
    ChildExited,
    /// A request to exit.
    Stop,
    /// A request to reload everything.
    Reload,
    /// A sign of life is due.
    Watchdog,
}

/// The event sources of a daemon.
pub(super) struct DaemonEventSources {
    timer: WallClockTimer,
    pub(super) file_watcher: Option<FileWatcher>,
    reload: Signal,
}

/// The signals asking a daemon to exit.
pub struct StopSignals([Signal; 2]);

impl StopSignals {
    /// Listens from now on: signals that arrive between waits are not lost.
    pub(super) fn listen() -> Result<Self, CommandError> {
        let listen = |kind| signal(kind).map_err(|error| system(&error));
        Ok(Self([listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?]))
    }

    /// Waits for a request to exit.
    pub(super) async fn exit_requested(&mut self) {
        let [interrupt, terminate] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    }
}

/// The timer for signs of life: disabled where none are requested.
pub struct WatchdogTimer(Option<tokio::time::Interval>);

impl WatchdogTimer {
    /// Reads the interval from the environment.
    pub(super) fn of(caller: &dyn Caller) -> Self {
        let var = |name| caller.host().var(name);
        let alive = watchdog_interval(var("WATCHDOG_USEC"), var("WATCHDOG_PID"), std::process::id());
        Self(alive.map(|every| {
            let mut interval = tokio::time::interval(every);
            interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            interval
        }))
    }

    /// Waits until the next one is due.
    pub(super) async fn next(&mut self) {
        match &mut self.0 {
            Some(interval) => drop(interval.tick().await),
            None => std::future::pending().await,
        }
    }
}

impl Daemon<'_> {
    pub(super) fn open_event_sources(&self) -> Result<DaemonEventSources, CommandError> {
        let listen = |kind| signal(kind).map_err(|error| system(&error));
        Ok(DaemonEventSources {
            timer: WallClockTimer::new().map_err(|error| system(&error))?,
            file_watcher: self.watch(),
            reload: listen(SignalKind::hangup())?,
        })
    }

    /// Watches files; where that is impossible, a reload must be requested.
    pub(super) fn watch(&self) -> Option<FileWatcher> {
        match self.goals.watch() {
            Ok(watch) => Some(watch),
            Err(error) => {
                let warning = paint(WARN, "warning:");
                self.caller.message_line(&format!(
                    "{warning} cannot watch files ({error}): send SIGHUP after changing one"
                ));
                None
            }
        }
    }

    /// Waits for the next event.
    pub(super) async fn next_event(
        &mut self,
        sources: &mut DaemonEventSources,
        stop: &mut StopSignals,
        wake: Option<Moment>,
    ) -> Result<DaemonEvent, CommandError> {
        if let Some(warp) = &self.test_clock {
            // No time passes while a process works.
            if self.children.is_busy() {
                let exit = self.children.next_exit().await;
                self.record_exit(&exit);
                return Ok(DaemonEvent::ChildExited);
            }
            return Ok(if warp.advance_to(wake) { DaemonEvent::Alarm } else { DaemonEvent::Stop });
        }
        let changed = async {
            match &mut sources.file_watcher {
                Some(watch) => watch.wait_for_change().await,
                None => std::future::pending().await,
            }
        };
        let exit = tokio::select! {
            () = stop.exit_requested() => return Ok(DaemonEvent::Stop),
            _ = sources.reload.recv() => return Ok(DaemonEvent::Reload),
            () = self.watchdog.next() => return Ok(DaemonEvent::Watchdog),
            gone = self.children.next_exit() => gone,
            // An error is a change, too.
            _ = changed => return Ok(DaemonEvent::FilesChanged),
            () = tokio::time::sleep(LOOK_INTERVAL) => return Ok(DaemonEvent::Alarm),
            woken = sources.timer.wait_until(wake) => {
                woken.map_err(|error| system(&error))?;
                return Ok(DaemonEvent::Alarm);
            }
        };
        self.record_exit(&exit);
        Ok(DaemonEvent::ChildExited)
    }
}
