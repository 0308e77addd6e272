use crate::{
    Caller, CliExitCode, CommandError,
    daemon_io::systemd::SystemdNotifier,
    goals::{FileLock, LEADER_LOCK, remove_stale_locks},
    watch,
};
use std::{path::Path, time::Duration};
use wf_store::{Store, StoreDurability, StoreReader, feed::WorkspaceAction};

use super::waits::{StopSignals, WatchdogTimer};

/// The time a daemon asked to exit leaves its pending writes, where another process
/// holds the database. Goals due stay due for the next daemon, too.
const SHUTDOWN_GRACE: Duration = Duration::from_millis(1_500);

/// The right to decide about scheduled times.
pub struct Leadership {
    /// The writer.
    pub store: Store,
    pub reader: StoreReader,
    /// The token for writes.
    pub token: u64,
    _lock: FileLock,
}

impl Leadership {
    /// Gives up the lead. True if all was written.
    pub fn resign(self) -> bool {
        self.store.close_within(SHUTDOWN_GRACE)
    }
}

/// Becomes the one daemon of a workspace; waits for another one to exit only if requested. `None`:
/// it was asked to exit before it led.
pub async fn acquire_leadership(
    caller: &dyn Caller,
    stop: &mut StopSignals,
    standby: Option<DaemonStandby<'_>>,
) -> Result<Option<Leadership>, CommandError> {
    let state = caller.host().workspace().state;
    let folder = wf_store::StateFolder::new(&state);
    folder.may_be_written()?;
    folder.create()?;
    let hold = match FileLock::try_lock(&state, LEADER_LOCK)? {
        Ok(hold) => hold,
        Err(_) => match standby {
            // Once that one has exited it may lead, so the service manager restarts it.
            None => return Err(already_led(&state).hint("to wait until it exits, pass --standby")),
            Some(standby) => {
                caller.info("another daemon is active; waiting for it to exit\n");
                match standby.wait_for_lock(stop, &state).await? {
                    Some(hold) => hold,
                    None => return Ok(None),
                }
            }
        },
    };
    let store =
        Store::open_with_lease(&state, StoreDurability::Full, caller.host().clock(), caller.host().lease()?)?;
    let pid = std::process::id();
    // Another process may hold the database, and a daemon that waits for it can be asked to exit.
    let token = tokio::select! {
        biased;
        token = store.goals().take_leadership(pid, caller.host().now()) => token?,
        () = stop.exit_requested() => {
            store.close_within(SHUTDOWN_GRACE);
            return Ok(None);
        }
    };
    watch::record_quietly(caller, WorkspaceAction::DaemonLed { token, pid });
    let reader = store.log_reader()?;
    remove_stale_locks(&state, &reader)?;
    Ok(Some(Leadership { store, reader, token, _lock: hold }))
}

/// The standby of a daemon waiting for another one.
pub struct DaemonStandby<'a> {
    /// The service manager to notify.
    pub notify: &'a SystemdNotifier,
    /// The interval of signs of life.
    pub watchdog: &'a mut WatchdogTimer,
}

impl DaemonStandby<'_> {
    /// Waits for the lock, on a thread of its own: the system has no other way.
    async fn wait_for_lock(
        self,
        stop: &mut StopSignals,
        state: &Path,
    ) -> Result<Option<FileLock>, CommandError> {
        let state = state.to_owned();
        let mut locking = tokio::task::spawn_blocking(move || FileLock::lock_blocking(&state, LEADER_LOCK));
        loop {
            tokio::select! {
                () = stop.exit_requested() => return Ok(None),
                () = self.watchdog.next() => drop(self.notify.keep_alive()),
                held = &mut locking => return held.map_err(|lost| {
                    CommandError::new(CliExitCode::Bug, lost.to_string())
                })?.map(Some),
            }
        }
    }
}

/// Returns the failure of what only one daemon may do, or none.
pub(crate) fn already_led(state: &Path) -> CommandError {
    let leader = StoreReader::open(state).and_then(|reader| reader.goals().leader());
    let who = match leader {
        Ok(Some((_, pid, since))) => format!(": process {pid}, since {}", since.to_second()),
        _ => String::new(),
    };
    let message = format!("another daemon is active in this workspace{who}");
    CommandError::new(CliExitCode::State, message)
}
