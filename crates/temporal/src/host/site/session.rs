//! The session of a run on a host, whose workspace is elsewhere.

use std::sync::Arc;

use wf_app::load::LoadedPlan;
use wf_app::session::open_session_for;
use wf_app::watch::AuditedSession;
use wf_engine::{EarlierConversations, RemoteWorkspace};
use wf_report::follow::CombinedObserver;

use super::worktrees::has_worktrees;
use super::{Sites, WorkerError};
use crate::files::results::StoredResults;
use crate::host::caller::WorkerCaller;
use crate::messages::order::RunSpec;
use crate::terminal::note;

impl Sites {
    /// Opens the session of a run, which tells what belongs to the state of its workspace.
    pub(super) async fn open_session(
        &self,
        caller: &WorkerCaller,
        loaded: &LoadedPlan,
        spec: &RunSpec,
    ) -> Result<AuditedSession, WorkerError> {
        let conversations = match &spec.conversations {
            Some(digest) => self.objects.get_json(digest).await?,
            None => EarlierConversations::default(),
        };
        let observer = Box::new(CombinedObserver::default());
        let session = open_session_for(caller, loaded, spec.approvers.clone(), true, observer)?;
        // The run goes on elsewhere if this worker dies, and with it the right to work for it.
        session.executor.bind();
        session.use_remote_workspace(RemoteWorkspace {
            conversations,
            state_folder: spec.state_folder.clone(),
            is_repository: spec.is_repository && has_worktrees(&loaded.plan),
        });
        // Without it, the attempts fail that need it, with the reason.
        if let Err(unable) = session.make_repository().await {
            note(&format!("{}: {}", spec.path, unable.reason));
        }
        session.collect_additions();
        session.share_ledgers(Arc::clone(&self.ledgers));
        session.share_results(Box::new(StoredResults(self.objects.clone())));
        Ok(session)
    }
}
