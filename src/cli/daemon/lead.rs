use crate::bus::Act;
use crate::cli::goals::{Hold, LEADER, sweep};
use crate::cli::{Exit, Failure, Ui, watch};
use crate::service::systemd::Tell;
use crate::store::{Durability, Reader, Store};
use std::path::Path;
use std::time::Duration;

use super::waits::{Alive, Stop};

/// The time that a daemon which is told to end leaves what it writes, where another process holds the
/// database. What is due is due for the next daemon, too.
const PARTING: Duration = Duration::from_millis(1_500);

/// The right to decide about slots.
pub struct Lead {
    /// What writes.
    pub store: Store,
    /// What reads.
    pub reader: Reader,
    /// What is written under.
    pub token: u64,
    _hold: Hold,
}

impl Lead {
    /// Gives it back. Says whether all was written.
    pub fn end(self) -> bool {
        self.store.close_within(PARTING)
    }
}

/// Becomes the one daemon of a workspace; waits for another one to end only if that is asked for.
/// `None`: it was told to end before it led.
pub async fn lead(
    ui: &Ui,
    stop: &mut Stop,
    standby: Option<Standby<'_>>,
) -> Result<Option<Lead>, Failure> {
    let state = ui.workspace().state;
    let folder = crate::store::Folder::new(&state);
    folder.may_be_written()?;
    folder.create()?;
    let hold = match Hold::attempt(&state, LEADER)? {
        Ok(hold) => hold,
        Err(_) => match standby {
            None => return Err(taken(&state)),
            Some(standby) => {
                ui.note("another daemon leads; waiting for its end\n");
                match standby.hold(stop, &state).await? {
                    Some(hold) => hold,
                    None => return Ok(None),
                }
            }
        },
    };
    let store = Store::open_with_lease(&state, Durability::Full, ui.env.clock(), ui.env.lease()?)?;
    let pid = std::process::id();
    // Another process may hold the database, and whoever waits for it can be told to end.
    let token = tokio::select! {
        biased;
        token = store.lead(pid, ui.env.now()) => token?,
        () = stop.told() => {
            store.close_within(PARTING);
            return Ok(None);
        }
    };
    watch::note(ui, Act::DaemonLed { token, pid });
    let reader = store.reader()?;
    sweep(&state, &reader)?;
    Ok(Some(Lead {
        store,
        reader,
        token,
        _hold: hold,
    }))
}

/// How a daemon waits for another one.
pub struct Standby<'a> {
    /// Who is told that it lives.
    pub notify: &'a Tell,
    /// How often.
    pub alive: &'a mut Alive,
}

impl Standby<'_> {
    /// Waits for the lock, on a thread of its own: the system has no other way.
    async fn hold(self, stop: &mut Stop, state: &Path) -> Result<Option<Hold>, Failure> {
        let state = state.to_owned();
        let mut held = tokio::task::spawn_blocking(move || Hold::wait(&state, LEADER));
        loop {
            tokio::select! {
                () = stop.told() => return Ok(None),
                () = self.alive.next() => drop(self.notify.alive()),
                held = &mut held => return held.map_err(|lost| {
                    Failure::new(Exit::Bug, lost.to_string())
                })?.map(Some),
            }
        }
    }
}

fn taken(state: &Path) -> Failure {
    let leader = Reader::open(state).and_then(|reader| reader.leader());
    let who = match leader {
        Ok(Some((_, pid, since))) => format!(": process {pid}, since {}", since.to_second()),
        _ => String::new(),
    };
    let message = format!("another daemon leads in this workspace{who}");
    // Once that one has ended it may lead, so whoever keeps services starts it again.
    Failure::new(Exit::State, message).hint("one is enough; --standby waits until it ends")
}
