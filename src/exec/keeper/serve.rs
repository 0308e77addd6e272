//! The keeper's own loop.

use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net as std_unix;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::attend::attend;
use super::client::{DONE, FAREWELL, KILL};
use super::desk::Desk;
use super::journal::{self, Journal, Note};
use crate::exec::contain::Group;
use crate::exec::{alone, tree};
use crate::time::Clock;

/// How often the dead are looked for that came to this process.
const SOON: Duration = Duration::from_millis(20);

/// How long what steps left running may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(2);

/// How long those who follow something may take to be told its end.
const PATIENCE: Duration = Duration::from_secs(1);

/// Keeps processes for an engine, until both have ended. Standard input is the socket on which
/// engines ask, standard output the one whose end is the end of the first engine.
pub fn serve(dir: &Path, id: &str, clock: Arc<dyn Clock>) -> io::Result<()> {
    // No signal of the engine's terminal is for this process or for what it starts.
    let _ = rustix::process::setsid();
    let adopts = tree::adopt();
    let group = Group::enter(id);
    rustix::process::chdir("/")?;
    let mut journal = Journal::open(&journal::path(dir, id))?;
    journal.note(&Note::Keeps {
        pid: rustix::process::getpid().as_raw_nonzero().get(),
        adopts,
        group: group.as_ref().map(|group| group.path().to_path_buf()),
    })?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let desk = Desk::new(id.to_owned(), journal, clock);
    let settled = runtime.block_on(alone(keep(desk)))?;
    let _ = std::fs::remove_file(journal::socket(dir, id));
    if settled {
        let _ = std::fs::remove_file(journal::path(dir, id));
    }
    // The engine waits for this and no longer: to leave a group takes a while.
    let _ = std_unix::UnixStream::from(io::stdout().as_fd().try_clone_to_owned()?).write(&[DONE]);
    if let Some(group) = group {
        group.leave();
    }
    Ok(())
}

/// Works until the engine is gone and nothing is under way; if the engine died, also until what
/// steps left running has ended, or the run has. Says whether the end of everything is recorded.
async fn keep(desk: Arc<Desk>) -> io::Result<bool> {
    let (listener, mut presence) = surroundings()?;
    let (to, mut accepted) = mpsc::unbounded_channel();
    let mut attempts = JoinSet::new();
    let mut connections = JoinSet::new();
    let (mut present, mut settled, mut given_up) = (true, false, false);
    let mut word = [0];
    // What was accepted is noted as begun, so it is worked on even if the engine is gone by then.
    while present
        || !attempts.is_empty()
        || !accepted.is_empty()
        || !(settled || given_up || desk.is_concluded()) && tree::has_children()
    {
        tokio::select! {
            connection = listener.accept() => {
                match connection {
                    Ok((connection, _)) => {
                        connections.spawn(attend(Arc::clone(&desk), connection, to.clone()));
                    }
                    // Too many files are open: some will be closed.
                    Err(_) => tokio::time::sleep(SOON).await,
                }
            }
            Some(accepted) = accepted.recv() => {
                if let Some(accepted) = accepted {
                    let (desk, more) = (Arc::clone(&desk), to.clone());
                    attempts.spawn(Box::pin(async move { desk.work(accepted, &more).await }));
                }
            }
            // What a step left running must not be seen for long when it is dead.
            () = tokio::time::sleep(SOON), if tree::has_children() => tree::reap_adopted(),
            Some(_) = attempts.join_next() => {}
            Some(_) = connections.join_next() => {}
            read = presence.read(&mut word), if present => match (read, word) {
                (Ok(1..), [FAREWELL]) => settled = true,
                (Ok(1..), [KILL]) => {
                    given_up = true;
                    desk.kill();
                }
                _ => {
                    present = false;
                    desk.left_alone();
                }
            },
        }
    }
    tree::end_the_rest(GRACE);
    // Whoever follows what has just ended is still to be told.
    let rest = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(PATIENCE, rest).await;
    Ok(settled || desk.is_concluded())
}

/// The socket to listen on, and the one that ends with the engine.
fn surroundings() -> io::Result<(UnixListener, UnixStream)> {
    let listener = std_unix::UnixListener::from(io::stdin().as_fd().try_clone_to_owned()?);
    let presence = std_unix::UnixStream::from(io::stdout().as_fd().try_clone_to_owned()?);
    listener.set_nonblocking(true)?;
    presence.set_nonblocking(true)?;
    Ok((
        UnixListener::from_std(listener)?,
        UnixStream::from_std(presence)?,
    ))
}
