//! The keeper's own loop.

use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net as std_unix;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::client::{DONE, FAREWELL, KILL};
use super::desk::{Asked, Desk, Work};
use super::follow::Following;
use super::frame::{Frame, Frames, send};
use super::journal::{self, Journal, Note};
use super::message::{Answer, Ask, Task, Told};
use crate::exec::contain::Group;
use crate::exec::log::Stream;
use crate::exec::probe::{self, Probe};
use crate::exec::{Stop, tree};
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
    let settled = runtime.block_on(keep(&desk))?;
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
async fn keep(desk: &Arc<Desk>) -> io::Result<bool> {
    let (listener, mut presence) = surroundings()?;
    let (to, mut accepted) = mpsc::unbounded_channel();
    let mut attempts = JoinSet::new();
    let mut connections = JoinSet::new();
    let (mut present, mut settled, mut given_up) = (true, false, false);
    let mut word = [0];
    while present
        || !attempts.is_empty()
        || !(settled || given_up || desk.is_concluded()) && tree::has_children()
    {
        tokio::select! {
            connection = listener.accept() => {
                match connection {
                    Ok((connection, _)) => {
                        connections.spawn(attend(Arc::clone(desk), connection, to.clone()));
                    }
                    // Too many files are open: some will be closed.
                    Err(_) => tokio::time::sleep(SOON).await,
                }
            }
            Some(accepted) = accepted.recv() => {
                if let Some(accepted) = accepted {
                    let (desk, more) = (Arc::clone(desk), to.clone());
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
    Ok(settled || desk.is_concluded() || desk.is_idle())
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

/// Does what is asked for on a connection. Whoever asks goes away at any time.
async fn attend(desk: Arc<Desk>, connection: UnixStream, work: Work) -> io::Result<()> {
    let (from, mut to) = connection.into_split();
    let mut from = Frames::new(from);
    while let Some(asked) = from.next().await? {
        let ask = asked.read()?;
        if let Ask::Conclude = ask {
            if desk.is_attended() {
                return send(&mut to, &Frame::word(&Answer::Unknown)?).await;
            }
            desk.conclude(from.into_inner().reunite(to).map_err(io::Error::other)?);
            let _ = work.send(None);
            return Ok(());
        }
        answer(&desk, ask, (&mut from, &mut to), &work).await?;
    }
    Ok(())
}

/// Does one thing that is asked for.
async fn answer(
    desk: &Desk,
    ask: Ask,
    (from, to): (&mut Frames<OwnedReadHalf>, &mut OwnedWriteHalf),
    work: &Work,
) -> io::Result<()> {
    match ask {
        Ask::Run {
            task,
            job,
            show,
            seat,
        } => {
            let asked = Asked {
                task: task.clone(),
                job: *job,
                show,
                seat,
            };
            match desk.accept(asked) {
                Ok((accepted, mut following)) => {
                    if accepted.is_some() {
                        let _ = work.send(accepted);
                    }
                    if begins(desk, &task, &mut following, (from, to)).await? {
                        pass_on(following, from, to).await
                    } else {
                        send(to, &Frame::word(&Answer::Unstaged)?).await
                    }
                }
                Err(answer) => send(to, &Frame::word(&answer)?).await,
            }
        }
        Ask::Follow { task, show } => match desk.follow(&task, show) {
            Some(following) => {
                send(to, &Frame::Began).await?;
                pass_on(following, from, to).await
            }
            None => send(to, &Frame::word(&Answer::Unknown)?).await,
        },
        Ask::Probe(probe) => examine(desk, *probe, from, to).await,
        Ask::Conclude => Ok(()),
        Ask::Seal { run } => {
            desk.seal(run);
            send(to, &Frame::word(&Answer::Sealed)?).await
        }
    }
}

/// Waits until an attempt begins that is staged, and says so; false: it does not. It is taken
/// back if it is told anything, or if whoever asked goes away.
async fn begins(
    desk: &Desk,
    task: &Task,
    following: &mut Following,
    (from, to): (&mut Frames<OwnedReadHalf>, &mut OwnedWriteHalf),
) -> io::Result<bool> {
    let Some(mut begun) = following.begun.take() else {
        return Ok(true);
    };
    let begins = tokio::select! {
        biased;
        begins = &mut begun => begins.is_ok(),
        told = from.next() => {
            if desk.take_back(task) {
                return Ok(false);
            }
            // It begins, or was refused, at this moment.
            if let Some(frame) = told? {
                following.told(frame.read()?);
            }
            begun.await.is_ok()
        }
    };
    if begins {
        send(to, &Frame::Began).await?;
    }
    Ok(begins)
}

/// Passes on what an attempt prints and how it ends, and what it is told.
async fn pass_on(
    mut following: Following,
    from: &mut Frames<OwnedReadHalf>,
    to: &mut OwnedWriteHalf,
) -> io::Result<()> {
    let mut listens = true;
    let gone = loop {
        tokio::select! {
            biased;
            Some((stream, bytes)) = following.shown.recv() => {
                send(to, &Frame::Output(stream, bytes)).await?;
            }
            gone = &mut following.ended => break gone,
            told = from.next(), if listens => match told? {
                Some(frame) => following.told(frame.read()?),
                None => listens = false,
            },
        }
    };
    let gone = gone.map_err(|_| io::ErrorKind::BrokenPipe)?;
    while let Ok((stream, bytes)) = following.shown.try_recv() {
        send(to, &Frame::Output(stream, bytes)).await?;
    }
    send(to, &Frame::word(&Answer::Gone(Box::new(gone)))?).await
}

/// Runs something that is killed when nobody listens any more.
async fn examine(
    desk: &Desk,
    probe: Probe,
    from: &mut Frames<OwnedReadHalf>,
    to: &mut OwnedWriteHalf,
) -> io::Result<()> {
    let (stop, heard) = watch::channel(Stop::No);
    let mark = desk.mark();
    let mut work = std::pin::pin!(probe::run(probe, &mark, heard));
    let mut listens = true;
    let probed = loop {
        tokio::select! {
            probed = &mut work => break probed,
            told = from.next(), if listens => {
                let told = told.ok().flatten().and_then(|frame| frame.read().ok());
                listens = told.is_some();
                stop.send_replace(told.map_or(Stop::AtOnce, |Told(degree)| degree));
            }
        }
    };
    for (stream, bytes) in [(Stream::Out, probed.out), (Stream::Err, probed.err)] {
        send(to, &Frame::Output(stream, bytes)).await?;
    }
    let answer = Answer::Probed {
        exit: probed.exit,
        truncated: probed.truncated,
        guards: probed.guards,
        ends: probed.ends,
    };
    send(to, &Frame::word(&answer)?).await
}
