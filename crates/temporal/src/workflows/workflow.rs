//! The workflow of a run: it waits, and passes on the news.

use std::{collections::VecDeque, sync::Arc};

use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{
    ContinueAsNewOptions, SyncWorkflowContext, WorkflowContext, WorkflowContextView, WorkflowResult,
};

use wf_core::{machine::RunOutcome, run_ledgers::BudgetRefusal};

use crate::{
    files::objects::Objects,
    locks::queue::LockNotice,
    messages::order::{RequestAnswer, RunNews, RunOrder, RunSpec, WorkWish},
    run::{
        driver::RunDriver,
        plan::{RunPlans, require_approver},
        progress::{DriverError, require_own_rules},
    },
    workflows::{
        activities::OrderClaim,
        inquiry::{RunInquiry, answer},
        pool::PoolOrder,
        waits::{TimedOccurrence, Waits, now},
    },
};

/// The mark in histories whose ends are taken in their order. Those of earlier versions have it not.
const BY_HISTORY: &str = "wf-by-history";

/// A run as a workflow.
#[workflow]
pub struct RunWorkflow {
    objects: Objects,
    plans: Arc<RunPlans>,
    inbox: VecDeque<OutsideMessage>,
    driver: Option<RunDriver>,
    spec: Option<Arc<RunSpec>>,
}

/// A message from outside.
pub(crate) enum OutsideMessage {
    Cancel(String),
    Answer(RequestAnswer),
    Lock(LockNotice),
}

impl RunWorkflow {
    /// Creates a workflow not yet begun.
    pub fn new(objects: Objects, plans: Arc<RunPlans>) -> Self {
        Self { objects, plans, inbox: VecDeque::new(), driver: None, spec: None }
    }

    fn open(&mut self, order: RunOrder) -> Result<(), DriverError> {
        let spec: Arc<RunSpec> = Arc::new(self.objects.get_json_now(&order.spec)?);
        require_own_rules(spec.logic_version)?;
        let plan = self.plans.plan(&order.spec, &spec).ok_or(DriverError::Plan)?;
        self.driver = Some(RunDriver::open(order, Arc::clone(&spec), plan, self.objects.clone())?);
        self.spec = Some(spec);
        Ok(())
    }

    pub(crate) fn objects(&self) -> &Objects {
        &self.objects
    }

    /// True if a message from outside waits.
    pub(crate) fn has_message(&self) -> bool {
        !self.inbox.is_empty()
    }

    /// Takes the first of the waiting messages.
    pub(crate) fn take_message(&mut self) -> Option<OutsideMessage> {
        self.inbox.pop_front()
    }
}

#[workflow_methods(factory_only)]
impl RunWorkflow {
    /// Lets the run go on until it is over, or until its history begins anew.
    #[run(name = "wf.run.v1")]
    pub async fn run(ctx: &mut WorkflowContext<Self>, order: RunOrder) -> WorkflowResult<RunOutcome> {
        let pool_order = if ctx.patched(BY_HISTORY) { PoolOrder::History } else { PoolOrder::Number };
        sure(ctx, ctx.state_mut(|state| state.open(order))).await;
        let mut at = now(ctx);
        let mut commands = drive(ctx, |driver| driver.begin(at)).await;
        let mut waits = Waits::new(ctx, pool_order);
        loop {
            for command in commands.drain(..) {
                waits.begin(ctx, at, command);
            }
            if let Some(outcome) = drive(ctx, |driver| Ok(driver.outcome())).await {
                return Ok(outcome);
            }
            let ready = waits.ready(ctx).await;
            if ready.is_none() && waits.is_long(ctx) {
                for command in drive(ctx, |driver| Ok(driver.drain())).await {
                    waits.begin(ctx, at, command);
                }
                let is_idle = drive(ctx, |driver| Ok(driver.is_idle())).await;
                if is_idle && !ctx.state(Self::has_message) {
                    let order = drive(ctx, RunDriver::store).await;
                    ctx.continue_as_new(order, ContinueAsNewOptions::default())?;
                }
            }
            let TimedOccurrence { at: time, occurrence } = match ready {
                Some(occurrence) => occurrence,
                None => waits.next(ctx).await,
            };
            at = time;
            commands = drive(ctx, |driver| driver.step(at, occurrence)).await;
        }
    }

