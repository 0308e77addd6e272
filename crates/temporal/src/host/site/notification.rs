//! The notifications of deployed goals, sent from a worker: its programs, its secrets, and the files the goal has
//! there.

use std::sync::atomic::Ordering;

use wf_app::goals::send_goal_notification;
use wf_app::{RunOptions, Workspace, load};
use wf_base::time::Moment;

use super::{Sites, WorkerError};
use crate::files::checkout::Checkout;
use crate::host::caller::WorkerCaller;
use crate::messages::goal_order::{DeployedGoalSpec, NotificationErrand};
use crate::run::plan::text_files;

impl Sites {
    /// Sends a notification about a goal, in a folder with the files of its workspace.
    pub async fn send_notification(&self, errand: &NotificationErrand) -> Result<(), WorkerError> {
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        let folder = self.folder.join(format!("notification-{number}"));
        let (root, state) = (folder.join("workspace"), folder.join("state"));
        let host = self.host.of_folder(&root, &state);
        let sent = self.send(errand, WorkerCaller(host), Workspace { root, state }).await;
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
        let at = errand.notice.pointer("/message/at").and_then(|at| Moment::parse(at.as_str()?).ok());
        let sent = send_goal_notification(&caller.0, &loaded, &errand.notice, at.unwrap_or_default()).await;
        sent.map_err(WorkerError::Run)
    }
}
