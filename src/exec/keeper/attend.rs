//! What a keeper says on one connection.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use tokio::net::UnixStream;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::desk::{Asked, Desk, Work};
use super::follow::Following;
use super::frame::{Frame, Frames, Outgoing, outgoing, send, write};
use super::message::{Answer, Ask, Task, Told};
use crate::exec::Stop;
use crate::exec::log::Stream;
use crate::exec::probe::{self, Probe};

/// Does what is asked for on a connection. Whoever asks goes away at any time.
pub(super) async fn attend(desk: Arc<Desk>, connection: UnixStream, work: Work) -> io::Result<()> {
    let (from, mut to) = connection.into_split();
    let mut from = Frames::new(from);
    let Some((number, first)) = from.next().await? else {
        return Ok(());
    };
    let first = first.read()?;
    if let Ask::Conclude = first {
        if desk.is_attended() {
            return send(&mut to, &Frame::word(&Answer::Unknown)?).await;
        }
        desk.conclude(from.into_inner().reunite(to).map_err(io::Error::other)?);
        let _ = work.send(None);
        return Ok(());
    }
    let (to_all, messages) = outgoing();
    let mut talks = Talks {
        desk,
        work,
        to: to_all,
        open: BTreeMap::new(),
        tasks: JoinSet::new(),
    };
    talks.tasks.spawn(async {
        let _ = write(to, messages).await;
        None
    });
    talks.begin(number, first);
    loop {
        tokio::select! {
            heard = from.next() => match heard {
                Ok(Some((number, frame))) => talks.hear(number, &frame)?,
                Ok(None) | Err(_) => break,
            },
            Some(Ok(Some(number))) = talks.tasks.join_next() => drop(talks.open.remove(&number)),
        }
    }
    // Nobody is told anything any more; who follows something learns that nobody listens.
    let Talks {
        mut tasks,
        open,
        to,
        ..
    } = talks;
    drop((open, to));
    while tasks.join_next().await.is_some() {}
    Ok(())
}

/// What is asked for on a connection and not yet answered.
struct Talks {
    desk: Arc<Desk>,
    work: Work,
    to: Outgoing,
    /// Where what is told goes, by number.
    open: BTreeMap<u32, mpsc::UnboundedSender<Told>>,
    /// They end with their number.
    tasks: JoinSet<Option<u32>>,
}

impl Talks {
    fn hear(&mut self, number: u32, frame: &Frame) -> io::Result<()> {
        match frame {
            Frame::Told(_) => {
                let told = frame.read()?;
                // It may have been answered meanwhile.
                if let Some(open) = self.open.get(&number) {
                    let _ = open.send(told);
                }
            }
            Frame::Word(_) => self.begin(number, frame.read()?),
            Frame::Output(..) | Frame::Began => return Err(io::ErrorKind::InvalidData.into()),
        }
        Ok(())
    }

    fn begin(&mut self, number: u32, ask: Ask) {
        let (tell, told) = mpsc::unbounded_channel();
        self.open.insert(number, tell);
        let talk = Talk {
            number,
            to: self.to.clone(),
            told,
        };
        let (desk, work) = (Arc::clone(&self.desk), self.work.clone());
        let answering = async move {
            let _ = answer(&desk, ask, talk, &work).await;
            Some(number)
        };
        self.tasks.spawn(Box::pin(answering));
    }
}

/// What is said about one thing.
struct Talk {
    number: u32,
    to: Outgoing,
    told: mpsc::UnboundedReceiver<Told>,
}

impl Talk {
    async fn say(&self, frame: &Frame) -> io::Result<()> {
        let said = self.to.send(frame.about(self.number)?).await;
        said.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    async fn answer(&self, answer: &Answer) -> io::Result<()> {
        self.say(&Frame::word(answer)?).await
    }
}

/// Does one thing that is asked for.
async fn answer(desk: &Desk, ask: Ask, mut talk: Talk, work: &Work) -> io::Result<()> {
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
            let mut following = match desk.accept(asked) {
                Ok((accepted, following)) => {
                    if accepted.is_some() {
                        let _ = work.send(accepted);
                    }
                    following
                }
                Err(answer) => return talk.answer(&answer).await,
            };
            if begins(desk, &task, &mut following, &mut talk).await? {
                pass_on(following, talk).await
            } else {
                talk.answer(&Answer::Unstaged).await
            }
        }
        Ask::Follow { task, show } => match desk.follow(&task, show) {
            Some(following) => {
                talk.say(&Frame::Began).await?;
                pass_on(following, talk).await
            }
            None => talk.answer(&Answer::Unknown).await,
        },
        Ask::Probe(probe) => examine(desk, *probe, talk).await,
        // It is the first thing that is asked on a connection, and the only one.
        Ask::Conclude => talk.answer(&Answer::Unknown).await,
        Ask::Seal { run } => {
            desk.seal(run);
            talk.answer(&Answer::Sealed).await
        }
    }
}

/// Waits until an attempt begins that is staged, and says so; false: it does not. It is taken
/// back if it is told anything, or if whoever asked goes away.
async fn begins(
    desk: &Desk,
    task: &Task,
    following: &mut Following,
    talk: &mut Talk,
) -> io::Result<bool> {
    let Some(mut begun) = following.begun.take() else {
        return Ok(true);
    };
    let begins = tokio::select! {
        biased;
        begins = &mut begun => begins.is_ok(),
        told = talk.told.recv() => {
            if desk.take_back(task) {
                return Ok(false);
            }
            // It begins, or was refused, at this moment.
            if let Some(told) = told {
                following.told(told);
            }
            begun.await.is_ok()
        }
    };
    if begins {
        talk.say(&Frame::Began).await?;
    }
    Ok(begins)
}

/// Passes on what an attempt prints and how it ends, and what it is told.
async fn pass_on(mut following: Following, mut talk: Talk) -> io::Result<()> {
    let mut listens = true;
    let gone = loop {
        tokio::select! {
            biased;
            Some((stream, bytes)) = following.shown.recv() => {
                talk.say(&Frame::Output(stream, bytes)).await?;
            }
            gone = &mut following.ended => break gone,
            told = talk.told.recv(), if listens => match told {
                Some(told) => following.told(told),
                None => listens = false,
            },
        }
    };
    let gone = gone.map_err(|_| io::ErrorKind::BrokenPipe)?;
    while let Ok((stream, bytes)) = following.shown.try_recv() {
        talk.say(&Frame::Output(stream, bytes)).await?;
    }
    talk.answer(&Answer::Gone(Box::new(gone))).await
}

/// Runs something that is killed when nobody listens any more.
async fn examine(desk: &Desk, probe: Probe, mut talk: Talk) -> io::Result<()> {
    let (stop, heard) = watch::channel(Stop::No);
    let mark = desk.mark();
    let mut work = std::pin::pin!(probe::run(probe, &mark, heard));
    let mut listens = true;
    let probed = loop {
        tokio::select! {
            probed = &mut work => break probed,
            told = talk.told.recv(), if listens => {
                listens = told.is_some();
                match told {
                    Some(Told::End(degree)) => drop(stop.send_replace(degree)),
                    // It has begun.
                    Some(Told::TakeBack) => {}
                    None => drop(stop.send_replace(Stop::AtOnce)),
                }
            }
        }
    };
    for (stream, bytes) in [(Stream::Out, probed.out), (Stream::Err, probed.err)] {
        talk.say(&Frame::Output(stream, bytes)).await?;
    }
    let answer = Answer::Probed {
        exit: probed.exit,
        truncated: probed.truncated,
        guards: probed.guards,
        ends: probed.ends,
    };
    talk.answer(&answer).await
}
