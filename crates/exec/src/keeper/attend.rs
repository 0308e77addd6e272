//! The supervisor's side of one connection.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use tokio::net::UnixStream;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::desk::{AttemptRequest, Supervisor, WorkSender};
use super::follow::AttemptSubscription;
use super::frame::{FrameReader, FrameSender, SupervisorFrame, outgoing, send, write};
use super::message::{RequestFollowUp, SupervisorReply, SupervisorRequest};
use crate::StopLevel;
use crate::log::LogStream;
use crate::probe::{self, ProbeJob};

/// Serves the requests of a connection. The client may disconnect at any time.
pub(super) async fn serve_connection(
    desk: Arc<Supervisor>,
    connection: UnixStream,
    work: WorkSender,
) -> io::Result<()> {
    let (from, mut to) = connection.into_split();
    let mut from = FrameReader::new(from);
    let Some((number, first)) = from.next().await? else {
        return Ok(());
    };
    let first = first.decode()?;
    if let SupervisorRequest::Conclude = first {
        if desk.has_engine() {
            return send(&mut to, &SupervisorFrame::message(&SupervisorReply::Unknown)?).await;
        }
        desk.conclude(from.into_inner().reunite(to).map_err(io::Error::other)?);
        let _ = work.send(None);
        return Ok(());
    }
    let (to_all, messages) = outgoing();
    let mut talks =
        ServedConnection { supervisor: desk, work, to: to_all, open: BTreeMap::new(), tasks: JoinSet::new() };
    talks.tasks.spawn(async {
        let _ = write(to, messages).await;
        None
    });
    talks.begin(number, first);
    loop {
        tokio::select! {
            heard = from.next() => match heard {
                Ok(Some((number, frame))) => talks.on_frame(number, &frame)?,
                Ok(None) | Err(_) => break,
            },
            Some(Ok(Some(number))) = talks.tasks.join_next() => drop(talks.open.remove(&number)),
        }
    }
    // Drop the senders, so that pending talks see that the client is gone.
    let ServedConnection { mut tasks, open, to, .. } = talks;
    drop((open, to));
    while tasks.join_next().await.is_some() {}
    Ok(())
}

/// The requests of a connection that are not answered yet.
struct ServedConnection {
    supervisor: Arc<Supervisor>,
    work: WorkSender,
    to: FrameSender,
    /// The channels for follow-up messages, by request number.
    open: BTreeMap<u32, mpsc::UnboundedSender<RequestFollowUp>>,
    /// Tasks that return their request number.
    tasks: JoinSet<Option<u32>>,
}

impl ServedConnection {
    fn on_frame(&mut self, number: u32, frame: &SupervisorFrame) -> io::Result<()> {
        match frame {
            SupervisorFrame::FollowUp(_) => {
                let told = frame.decode()?;
                // The request may have been answered in the meantime.
                if let Some(open) = self.open.get(&number) {
                    let _ = open.send(told);
                }
            }
            SupervisorFrame::Message(_) => self.begin(number, frame.decode()?),
            SupervisorFrame::Output(..) => return Err(io::ErrorKind::InvalidData.into()),
        }
        Ok(())
    }

    fn begin(&mut self, number: u32, ask: SupervisorRequest) {
        let (tell, told) = mpsc::unbounded_channel();
        self.open.insert(number, tell);
        let talk = ServedRequest { number, to: self.to.clone(), follow_ups: told };
        let (desk, work) = (Arc::clone(&self.supervisor), self.work.clone());
        let answering = async move {
            let _ = answer(&desk, ask, talk, &work).await;
            Some(number)
        };
        self.tasks.spawn(Box::pin(answering));
    }
}

/// The conversation about one request.
struct ServedRequest {
    number: u32,
    to: FrameSender,
    follow_ups: mpsc::UnboundedReceiver<RequestFollowUp>,
}

impl ServedRequest {
    async fn send_frame(&self, frame: &SupervisorFrame) -> io::Result<()> {
        let said = self.to.send(frame.about(self.number)?).await;
        said.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    async fn answer(&self, answer: &SupervisorReply) -> io::Result<()> {
        self.send_frame(&SupervisorFrame::message(answer)?).await
    }
}

/// Serves one request.
async fn answer(
    desk: &Supervisor,
    ask: SupervisorRequest,
    talk: ServedRequest,
    work: &WorkSender,
) -> io::Result<()> {
    match ask {
        SupervisorRequest::Run { task, job, show } => {
            match desk.accept(AttemptRequest { task, job: *job, show }) {
                Ok((accepted, following)) => {
                    let _ = work.send(Some(accepted));
                    forward_output(following, talk).await
                }
                Err(answer) => talk.answer(&answer).await,
            }
        }
        SupervisorRequest::Follow { task, show } => match desk.follow(&task, show) {
            Some(following) => forward_output(following, talk).await,
            None => talk.answer(&SupervisorReply::Unknown).await,
        },
        SupervisorRequest::Probe(probe) => examine(desk, *probe, talk).await,
        // `Conclude` must be the first and only request of its connection.
        SupervisorRequest::Conclude => talk.answer(&SupervisorReply::Unknown).await,
        SupervisorRequest::Seal { run } => {
            desk.seal(run);
            talk.answer(&SupervisorReply::Sealed).await
        }
    }
}

/// Forwards the output and the outcome of an attempt, and the messages to it.
async fn forward_output(mut following: AttemptSubscription, mut talk: ServedRequest) -> io::Result<()> {
    let mut listens = true;
    let gone = loop {
        tokio::select! {
            biased;
            Some((stream, bytes)) = following.output.recv() => {
                talk.send_frame(&SupervisorFrame::Output(stream, bytes)).await?;
            }
            gone = &mut following.outcome => break gone,
            told = talk.follow_ups.recv(), if listens => match told {
                Some(told) => following.forward_stop(told),
                None => listens = false,
            },
        }
    };
    let gone = gone.map_err(|_| io::ErrorKind::BrokenPipe)?;
    while let Ok((stream, bytes)) = following.output.try_recv() {
        talk.send_frame(&SupervisorFrame::Output(stream, bytes)).await?;
    }
    talk.answer(&SupervisorReply::Gone(Box::new(gone))).await
}

/// Runs a probe that is killed when the client disconnects.
async fn examine(desk: &Supervisor, probe: ProbeJob, mut talk: ServedRequest) -> io::Result<()> {
    let (stop, heard) = watch::channel(StopLevel::No);
    let mark = desk.mark();
    let mut work = std::pin::pin!(probe::run(probe, &mark, heard));
    let mut listens = true;
    let probed = loop {
        tokio::select! {
            probed = &mut work => break probed,
            told = talk.follow_ups.recv(), if listens => {
                listens = told.is_some();
                match told {
                    Some(RequestFollowUp::End(degree)) => drop(stop.send_replace(degree)),
                    None => drop(stop.send_replace(StopLevel::AtOnce)),
                }
            }
        }
    };
    for (stream, bytes) in [(LogStream::Out, probed.out), (LogStream::Err, probed.err)] {
        talk.send_frame(&SupervisorFrame::Output(stream, bytes)).await?;
    }
    let answer = SupervisorReply::Probed {
        exit: probed.exit,
        truncated: probed.truncated,
        isolation: probed.isolation,
        ends: probed.ends,
    };
    talk.answer(&answer).await
}
