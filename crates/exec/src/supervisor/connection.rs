//! The supervisor's side of one connection.

use std::{collections::BTreeMap, io, sync::Arc};

use tokio::{
    net::UnixStream,
    sync::{mpsc, watch},
    task::JoinSet,
};

use super::{
    frame::{FrameReader, FrameSender, SupervisorFrame, outgoing, send, write},
    message::{RequestFollowUp, SupervisorReply, SupervisorRequest},
    state::{Supervisor, WorkSender},
    subscription::AttemptSubscription,
};
use crate::{
    log::LogStream,
    processes::probe::{self, ProbeJob},
    work_error::StopLevel,
};

/// Serves the requests of a connection. The client may disconnect at any time.
pub(super) async fn serve_connection(
    supervisor: Arc<Supervisor>,
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
        if supervisor.has_engine() {
            return send(&mut to, &SupervisorFrame::message(&SupervisorReply::Unknown)?).await;
        }
        supervisor.conclude(from.into_inner().reunite(to).map_err(io::Error::other)?);
        let _ = work.send(None);
        return Ok(());
    }
    let (to_all, messages) = outgoing();
    let mut connection =
        ServedConnection { supervisor, work, to: to_all, open: BTreeMap::new(), tasks: JoinSet::new() };
    connection.tasks.spawn(async {
        let _ = write(to, messages).await;
        None
    });
    connection.begin(number, first);
    loop {
        tokio::select! {
            heard = from.next() => match heard {
                Ok(Some((number, frame))) => connection.on_frame(number, &frame)?,
                Ok(None) | Err(_) => break,
            },
            Some(Ok(Some(number))) = connection.tasks.join_next() => drop(connection.open.remove(&number)),
        }
    }
    // Drop the senders, so that pending requests see that the client is gone.
    let ServedConnection { mut tasks, open, to, .. } = connection;
    drop((open, to));
    while tasks.join_next().await.is_some() {}
    Ok(())
}

/// The requests of a connection not answered yet.
struct ServedConnection {
    supervisor: Arc<Supervisor>,
    work: WorkSender,
    to: FrameSender,
    /// The channels for follow-up messages, by request number.
    open: BTreeMap<u32, mpsc::UnboundedSender<RequestFollowUp>>,
    /// Tasks, each with its request number as the result.
    tasks: JoinSet<Option<u32>>,
}

impl ServedConnection {
    fn on_frame(&mut self, number: u32, frame: &SupervisorFrame) -> io::Result<()> {
        match frame {
            SupervisorFrame::FollowUp(_) => {
                let follow_up = frame.decode()?;
                // The request may have been answered in the meantime.
                if let Some(open) = self.open.get(&number) {
                    let _ = open.send(follow_up);
                }
            }
            SupervisorFrame::Message(_) => self.begin(number, frame.decode()?),
            SupervisorFrame::Output(..) => return Err(io::ErrorKind::InvalidData.into()),
        }
        Ok(())
    }

    fn begin(&mut self, number: u32, supervisor_request: SupervisorRequest) {
        let (sender, follow_ups) = mpsc::unbounded_channel();
        self.open.insert(number, sender);
        let request = ServedRequest { number, to: self.to.clone(), follow_ups };
        let (supervisor, work) = (Arc::clone(&self.supervisor), self.work.clone());
        let answering = async move {
            let _ = answer(&supervisor, supervisor_request, request, &work).await;
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
        let sent = self.to.send(frame.about(self.number)?).await;
        sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    async fn answer(&self, reply: &SupervisorReply) -> io::Result<()> {
        self.send_frame(&SupervisorFrame::message(reply)?).await
    }
}

async fn answer(
    supervisor: &Supervisor,
    supervisor_request: SupervisorRequest,
    request: ServedRequest,
    work: &WorkSender,
) -> io::Result<()> {
    match supervisor_request {
        SupervisorRequest::Run { task, job, show } => match supervisor.accept(task, *job, show) {
            Ok((accepted, following)) => {
                let _ = work.send(Some(accepted));
                forward_output(following, request).await
            }
            Err(answer) => request.answer(&answer).await,
        },
        SupervisorRequest::Follow { task, show } => match supervisor.follow(&task, show) {
            Some(following) => forward_output(following, request).await,
            None => request.answer(&SupervisorReply::Unknown).await,
        },
        SupervisorRequest::Probe(probe) => examine(supervisor, *probe, request).await,
        // `Conclude` must be the first and only request of its connection.
        SupervisorRequest::Conclude => request.answer(&SupervisorReply::Unknown).await,
        SupervisorRequest::Seal { run } => {
            supervisor.seal(run);
            request.answer(&SupervisorReply::Sealed).await
        }
    }
}

/// Forwards the output and the outcome of an attempt, and the messages to it.
async fn forward_output(mut subscription: AttemptSubscription, mut request: ServedRequest) -> io::Result<()> {
    let mut listens = true;
    let gone = loop {
        tokio::select! {
            biased;
            Some((stream, bytes)) = subscription.output.recv() => {
                request.send_frame(&SupervisorFrame::Output(stream, bytes)).await?;
            }
            outcome = &mut subscription.outcome => break outcome,
            follow_up = request.follow_ups.recv(), if listens => match follow_up {
                Some(follow_up) => subscription.forward_stop(follow_up),
                None => listens = false,
            },
        }
    };
    let gone = gone.map_err(|_| io::ErrorKind::BrokenPipe)?;
    while let Ok((stream, bytes)) = subscription.output.try_recv() {
        request.send_frame(&SupervisorFrame::Output(stream, bytes)).await?;
    }
    request.answer(&SupervisorReply::Gone(Box::new(gone))).await
}

/// Runs a probe killed when the client disconnects.
async fn examine(supervisor: &Supervisor, probe: ProbeJob, mut request: ServedRequest) -> io::Result<()> {
    let (stop, heard) = watch::channel(StopLevel::No);
    let mark = supervisor.mark();
    let mut work = std::pin::pin!(probe::run(probe, &mark, heard));
    let mut listens = true;
    let mut probed = loop {
        tokio::select! {
            probed = &mut work => break probed,
            follow_up = request.follow_ups.recv(), if listens => {
                listens = follow_up.is_some();
                let degree = follow_up.map_or(StopLevel::AtOnce, |RequestFollowUp::End(degree)| degree);
                stop.send_replace(degree);
            }
        }
    };
    let (out, err) = (std::mem::take(&mut probed.out), std::mem::take(&mut probed.err));
    request.send_frame(&SupervisorFrame::Output(LogStream::Out, out)).await?;
    request.send_frame(&SupervisorFrame::Output(LogStream::Err, err)).await?;
    request.answer(&SupervisorReply::Probed(Box::new(probed))).await
}
