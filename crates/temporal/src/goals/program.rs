//! The program that `wf goal deploy` and other commands start for a deployed goal: one request, one answer.

use std::{io::Read as _, time::Duration};

use temporalio_client::{
    Client, WorkflowDescribeOptions, WorkflowExecuteUpdateOptions, WorkflowExecutionStatus,
    WorkflowIdConflictPolicy, WorkflowIdReusePolicy, WorkflowQueryOptions, WorkflowStartOptions,
    errors::{WorkflowStartError, WorkflowUpdateError},
};
use tokio::time::{Instant, sleep, timeout};

use wf_app::{
    Host, Workspace,
    config::Backend,
    goals::{GoalAct, GoalAnswer, GoalDeployment, GoalRequest, RecordBatch},
};
use wf_base::{digest::Sha256Digest, failpoint};
use wf_core::machine::LOGIC_VERSION;

use crate::{
    files::objects::{ObjectError, Objects},
    follower::{
        follow::{FollowError, refused, say},
        stored_workspace::{StoredWorkspace, store_state},
    },
    goals::{
        log::{records_since, with_run},
        workflow::GoalWorkflow,
    },
    messages::goal_order::{BegunGoalMark, DeployedGoalSpec, GoalNews, GoalOrder},
    run::driver::DEFAULT_QUEUE,
    workflows::inquiry::{InquiryError, inquire},
};

/// The beginning of the ids of workflows of goals.
const WORKFLOW: &str = "wf-goal-";

/// The number of records in one answer, at most.
const RECORDS: usize = 500;

/// The time the workflow of a goal has to answer, after which nobody seems to drive it.
const PATIENCE: Duration = Duration::from_secs(30);

/// The time between two questions nobody answers.
const PAUSE: Duration = Duration::from_millis(500);

/// The reason why a request cannot be answered.
#[derive(Debug, thiserror::Error)]
pub enum GoalProgramError {
    /// The files or the state of the workspace cannot be stored, or the server refuses.
    #[error(transparent)]
    Follow(#[from] FollowError),
    /// The object store does not do what it should.
    #[error(transparent)]
    Objects(#[from] ObjectError),
    /// No worker drives the goal.
    #[error(
        "no worker answers for the goal; start one with `wf-temporal worker NAME`, or look at the log of those there are"
    )]
    Silent,
    /// The goal refuses an act.
    #[error("the goal refuses that: {0}")]
    Refused(String),
    /// The command that started this program said something else than expected.
    #[error("this program is started by `wf goal` and reads what that says: {0}")]
    Protocol(String),
}

/// Answers the request on standard input.
pub async fn answer_goal_request(
    backend: &Backend,
    client: &Client,
    host: &Host,
) -> Result<(), GoalProgramError> {
    let mut text = String::new();
    let read = std::io::stdin().lock().read_to_string(&mut text).map_err(|error| error.to_string());
    let request = read.and_then(|_| serde_json::from_str(&text).map_err(|error| error.to_string()));
    let objects = Objects::open(&backend.objects)?;
    let program = GoalProgram { backend, client, host, objects };
    let answer = program.answer(request.map_err(GoalProgramError::Protocol)?).await?;
    say(&answer);
    Ok(())
}

struct GoalProgram<'a> {
    backend: &'a Backend,
    client: &'a Client,
    host: &'a Host,
    objects: Objects,
}

