//! A run on the server, as the program following it asks for it.

use std::time::Duration;

use temporalio_client::{
    Client, WorkflowHandle, WorkflowQueryOptions, errors::WorkflowQueryError, tonic::Code,
};
use tokio::time::Instant;

use wf_engine::{BackendRun, FromBackend};

use crate::{
    files::objects::Objects,
    follower::{
        follow::{FollowError, refused, say},
        local_copy::LocalCopy,
        rescue::{STUCK_AFTER, end_by_force, recorded_news, stuck},
    },
    messages::order::RunNews,
    workflows::{
        inquiry::{InquiryError, RunInquiry, inquire, is_silence},
        workflow::RunWorkflow,
    },
};

/// The time a run has to answer, after which nobody seems to drive it.
const PATIENCE: Duration = Duration::from_mins(1);

/// The reason of a run the server does not know.
pub(crate) const UNKNOWN: &str = "the Temporal server does not know the workflow of the run";

/// A followed run.
pub(crate) struct FollowedRun<'a> {
    run: &'a BackendRun,
    handle: &'a WorkflowHandle<Client, RunWorkflow>,
    objects: Objects,
    /// The time of its last answer.
    answered: Instant,
    /// True if somebody wants it to end.
    pub(crate) is_cancelled: bool,
    /// True if its workflow is over.
    pub(crate) is_over: bool,
}

/// The result of a look at a run.
pub(crate) enum RunLook {
    /// It has no news now.
    Nothing,
    News(Box<RunNews>),
    /// Nobody can tell more about it than what is recorded, for this reason.
    Ended(String),
}

impl<'a> FollowedRun<'a> {
    pub(crate) fn new(
        run: &'a BackendRun,
        handle: &'a WorkflowHandle<Client, RunWorkflow>,
        objects: Objects,
    ) -> Self {
        Self { run, handle, objects, answered: Instant::now(), is_cancelled: false, is_over: false }
    }

    /// Looks at the run. One that is to end and cannot go on is ended by force.
    pub(crate) async fn look(&mut self) -> Result<RunLook, FollowError> {
        match self.ask_for_news().await {
            Ok(Some(news)) => Ok(RunLook::News(Box::new(news))),
            Ok(None) if self.answered.elapsed() > STUCK_AFTER => match stuck(self.handle).await? {
                None => Ok(RunLook::Nothing),
                Some(reason) if self.is_cancelled => {
                    end_by_force(self.handle, &reason).await?;
                    Ok(RunLook::Ended(ended_without(&reason)))
                }
                Some(reason) => Err(FollowError::Stuck(reason)),
            },
            Ok(None) => Ok(RunLook::Nothing),
            Err(FollowError::Unknown) if self.is_cancelled => Ok(RunLook::Ended(UNKNOWN.to_owned())),
            Err(FollowError::Stuck(reason)) if self.is_cancelled => {
                Ok(RunLook::Ended(ended_without(&reason)))
            }
            Err(error) => Err(error),
        }
    }

    /// Passes on what the history has of the record, and the object store.
    pub(crate) async fn take_recorded(&self, local: &mut LocalCopy) -> Result<(), FollowError> {
        let Some(news) = recorded_news(self.handle).await? else { return Ok(()) };
        if let Err(error) = local.take_news(news).await {
            let note = format!("a part of the record cannot be read from the object store any more: {error}");
            say(&FromBackend::Note(note));
        }
        Ok(())
    }

    /// Asks the run for news; `None`: it has none now.
    async fn ask_for_news(&mut self) -> Result<Option<RunNews>, FollowError> {
        match inquire(self.handle, RunWorkflow::inquire, RunInquiry::News).await {
            Ok(news) => return Ok(self.heard(news)),
            Err(InquiryError::Silent) => return self.silence(),
            Err(InquiryError::Refused(reason)) => return Err(refused("tell how the run goes", &reason)),
            // It is over, and its history does not change any more; or a worker of the version before drives it.
            Err(InquiryError::Over | InquiryError::Foreign) => {}
        }
        match self.handle.query(RunWorkflow::news, (), WorkflowQueryOptions::default()).await {
            Ok(news) => Ok(self.heard(news)),
            Err(WorkflowQueryError::NotFound(_)) if self.run.is_begun => self.last_news().await,
            Err(WorkflowQueryError::NotFound(_)) => Err(FollowError::Unknown),
            Err(WorkflowQueryError::Rpc(status)) if is_silence(&status) => self.silence(),
            // Not even its history tells how it went.
            Err(WorkflowQueryError::Rpc(status))
                if self.is_over && status.code() == Code::InvalidArgument =>
            {
                Err(FollowError::Stuck(status.message().to_owned()))
            }
            Err(error) => Err(refused("tell how the run goes", &error)),
        }
    }

    /// Returns the news of an answering run; `None`: it has none now.
    fn heard(&mut self, news: Option<RunNews>) -> Option<RunNews> {
        if news.is_some() {
            self.answered = Instant::now();
        }
        // Its end is the last that is recorded.
        news.filter(|news| !news.is_keeping)
    }

    /// Returns no news of a run that does not answer, for a while.
    fn silence(&self) -> Result<Option<RunNews>, FollowError> {
        if self.answered.elapsed() < PATIENCE { Ok(None) } else { Err(FollowError::Silent) }
    }

    /// Returns the last news of a run the server does not know any more, kept for its goal; `None`: it does not know it
    /// yet.
    async fn last_news(&self) -> Result<Option<RunNews>, FollowError> {
        let Some(digest) = self.objects.named(&RunNews::name(&self.run.run)).await? else {
            return if self.answered.elapsed() < PATIENCE { Ok(None) } else { Err(FollowError::Unknown) };
        };
        Ok(Some(self.objects.get_json(&digest).await?))
    }
}

/// Returns the reason of an end the workflow of a run did not decide.
fn ended_without(reason: &str) -> String {
    format!("the run was ended without its workflow, which no worker can continue: {reason}")
}
