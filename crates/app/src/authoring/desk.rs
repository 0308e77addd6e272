use std::{path::PathBuf, sync::Arc};

use super::notes::PerceiverNotes;
use crate::{Caller, CliExitCode, CommandError, Workspace, config::WorkspaceConfig};
use wf_base::name::Name;
use wf_core::agent::{
    ModelReply, ModelRequest,
    authoring::{
        Clarification, PAST_WISHES, PlanningCallEnd, PlanningEntry, PlanningFact, PlanningMeter,
        PlanningReply, PlanningResult,
    },
};
use wf_engine::{Cassette, ModelSurroundings, WorkspaceModels};
use wf_model::{ModelChoice, ModelDefinition};
use wf_store::{PlanningLog, PlanningStore, RunRetention, StateFolder, StoreError};

/// The models of a workspace for one request for a plan. Each call is metered and recorded.
pub(super) struct PlanningDesk<'a> {
    caller: &'a dyn Caller,
    state: StateFolder,
    retention: RunRetention,
    models: WorkspaceModels,
    runtime: tokio::runtime::Runtime,
    pub(super) meter: PlanningMeter,
    /// The record; `None` until the request is known to make sense.
    log: Option<PlanningLog>,
    /// The folder of a recording, and true if it is repeated.
    tape: Option<(PathBuf, bool)>,
}

impl<'a> PlanningDesk<'a> {
    /// Prepares the models of a workspace; none is called yet.
    pub(super) fn new(
        caller: &'a dyn Caller,
        workspace: &Workspace,
        config: &WorkspaceConfig,
        cassette: Option<Cassette>,
    ) -> Result<Self, CommandError> {
        let host = caller.host();
        let surroundings = ModelSurroundings {
            models: Arc::clone(&config.models),
            host: Arc::new(host.vars()),
            env_pass: config.env_pass.clone(),
            root: workspace.root.clone(),
            state: workspace.state.clone(),
            clock: host.clock(),
        };
        Ok(Self {
            caller,
            state: StateFolder::new(&workspace.state),
            retention: config.retention.limits().unwrap_or_default(),
            tape: cassette.as_ref().map(|tape| (tape.folder().to_owned(), tape.is_replay())),
            models: WorkspaceModels::new(surroundings, cassette),
            runtime: tokio::runtime::Builder::new_current_thread().enable_all().build()?,
            meter: PlanningMeter::default(),
            log: None,
        })
    }

    /// Returns the names of the roles with a model.
    pub(super) fn roles(&self) -> Vec<String> {
        self.models.table().roles.keys().map(Name::to_string).collect()
    }

    pub(super) fn model(&self, role: &str) -> Result<ModelDefinition, CommandError> {
        let table = self.models.table();
        let role_name = Name::parse(role).ok().map(ModelChoice::Role);
        if let Some(model) = role_name.and_then(|choice| table.find(&choice)) {
            return Ok(model.clone());
        }
        let error =
            CommandError::new(CliExitCode::Usage, format!("wf.yaml gives no model to the role `{role}`"));
        Err(match table.models.keys().next() {
            Some(model) => error.hint(format!("add it to wf.yaml: `roles: {{{role}: {model}}}`")),
            None => error.hint(format!(
                "add to wf.yaml: `models: {{NAME: {{api: …, model: …}}}}` and `roles: {{{role}: NAME}}`; see \
                 docs/agents.md"
            )),
        })
    }

    /// Begins the record of the request.
    pub(super) fn begin(&mut self, input: &str, revises: Option<String>) -> Result<(), CommandError> {
        self.state.may_be_written()?;
        self.state.create()?;
        let store = PlanningStore::new(&self.state);
        store.prune(self.retention, self.caller.host().now())?;
        self.log = Some(store.create()?);
        let input = self.masked(input);
        Ok(self.note(PlanningFact::Requested { input, revises, budget: self.meter.budget })?)
    }

