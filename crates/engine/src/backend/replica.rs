//! A run a machine elsewhere decides about: its log is copied here, and this process works for it or shows it.
//!
//! The copy is a run like any other in the state of this process: what reads the record of a run reads this one. It decides
//! nothing. **Invariant:** it has the events of the run in their order and without a gap, from the first one on.

use std::{collections::BTreeSet, path::PathBuf, sync::Arc};

use tokio::sync::watch;

use wf_base::{digest::Sha256Digest, name::RunId};
use wf_core::{
    machine::{ApprovalRequest, Attempt, Effect, Event, EventKind, InputKind, Machine, TaskId},
    observe::TaskRemark,
};
use wf_exec::StopLevel;
use wf_sign::approval::ApprovalToken;
use wf_store::{EventBatch, NewRun, RunFence, StoreError, WriteTicket};

use crate::{
    agent,
    attempt::cache,
    decisions::asking,
    dispatch::{
        commit_queue,
        opening::{self, BegunRun, ReplayedRun},
        units::EffectUnit,
    },
    files::copies,
    memory::{self, OpenRequests},
    nested::{generated, plan_run::OpenNestedRun},
    run::RunContext,
    session::{
        EngineError, EngineSession, FinishedRun, RunRequest,
        end::{SuspendedRequest, finished_run_of},
        remote_workspace::EarlierConversations,
        state_addition::StateAddition,
    },
};

/// A copy of a run.
pub struct RunReplica {
    pub(crate) run: Arc<RunContext>,
    machine: Machine,
    count: u64,
    /// The run, if nothing of it is recorded here.
    new: Option<NewRun>,
    /// The right to it, once that is recorded.
    ticket: Option<WriteTicket<RunFence>>,
    fence: Option<RunFence>,
    requests: OpenRequests,
    finished_run: Option<FinishedRun>,
    opening: Vec<Event>,
}

/// The result of work for a run: what the machine is to be told, in this order.
pub type WorkInputs = Vec<InputKind>;

impl RunReplica {
    /// Opens the copy of a run, which is made if there is none.
    pub async fn open(session: &Arc<EngineSession>, request: RunRequest) -> Result<Self, EngineError> {
        let keeper = session.executor.supervisor_id().unwrap_or_default().to_owned();
        let is_recorded = match session.store.log_reader()?.runs().get(&request.run) {
            Ok(_) => true,
            Err(StoreError::UnknownRun(_)) => false,
            Err(error) => return Err(error.into()),
        };
        if !is_recorded {
            let (token, owned) = session.store.own_new_run(&request.run, &keeper);
            let BegunRun { run, machine, new } = BegunRun::new(session, token, request)?;
            let approved = run.approved.as_ref().map(|approved| Box::new((**approved).clone()));
            let opening = machine.opening(new.created, approved);
            return Ok(Self { opening, ..Self::new(run, machine, Some(new), Some(owned)) });
        }
        let fence = session.store.own_run(&request.run, &keeper).await?;
        let ReplayedRun { run, machine, events } =
            ReplayedRun::new(session, fence.token(), request.plan, request.repeated_run)?;
        let opening = events.iter().map(|(_, event)| event).take_while(|event| is_of_opening(&event.fact));
        let opening = opening.cloned().collect();
        let replica = Self { fence: Some(fence), opening, ..Self::new(run, machine, None, None) };
        Ok(replica.after_replay(&events))
    }

    /// The copy of a nested run, which is recorded by the right to its outer one.
    pub(super) fn of_nested(nested: OpenNestedRun) -> Self {
        let OpenNestedRun { run, machine, new, events } = nested;
        Self::new(run, machine, new, None).after_replay(&events)
    }

    /// Goes on after recorded events, which the machine has.
    fn after_replay(mut self, events: &[(u64, Event)]) -> Self {
        for (number, event) in events {
            self.count = *number;
            self.note(event);
            self.run.session.observe(|observer| observer.replayed(&self.run.run_ref, event));
        }
        self
    }

    fn new(
        run: Arc<RunContext>,
        machine: Machine,
        new: Option<NewRun>,
        ticket: Option<WriteTicket<RunFence>>,
    ) -> Self {
        let requests = OpenRequests::default();
        Self {
            run,
            machine,
            count: 0,
            new,
            ticket,
            fence: None,
            requests,
            finished_run: None,
            opening: Vec::new(),
        }
    }

    pub fn id(&self) -> &RunId {
        &self.run.run_ref.id
    }

    pub fn event_count(&self) -> u64 {
        self.count
    }

    /// Returns the opening of the run: its first events, which can be recorded before it begins.
    pub fn opening(&self) -> &[Event] {
        &self.opening
    }

    /// Returns the end of the run, once it has that.
    pub fn end(&self) -> Option<&FinishedRun> {
        self.finished_run.as_ref()
    }

    /// Returns the requests waiting for approvers.
    pub fn open_requests(&self) -> Vec<ApprovalRequest> {
        self.machine.state().open_requests().cloned().collect()
    }

    /// Returns the requests waiting for approvers, as a suspended run names them.
    pub fn questions(&self) -> Vec<SuspendedRequest> {
        let run = &self.run.run_ref;
        let named = |ask| SuspendedRequest { run: run.clone(), request: ask };
        self.open_requests().into_iter().map(named).collect()
    }

    /// True if nothing happens until a person decides, given the nested runs waiting for people, by the names of the
    /// attempts they are.
    pub(super) fn only_waits_for_people(&self, nested: &BTreeSet<String>) -> bool {
        self.machine.state().only_waits_for_people(self.machine.plan(), nested)
    }

