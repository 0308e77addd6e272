//! The session of a run on a host, whose workspace is elsewhere, and the notifications of deployed goals, sent from a worker:
//! its programs, its secrets, and the files the goal has there.

use std::sync::{Arc, atomic::Ordering};

use serde::Deserialize as _;
use wf_app::{
    RunOptions, Workspace,
    goals::send_goal_notification,
    load::{self, LoadedPlan},
    session::open_session_for,
    watch::AuditedSession,
};
use wf_core::goal::NotificationOrder;
use wf_engine::{EarlierConversations, RemoteWorkspace};
use wf_report::follow::CombinedObserver;

use super::{Sites, WorkerError, worktrees::has_worktrees};
use crate::{
    files::{checkout::Checkout, results::StoredResults},
    host::worker_life::WorkerCaller,
    messages::{
        goal_order::{DeployedGoalSpec, NotificationErrand},
        order::RunSpec,
    },
    run::plan::text_files,
    worker::log_line,
};

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
        let approvers = Box::new(spec.approvers.clone());
        let session = open_session_for(caller, loaded, approvers, true, observer)?;
        // The run goes on elsewhere if this worker dies, and with it the right to work for it.
        session.executor.bind();
        session.use_remote_workspace(RemoteWorkspace {
            conversations,
            state_folder: spec.state_folder.clone(),
            is_repository: spec.is_repository && has_worktrees(&loaded.plan),
        });
        // Without it, the attempts fail that need it, with the reason.
        if let Err(unable) = session.make_repository().await {
            log_line(&format!("{}: {}", spec.path, unable.reason));
        }
        session.collect_additions();
        session.share_ledgers(Arc::clone(&self.ledgers));
        session.share_results(Box::new(StoredResults(self.objects.clone())));
        Ok(session)
    }
}

impl Sites {
    /// Sends a notification about a goal, in a folder with the files of its workspace.
    pub async fn send_notification(&self, errand: &NotificationErrand) -> Result<(), WorkerError> {
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        let folder = self.folder.join(format!("notification-{number}"));
        let (root, state) = (folder.join("workspace"), folder.join("state"));
        let host = self.host.of_folder(&root, &state);
        let caller = WorkerCaller { host, action_words: self.action_words };
        let sent = self.send(errand, caller, Workspace { root, state }).await;
        // The worker empties the folder around it when it starts.
        let _ = std::fs::remove_dir_all(&folder);
        sent
    }

    async fn send(
        &self,
        errand: &NotificationErrand,
        caller: WorkerCaller,
        workspace: Workspace,
    ) -> Result<(), WorkerError> {
        let DeployedGoalSpec { deployment, .. } = self.objects.get_json(&errand.spec).await?;
        Checkout::create(&workspace.root, &errand.tree, self.queue.clone(), &self.objects).await?;
        let begun = RunOptions { is_continuation: true, ..RunOptions::recorded(&deployment.look.config) };
        let files = text_files(&deployment.sources);
        let loaded = load::load_plan(&caller, &files, workspace, deployment.path, begun)?;
        let at = NotificationOrder::deserialize(&errand.notice).map(|order| order.message.at);
        let sent =
            send_goal_notification(&caller.host, &loaded, &errand.notice, at.unwrap_or_default()).await;
        sent.map_err(|error| WorkerError::Run(error.to_string()))
    }
}
