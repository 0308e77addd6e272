//! The supervisor's main loop.

use std::{
    io::{self, Write as _},
    os::{fd::AsFd as _, unix::net as std_unix},
    path::Path,
    sync::Arc,
    time::Duration,
};

use tokio::{
    io::AsyncReadExt as _,
    net::{UnixListener, UnixStream},
    sync::mpsc,
    task::JoinSet,
};

use wf_base::time::Clock;

use super::{
    client::{BIND_MESSAGE, DONE_MESSAGE, KILL_MESSAGE, SETTLED_MESSAGE},
    connection::serve_connection,
    journal::{self, JournalLine, SupervisorJournal},
    state::Supervisor,
};
use crate::{
    processes::{control_group::ControlGroup, tree},
    runtime::waiting_runtime,
    spawn_task,
};

/// The interval between attempts to reap adopted processes.
const REAP_INTERVAL: Duration = Duration::from_millis(20);

/// The grace period of processes that steps left running.
const GRACE_PERIOD: Duration = Duration::from_secs(2);

/// The timeout for informing followers of an outcome.
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(1);

/// Supervises processes for an engine until both have ended. Standard input is the listening socket for engines,
/// standard output the socket closing when the first engine ends.
pub fn serve(dir: &Path, id: &str, clock: Arc<dyn Clock>) -> io::Result<()> {
    // Signals of the engine's terminal must not reach this process or its children.
    let _ = rustix::process::setsid();
    let adopts = tree::adopt();
    let group = ControlGroup::enter(id);
    rustix::process::chdir("/")?;
    let mut journal = SupervisorJournal::open(&journal::path(dir, id))?;
    journal.write_line(&JournalLine::Keeps {
        pid: rustix::process::getpid().as_raw_nonzero().get(),
        adopts,
        group: group.as_ref().map(|group| group.path().to_path_buf()),
    })?;
    let runtime = waiting_runtime()?;
    let supervisor = Supervisor::new(id.to_owned(), journal, clock);
    let settled = runtime.block_on(spawn_task(run_until_idle(supervisor)))?;
    let _ = std::fs::remove_file(journal::socket(dir, id));
    if settled {
        let _ = std::fs::remove_file(journal::path(dir, id));
    }
    // The engine waits for this and no longer: leaving a group takes a while.
    let _ = std_unix::UnixStream::from(io::stdout().as_fd().try_clone_to_owned()?).write(&[DONE_MESSAGE]);
    if let Some(group) = group {
        group.leave();
    }
    Ok(())
}

/// Works until the engine is gone and nothing is under way; if the engine died, also until everything that
/// steps left running has ended, or the run has. Returns true if all outcomes are recorded.
async fn run_until_idle(supervisor: Arc<Supervisor>) -> io::Result<bool> {
    let (listener, mut presence) = surroundings()?;
    let (to, mut accepted) = mpsc::unbounded_channel();
    let mut attempts = JoinSet::new();
    let mut connections = JoinSet::new();
    let (mut present, mut settled, mut given_up) = (true, false, false);
    let mut is_bound = false;
    let mut word = [0];
    // Accepted attempts are recorded as begun, so they run even if the engine is gone by then.
    while present
        || !attempts.is_empty()
        || !accepted.is_empty()
        || !(settled || given_up || supervisor.is_concluded()) && tree::has_children()
    {
        tokio::select! {
            connection = listener.accept() => {
                match connection {
                    Ok((connection, _)) => {
                        connections.spawn(serve_connection(Arc::clone(&supervisor), connection, to.clone()));
                    }
                    // Too many open files: some will be closed.
                    Err(_) => tokio::time::sleep(REAP_INTERVAL).await,
                }
            }
            Some(accepted) = accepted.recv() => {
                if let Some(accepted) = accepted {
                    attempts.spawn(Box::pin(Arc::clone(&supervisor).work(accepted)));
                }
            }
            // Zombies that a step left must not be visible for long.
            () = tokio::time::sleep(REAP_INTERVAL), if tree::has_children() => tree::reap_adopted(),
            Some(_) = attempts.join_next() => {}
            Some(_) = connections.join_next() => {}
            read = presence.read(&mut word), if present => match (read, word) {
                (Ok(1..), [SETTLED_MESSAGE]) => settled = true,
                (Ok(1..), [KILL_MESSAGE]) => {
                    given_up = true;
                    supervisor.kill();
                }
                (Ok(1..), [BIND_MESSAGE]) => is_bound = true,
                _ => {
                    present = false;
                    supervisor.note_engine_gone();
                    if is_bound {
                        given_up = true;
                        supervisor.kill();
                    }
                }
            },
        }
    }
    tree::end_the_rest(GRACE_PERIOD);
    // Followers of attempts that have just ended must still be informed.
    let rest = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(NOTIFY_TIMEOUT, rest).await;
    Ok(settled || supervisor.is_concluded())
}

/// Returns the listening socket, and the one closing with the engine.
fn surroundings() -> io::Result<(UnixListener, UnixStream)> {
    let listener = std_unix::UnixListener::from(io::stdin().as_fd().try_clone_to_owned()?);
    let presence = std_unix::UnixStream::from(io::stdout().as_fd().try_clone_to_owned()?);
    listener.set_nonblocking(true)?;
    presence.set_nonblocking(true)?;
    Ok((UnixListener::from_std(listener)?, UnixStream::from_std(presence)?))
}