    /// Asks the run to end; a second time, at once.
    #[signal(name = "cancel")]
    pub fn cancel(&mut self, _: &mut SyncWorkflowContext<Self>, reason: String) {
        self.inbox.push_back(OutsideMessage::Cancel(reason));
    }

    /// Takes the answers of a named lock.
    #[signal(name = "lock")]
    pub fn lock(&mut self, _: &mut SyncWorkflowContext<Self>, notice: LockNotice) {
        self.inbox.push_back(OutsideMessage::Lock(notice));
    }

    /// Refuses an unexpected answer, or one without a signature of an approver of the run.
    #[update_validator(answer)]
    fn check_answer(
        &self,
        _: &WorkflowContextView,
        answer: &RequestAnswer,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let (Some(driver), Some(spec)) = (&self.driver, &self.spec) else {
            return Err("the run has not begun".into());
        };
        if !driver.is_asking(&answer.run, answer.request) {
            return Err(format!("the run does not wait for an answer to request {}", answer.request).into());
        }
        require_approver(spec, &answer.token).map_err(Into::into)
    }

    /// Takes the answer of an approver.
    #[update(name = "answer")]
    pub fn answer(&mut self, _: &mut SyncWorkflowContext<Self>, answer: RequestAnswer) {
        self.inbox.push_back(OutsideMessage::Answer(answer));
    }

    /// Refuses a claim of work that is not under way any more.
    #[update_validator(claim)]
    fn check_claim(
        &self,
        _: &WorkflowContextView,
        claim: &OrderClaim,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let is_under_way = self.driver.as_ref().is_some_and(|driver| driver.is_under_way(claim.key));
        if is_under_way { Ok(()) } else { Err("nobody waits for this work any more".into()) }
    }

    /// Sets an amount aside for the calls of some work. Returns the refusal, if a budget does not suffice.
    #[update(name = "claim")]
    pub fn claim(&mut self, _: &mut SyncWorkflowContext<Self>, claim: OrderClaim) -> Option<BudgetRefusal> {
        let OrderClaim { key, claim } = claim;
        self.driver.as_mut().and_then(|driver| driver.claim(key, claim))
    }

    /// Answers a question, which leaves nothing in the history: the answer is the reason of a refusal.
    #[update_validator(inquire)]
    fn answer_inquiry(
        &self,
        _: &WorkflowContextView,
        inquiry: &RunInquiry,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        Err(match inquiry {
            RunInquiry::News => answer(&self.driver.as_ref().map(RunDriver::news).transpose()?),
            RunInquiry::Wish(key) => {
                answer(&self.driver.as_ref().map_or(WorkWish::GoOn, |driver| driver.wish(*key)))
            }
        })
    }

    /// Takes a question. None comes here: each is answered by a refusal.
    #[update(name = "inquire")]
    pub fn inquire(&mut self, _: &mut SyncWorkflowContext<Self>, _: RunInquiry) {}

    /// Returns the wish about some work, to workers of the version before.
    #[query(name = "wish")]
    pub fn wish(&self, _: &WorkflowContextView, key: u64) -> WorkWish {
        self.driver.as_ref().map_or(WorkWish::GoOn, |driver| driver.wish(key))
    }

    /// Returns the news for the followers of the run, once it is over.
    #[query(name = "news")]
    pub fn news(&self, _: &WorkflowContextView, (): ()) -> Option<RunNews> {
        self.driver.as_ref().and_then(|driver| driver.news().ok())
    }
}

/// Has the driver act.
async fn drive<T>(
    ctx: &WorkflowContext<RunWorkflow>,
    act: impl FnOnce(&mut RunDriver) -> Result<T, DriverError>,
) -> T {
    let acted = ctx.state_mut(|state| state.driver.as_mut().map_or(Err(DriverError::Closed), act));
    sure(ctx, acted).await
}

/// Returns a result. Without one, the task of the workflow fails, and is tried again later, maybe by a worker that can do
/// better: the run itself is as it was.
pub(crate) async fn sure<W, T>(
    ctx: &WorkflowContext<W>,
    result: Result<T, impl std::error::Error + Send + Sync + 'static>,
) -> T {
    match result {
        Ok(value) => value,
        Err(error) => {
            ctx.force_task_fail(error);
            std::future::pending().await
        }
    }
}