impl GoalProgram<'_> {
    async fn answer(&self, request: GoalRequest) -> Result<GoalAnswer, GoalProgramError> {
        match request {
            GoalRequest::Prepare(deployment) => self.prepare(*deployment).await,
            GoalRequest::Start { workflow, spec } => self.start(&workflow, spec).await,
            GoalRequest::Records { workflow, after } => {
                self.records(&workflow, after).await.map(GoalAnswer::Records)
            }
            GoalRequest::Act { workflow, act } => self.act(&workflow, act).await,
        }
    }

    /// Stores the inputs of a goal there.
    async fn prepare(&self, mut deployment: GoalDeployment) -> Result<GoalAnswer, GoalProgramError> {
        // Nothing there depends on where the workspace is here.
        let (root, state) = (std::mem::take(&mut deployment.root), std::mem::take(&mut deployment.state));
        let carried = std::mem::take(&mut deployment.carried);
        let workspace = Workspace { root, state };
        let StoredWorkspace { tree, state_folder, is_repository } =
            StoredWorkspace::new(&workspace, [], self.host, &self.objects).await?;
        let spec = DeployedGoalSpec {
            logic_version: LOGIC_VERSION,
            state: store_state(&carried, &workspace.state, &self.objects).await?,
            state_folder,
            is_repository,
            tree,
            approvers: deployment.look.approval.approvers().clone(),
            queues: self.backend.queues.clone(),
            deployment,
        };
        let workflow = workflow_of(&spec.deployment.name);
        Ok(GoalAnswer::Prepared { workflow, spec: self.objects.put_json(&spec).await? })
    }

    /// Starts the workflow of a goal, unless it was started before: also one that is over does not begin again.
    async fn start(&self, workflow: &str, spec: Sha256Digest) -> Result<GoalAnswer, GoalProgramError> {
        let begun_goal = workflow.strip_prefix(WORKFLOW).unwrap_or(workflow).to_owned();
        if self.objects.has_json(&BegunGoalMark { begun_goal }).await? {
            return Ok(GoalAnswer::Done);
        }
        let queue = self.backend.queues.get(DEFAULT_QUEUE).cloned().unwrap_or_default();
        let options = WorkflowStartOptions::new(queue, workflow)
            .id_reuse_policy(WorkflowIdReusePolicy::RejectDuplicate)
            .id_conflict_policy(WorkflowIdConflictPolicy::UseExisting)
            .build();
        let order = GoalOrder { spec, progress: None };
        failpoint::point("start.before");
        let started = self.client.start_workflow(GoalWorkflow::run, order, options).await;
        failpoint::point("start.after");
        match started {
            Ok(_) | Err(WorkflowStartError::AlreadyStarted { .. }) => Ok(GoalAnswer::Done),
            Err(error) => Err(refused("start the goal", &error).into()),
        }
    }

    /// Returns the next records of a goal, also if that is over.
    async fn records(&self, workflow: &str, after: u64) -> Result<RecordBatch, GoalProgramError> {
        let Some(news) = self.news(workflow).await? else {
            return Ok(RecordBatch::default());
        };
        let (count, mut records) = (news.count(), Vec::new());
        for stored in records_since(&self.objects, news, after, RECORDS).await? {
            records.push(with_run(&self.objects, stored).await?);
        }
        Ok(RecordBatch { records, count })
    }

    /// Asks a goal for its records; `None`: it has not begun.
    async fn news(&self, workflow: &str) -> Result<Option<GoalNews>, GoalProgramError> {
        let handle = self.client.get_workflow_handle::<GoalWorkflow>(workflow);
        let begun = Instant::now();
        loop {
            match inquire(&handle, GoalWorkflow::inquire, ()).await {
                Ok(news) => return Ok(news),
                Err(InquiryError::Silent) if begun.elapsed() < PATIENCE => sleep(PAUSE).await,
                Err(InquiryError::Silent) => return Err(GoalProgramError::Silent),
                Err(InquiryError::Refused(reason)) => {
                    return Err(refused("tell the records of the goal", &reason).into());
                }
                // It is over, and its history does not change any more; or a worker of the version before drives it.
                Err(InquiryError::Over | InquiryError::Foreign) => break,
            }
        }
        let news = handle.query(GoalWorkflow::records, (), WorkflowQueryOptions::default());
        let news = timeout(PATIENCE, news).await.map_err(|_| GoalProgramError::Silent)?;
        Ok(news.map_err(|error| refused("tell the records of the goal", &error))?)
    }

    /// Acts on a goal. What follows from it is among its records.
    async fn act(&self, workflow: &str, act: GoalAct) -> Result<GoalAnswer, GoalProgramError> {
        let handle = self.client.get_workflow_handle::<GoalWorkflow>(workflow);
        let is_recall = matches!(act, GoalAct::Recall { .. });
        let done = handle.execute_update(GoalWorkflow::act, act, WorkflowExecuteUpdateOptions::default());
        let done = timeout(PATIENCE, done).await.map_err(|_| GoalProgramError::Silent)?;
        match done {
            Ok(()) => Ok(GoalAnswer::Done),
            Err(WorkflowUpdateError::Failed(failure)) => Err(GoalProgramError::Refused(failure.message)),
            Err(error) => {
                let description = handle.describe(WorkflowDescribeOptions::default()).await;
                let is_over = description
                    .is_ok_and(|execution| execution.status() == WorkflowExecutionStatus::Completed);
                match is_over {
                    true if is_recall => Ok(GoalAnswer::Done),
                    true => Err(GoalProgramError::Refused("the goal was recalled".into())),
                    false => Err(refused("act on the goal", &error).into()),
                }
            }
        }
    }
}

/// Returns the id of the workflow of a deployment.
fn workflow_of(name: &str) -> String {
    format!("{WORKFLOW}{name}")
}
