use crate::cli::goals::{Hold, LEADER, sweep};
use crate::cli::{Exit, Failure, Ui};
use crate::store::{Durability, Reader, Store};

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

/// Becomes the one daemon of a workspace; waits for another one to end only if that is asked for.
pub fn lead(ui: &Ui, waits: bool) -> Result<Lead, Failure> {
    let state = ui.workspace().state;
    let folder = crate::store::Folder::new(&state);
    folder.may_be_written()?;
    folder.create()?;
    let hold = match Hold::attempt(&state, LEADER)? {
        Ok(hold) => hold,
        Err(_) if waits => {
            ui.note("another daemon leads; waiting for its end\n");
            Hold::wait(&state, LEADER)?
        }
        Err(_) => return Err(taken(&state)),
    };
    let store = Store::open_with_lease(&state, Durability::Full, ui.env.clock(), ui.env.lease()?)?;
    let token = store.lead(std::process::id(), ui.env.now()).wait()?;
    let reader = store.reader()?;
    sweep(&state, &reader)?;
    Ok(Lead {
        store,
        reader,
        token,
        _hold: hold,
    })
}

fn taken(state: &std::path::Path) -> Failure {
    let leader = Reader::open(state).and_then(|reader| reader.leader());
    let who = match leader {
        Ok(Some((_, pid, since))) => format!(": process {pid}, since {}", since.to_second()),
        _ => String::new(),
    };
    let message = format!("another daemon leads in this workspace{who}");
    Failure::new(Exit::Usage, message).hint("one is enough; --standby waits until it ends")
}