    /// Calls the model of a role, if the budget allows it. What it may use is stored before, and the exchange before
    /// anything relies on it.
    pub(super) fn call(
        &mut self,
        role: &str,
        model: &ModelDefinition,
        request: &ModelRequest,
    ) -> Result<ModelReply, CommandError> {
        let (role, name) = (role.to_owned(), model.name.clone());
        let price = self.models.table().dearest_price(model);
        match self.meter.admit(model, price, request) {
            Ok(reserve) => self.note(PlanningFact::CallStarted { role, model: name, reserve })?,
            Err(refusal) => {
                let reason = refusal.to_string();
                let message = format!("the call of model `{name}` as {role} was not made: {reason}");
                self.note(PlanningFact::CallRefused { role, model: name, reason })?;
                let error = CommandError::new(CliExitCode::RunFailed, message);
                return Err(error.hint("raise --max-tokens or --max-cost, or `planning` in wf.yaml"));
            }
        }
        let called = self.runtime.block_on(self.models.call(model, request));
        let result = called.result;
        self.meter.usage.add(result.usage, result.cost);
        let bodies = &self.require_log()?.bodies;
        let request = bodies.put_request(&called.request)?;
        let reply = match &result.outcome {
            Ok(reply) => {
                let reply = bodies.put_bytes(&serde_json::to_vec(reply).unwrap_or_default())?;
                PlanningReply::Replied { model: result.model, reply }
            }
            Err(error) => PlanningReply::Failed(error.to_string()),
        };
        self.note(PlanningFact::CallEnded(PlanningCallEnd {
            request,
            reply,
            usage: result.usage,
            cost: result.cost,
            tries: result.tries,
            duration_ms: result.duration_ms,
        }))?;
        result.outcome.map_err(|error| CommandError::new(CliExitCode::RunFailed, error.to_string()))
    }

    /// Records the answers to the questions of a perceiver.
    pub(super) fn clarified(&mut self, answers: &[Clarification]) -> Result<(), CommandError> {
        let masked = |clarification: &Clarification| Clarification {
            question: self.masked(&clarification.question),
            answer: self.masked(&clarification.answer),
        };
        let clarifications = answers.iter().map(masked).collect();
        Ok(self.note(PlanningFact::Clarified { clarifications })?)
    }

    /// Ends the record. Nothing is recorded of an unstarted request.
    pub(super) fn end(&mut self, result: PlanningResult) -> Result<(), CommandError> {
        if self.log.is_none() {
            return Ok(());
        }
        let PlanningResult { is_accepted, intent, result } = result;
        let (intent, result) = (intent.map(|text| self.masked(&text)), self.masked(&result));
        Ok(self.note(PlanningFact::Ended(PlanningResult { is_accepted, intent, result }))?)
    }

    /// Returns the knowledge of a perceiver at the time of the recording; without one, the last wishes.
    pub(super) fn perceiver_notes(&self) -> Result<PerceiverNotes, CommandError> {
        if let Some((folder, true)) = &self.tape {
            return PerceiverNotes::read(folder);
        }
        let store = PlanningStore::new(&self.state);
        let mut wishes = Vec::new();
        for number in store.numbers()?.into_iter().rev() {
            if wishes.len() == PAST_WISHES {
                break;
            }
            // A damaged record must not stand in the way of a new plan; `wf plan --log` reports it.
            wishes.extend(store.read(number).ok().flatten().and_then(|record| record.past_wish()));
        }
        wishes.reverse();
        Ok(PerceiverNotes { past: wishes, answers: Vec::new() })
    }

    /// Adds the knowledge of a perceiver to a recording.
    pub(super) fn keep_notes(&self, notes: &PerceiverNotes) -> Result<(), CommandError> {
        match &self.tape {
            Some((folder, false)) => notes.write(folder, |text| self.masked(text)),
            _ => Ok(()),
        }
    }

    /// True if calls are answered from a recording.
    pub(super) fn is_replay(&self) -> bool {
        self.tape.as_ref().is_some_and(|(_, is_replay)| *is_replay)
    }

    fn masked(&self, text: &str) -> String {
        self.runtime.block_on(self.models.masked(text))
    }

    fn note(&mut self, fact: PlanningFact) -> Result<(), StoreError> {
        let at = self.caller.host().now();
        match &mut self.log {
            Some(log) => log.append(&PlanningEntry { at, fact }),
            None => Ok(()),
        }
    }

    fn require_log(&self) -> Result<&PlanningLog, CommandError> {
        let missing = || CommandError::new(CliExitCode::State, "the request for a plan has no record");
        self.log.as_ref().ok_or_else(missing)
    }
}