    /// Returns the conversations its agents may continue, as they are now.
    pub(super) fn earlier_conversations(&self) -> Result<EarlierConversations, StoreError> {
        EarlierConversations::from_run(&self.run)
    }

    /// True if the work of an attempt is an agent continuing a conversation.
    pub fn continues_conversation(&self, attempt: &Attempt) -> bool {
        agent::continues_conversation(&self.run, attempt)
    }

    /// Returns the path of a text the run made, by its digest.
    pub fn text_path(&self, digest: &Sha256Digest) -> PathBuf {
        generated::bodies(&self.run).path(digest)
    }

    /// Stores a text the run made.
    pub fn put_text(&self, text: &[u8]) -> Result<Sha256Digest, StoreError> {
        generated::bodies(&self.run).put_bytes(text)
    }

    /// Removes the copies of verified files, which nobody needs any more.
    pub(crate) fn discard(self) {
        copies::discard(&self.run);
    }

    /// Adds the events following those it has. They are durable afterwards, and then shown.
    pub async fn extend(&mut self, events: Vec<Event>) -> Result<(), EngineError> {
        if events.is_empty() {
            return Ok(());
        }
        let run = &self.run;
        let session = Arc::clone(&run.session);
        agent::bring_back(run, &events)?;
        let ticket = session.store.append(EventBatch {
            run: run.run_ref.id.clone(),
            token: run.ownership.token.clone(),
            after: Some(self.count),
            new: self.new.take(),
            events: events.clone(),
        });
        if let Some(owned) = self.ticket.take() {
            self.fence = Some(owned.await?);
        }
        let appended = ticket.await?;
        self.count = appended.last;
        for event in &events {
            self.machine.replay(event)?;
            self.note(event);
            session.observe(|observer| observer.event(&self.run.run_ref, event));
        }
        commit_queue::publish_durable(&self.run, &appended, events);
        Ok(())
    }

    /// Ends the run, which nothing decides about any more.
    pub(crate) async fn terminate(&mut self, reason: &str) -> Result<(), EngineError> {
        let now = self.run.session.clock.now();
        let events = self.machine.clone().terminate(reason, now);
        self.extend(events).await
    }

    /// Shows a remark about a task.
    pub(crate) fn remark(&self, task_id: &TaskId, remark: &TaskRemark) {
        self.run.session.observe(|observer| observer.remark(&self.run.run_ref, task_id, remark));
    }

    /// Lets those that work for the run know of an event the machine has.
    fn note(&mut self, event: &Event) {
        self.run.note_event(event);
        match &event.fact {
            EventKind::RoundCompleted(round) => {
                self.run.note_plan(self.machine.plan());
                memory::remember(&self.run, event);
                self.run.forget_keys(&round.reopened);
            }
            EventKind::MemoryApplied { .. } => {
                self.run.note_plan(self.machine.plan());
                memory::remember(&self.run, event);
            }
            EventKind::EvidenceTaken { attempt, files } => self.run.note_evidence(&attempt.task_id, files),
            _ => {}
        }
        self.requests.note_event(&self.run, event);
        let ended = || finished_run_of(&self.run.run_ref.id, event, &self.machine);
        self.finished_run = self.finished_run.take().or_else(ended);
    }

    /// Returns the input with which the run begins, in the workspace as it is here.
    pub fn begin(&self) -> Result<InputKind, EngineError> {
        Ok(opening::begin(&self.run)?)
    }

    /// Returns the work an effect asks for; `None`: it is not work. `stop` ends it.
    pub fn work(
        &self,
        effect: Effect,
        stop: watch::Receiver<StopLevel>,
    ) -> Option<impl Future<Output = Result<WorkInputs, EngineError>> + Send + 'static> {
        let run = Arc::clone(&self.run);
        let work = (EffectUnit::from_effect(Arc::clone(&run), effect)?.begin)(stop);
        Some(async move {
            let input = work.await?;
            Ok(with_stale(&run, input))
        })
    }

    /// Returns the work of counting signed answers to a request: an input as soon as they are enough.
    pub fn decide(
        &self,
        request: ApprovalRequest,
        tokens: &[String],
    ) -> impl Future<Output = Result<WorkInputs, EngineError>> + Send + 'static {
        let tokens = tokens.iter().filter_map(|token| ApprovalToken::parse(token).ok()).collect();
        let work = asking::decide(Arc::clone(&self.run), Box::new(request), tokens);
        async move { Ok(work.await?.into_iter().collect()) }
    }
}

/// Returns an input after the changed files noted so far: what relied on them may be the last of the run.
pub(super) fn with_stale(run: &RunContext, input: Option<InputKind>) -> WorkInputs {
    run.take_stale().into_iter().map(InputKind::Stale).chain(input).collect()
}

/// True if an event is part of the opening of a run.
fn is_of_opening(kind: &EventKind) -> bool {
    matches!(kind, EventKind::RunStarted { .. } | EventKind::BudgetSet(_) | EventKind::RunApproved(_))
}

impl RunReplica {
    /// Takes over an addition that work for this run made elsewhere, as far as other work needs it: the result of a
    /// task is kept under the key it was looked for, and agents find what others noted.
    pub async fn take_over(&self, addition: StateAddition) -> Result<(), StoreError> {
        match addition {
            StateAddition::Lookup(lookup) => {
                cache::remember_key(&self.run, *lookup);
                Ok(())
            }
            StateAddition::Note(_) => addition.write(&self.run.session.store).await,
            StateAddition::Result(_) | StateAddition::Recall { .. } => Ok(()),
        }
    }
}
