//! The model calls of judges, gates and planners: paid, recorded, and refused before they are made.

use std::time::Duration;

use wf_core::{
    agent::{ModelReply, ModelRequest},
    machine::{AskedModel, AttemptUsage, CallEffort},
};
use wf_exec::WorkError;
use wf_gateway::ModelCallResult;
use wf_model::{EngineFailure, ModelDefinition, Plan, TokenUsage};
use wf_store::StoreError;

use super::{
    bodies::CallBodies,
    call::{ModelCallFailure, PaidTries, passed_over},
};
use crate::run::{RunContext, account::SetAside};

/// A caller of one model, and its calls.
pub(crate) struct ModelAsker<'a> {
    run: &'a RunContext,
    model: &'a ModelDefinition,
    bodies: CallBodies,
    set_aside: SetAside,
    /// The calls so far, in order. One dropped before its end counts as stopped.
    pub(crate) asked_models: Vec<AskedModel>,
}

impl<'a> ModelAsker<'a> {
    pub(crate) fn new(run: &'a RunContext, model: &'a ModelDefinition) -> Self {
        let (bodies, set_aside) = (CallBodies::from_run(run), run.account.nothing_set_aside());
        Self { run, model, bodies, set_aside, asked_models: Vec::new() }
    }

    /// Returns the plan of the run.
    pub(crate) fn plan(&self) -> &Plan {
        &self.run.plan
    }

    /// Returns the usage of its calls.
    pub(crate) fn usage(&self) -> AttemptUsage {
        usage_of(&self.asked_models)
    }

    /// Returns what its calls before the last one have used.
    fn usage_before(&self) -> AttemptUsage {
        let before = self.asked_models.split_last().map_or(&[][..], |(_, before)| before);
        usage_of(before)
    }

    pub(crate) fn calls(&self) -> u32 {
        u32::try_from(self.asked_models.len()).unwrap_or(u32::MAX)
    }

    /// Makes a call, unless the model could not answer it or a budget does not allow it.
    pub(crate) async fn ask(&mut self, request: &ModelRequest) -> Result<ModelReply, ModelCallFailure> {
        self.check_limits(request).await?;
        let request = &self.run.masked_request(request).await;
        let stored = self.bodies.put_request(request).await;
        let digest = stored.map_err(|error| self.unstored(error))?;
        let input = request.estimated_tokens();
        let usage = TokenUsage { input, ..TokenUsage::default() };
        self.asked_models.push(AskedModel {
            model: self.model.name.clone(),
            replied_by: None,
            request: digest,
            reply: None,
            failure: Some("the call was stopped".into()),
            effort: CallEffort {
                usage,
                cost: self.model.price.map(|price| price.cost(usage)).unwrap_or_default(),
                ..CallEffort::of_one_request()
            },
        });
        let began = self.run.session.clock.now();
        let (used, reserve) = (self.usage_before(), self.run.call_reserve(self.model, request));
        let paid = PaidTries::new(&mut self.set_aside, used, reserve);
        let result = self.run.call_model(self.model, request, paid).await;
        let took = self.run.session.clock.now().since(began);
        let replied = self.note(result, took).await;
        self.set_aside.keep(self.usage());
        replied
    }

    /// Notes the end of the last call. A reply that cannot be stored does not count.
    async fn note(
        &mut self,
        result: ModelCallResult,
        took: Duration,
    ) -> Result<ModelReply, ModelCallFailure> {
        let passed_over = passed_over(&result);
        let stored = match &result.outcome {
            Ok(reply) => self.bodies.store_body(reply).await.map(Some),
            Err(_) => Ok(None),
        };
        let outcome = match (result.outcome, stored) {
            (Ok(reply), Ok(digest)) => Ok((reply, digest)),
            (Ok(_), Err(error)) => Err(self.unstored(error)),
            (Err(error), _) => Err(ModelCallFailure {
                reason: error.to_string(),
                failure_class: EngineFailure::Sensor.class(),
            }),
        };
        if let Some(call) = self.asked_models.last_mut() {
            call.replied_by = Some(result.model).filter(|model| *model != call.model && outcome.is_ok());
            call.reply = outcome.as_ref().ok().and_then(|(_, digest)| *digest);
            call.failure = outcome.as_ref().err().map(|failed| failed.reason.clone());
            call.effort = CallEffort {
                usage: result.usage,
                cost: result.cost,
                passed_over,
                breakers: result.breakers,
                requests: result.tries,
                duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            };
        }
        outcome.map(|(reply, _)| reply)
    }

    /// Returns the failure of a call of which something cannot be stored; a full disk stops the run.
    fn unstored(&self, error: StoreError) -> ModelCallFailure {
        let reason = error.to_string();
        if matches!(error, StoreError::NoSpace(_)) {
            self.run.stop_for(error);
        }
        ModelCallFailure { reason, failure_class: EngineFailure::Sensor.class() }
    }

    /// Refuses a call the model could not answer, or that may exceed the budget of the run or of one around it.
    async fn check_limits(&mut self, request: &ModelRequest) -> Result<(), ModelCallFailure> {
        let refused =
            |reason: String| ModelCallFailure { reason, failure_class: EngineFailure::Sensor.class() };
        let reserve = self.run.call_reserve(self.model, request);
        let (tokens, window) = (reserve.tokens, self.model.context_window);
        if tokens > window {
            let name = &self.model.name;
            let reason = format!("the request is too long for model `{name}`: {tokens} of {window} tokens");
            return Err(refused(reason));
        }
        let total = self.usage().plus(reserve);
        self.set_aside.change(total).await.map_err(|unpaid| {
            let WorkError { reason, failure_class, .. } = unpaid.into();
            ModelCallFailure { reason, failure_class }
        })
    }
}

fn usage_of(models: &[AskedModel]) -> AttemptUsage {
    models.iter().fold(AttemptUsage::default(), |sum, call| {
        sum.plus(AttemptUsage { attempts: 0, tokens: call.effort.usage.total(), cost: call.effort.cost })
    })
}
