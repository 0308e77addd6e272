//! The calls of models, by agents, gates and planners: what goes to a model, comes back, and is recorded has no secrets.

use wf_base::redact::SecretMask;
use wf_core::{
    agent::{Message, ModelReply, ModelRequest, ToolCall},
    machine::{AttemptUsage, PassedOverModel},
};
use wf_gateway::{AllowanceFuture, ModelCallError, ModelCallResult, TryAllowance, cassette::CassetteError};
use wf_model::{EngineFailure, FailureClass, ModelDefinition};
use wf_store::StoreError;

use super::keys;
use crate::run::{RunContext, account::SetAside};

/// The reason why a model did not reply.
#[derive(Clone, Debug)]
pub(crate) struct ModelCallFailure {
    /// The reason, in one sentence.
    pub(crate) reason: String,
    pub(crate) failure_class: FailureClass,
}

impl From<&ModelCallError> for ModelCallFailure {
    fn from(error: &ModelCallError) -> Self {
        let too_large = error.failures.iter().all(|failed| failed.failure.kind.is_size());
        let failure_class = if too_large { FailureClass::Logical } else { EngineFailure::Provider.class() };
        Self { reason: error.to_string(), failure_class }
    }
}

/// Returns the models that failed before the last one of a call.
pub(crate) fn passed_over(result: &ModelCallResult) -> Vec<PassedOverModel> {
    let failed = result.failed_calls.iter();
    failed.map(|failed| PassedOverModel { model: failed.model.clone(), reason: failed.reason() }).collect()
}

impl RunContext {
    /// Returns the most a call may use, whichever fallback replies.
    pub(crate) fn call_reserve(&self, model: &ModelDefinition, request: &ModelRequest) -> AttemptUsage {
        let input = request.estimated_tokens();
        let output = request.max_output.min(model.max_output);
        let price = self.session.models.dearest_price(model);
        let cost = price.map(|price| price.highest_cost(input, output)).unwrap_or_default();
        AttemptUsage { attempts: 0, tokens: input.saturating_add(output), cost }
    }

    /// Returns a request without the secrets of the run.
    pub(crate) async fn masked_request(&self, request: &ModelRequest) -> ModelRequest {
        let mut request = request.clone();
        mask_request(&mut request, &self.mask().await);
        request
    }

    /// Calls a model; `paid`: the account of further tries. The exchange is recorded in the folder of the run, so the
    /// run can be replayed.
    pub(crate) async fn call_model(
        &self,
        model: &ModelDefinition,
        request: &ModelRequest,
        mut paid: PaidTries<'_>,
    ) -> ModelCallResult {
        let gateway = keys::gateway(&self.session);
        let mut request = self.masked_request(request).await;
        let mut result = gateway.call_within(model, &request, &mut paid).await;
        // The call may have made a key known.
        mask_exchange(&mut request, &mut result, &self.mask().await);
        let make_room = || self.session.store.reserve().release();
        let cassette = Some(&self.cassette);
        let recorded = gateway.record_exchange(cassette, model, &request, &result, make_room).await;
        if let Err(CassetteError::NoSpace(path)) = &recorded {
            self.stop_for(StoreError::NoSpace(path.clone()));
        }
        result.with_recording(recorded)
    }

    /// Stops the runs of the session, since the state cannot take what they need to go on. What is under way is asked for
    /// again by a resume.
    pub(super) fn stop_for(&self, error: StoreError) {
        let _ = self.session.shared.fault.set(error);
    }
}

/// The account of the run, which pays for the tries of a call after the first.
pub(crate) struct PaidTries<'a> {
    set_aside: &'a mut SetAside,
    /// The use of its caller before the call.
    earlier_usage: AttemptUsage,
    /// The most that one try may use.
    reserve: AttemptUsage,
}

impl<'a> PaidTries<'a> {
    pub(crate) fn new(
        set_aside: &'a mut SetAside,
        earlier_usage: AttemptUsage,
        reserve: AttemptUsage,
    ) -> Self {
        Self { set_aside, earlier_usage, reserve }
    }
}

impl TryAllowance for PaidTries<'_> {
    fn allow(&mut self, usage: AttemptUsage) -> AllowanceFuture<'_> {
        let total = self.earlier_usage.plus(usage).plus(self.reserve);
        Box::pin(async move { Ok(self.set_aside.change(total).await?) })
    }
}

/// Masks a request, and its result.
pub(super) fn mask_exchange(request: &mut ModelRequest, result: &mut ModelCallResult, mask: &SecretMask) {
    mask_request(request, mask);
    let mut failures: Vec<_> = result.failed_calls.iter_mut().collect();
    match &mut result.outcome {
        Ok(reply) => mask_reply(reply, mask),
        Err(error) => failures.extend(&mut error.failures),
    }
    for failed in failures {
        mask_text(&mut failed.failure.message, mask);
    }
}

/// Masks the conversation of a request. A file a tool read may hold a secret that became known only later.
pub(crate) fn mask_request(request: &mut ModelRequest, mask: &SecretMask) {
    mask_text(&mut request.system, mask);
    for message in &mut request.messages {
        match message {
            Message::User { text } => mask_text(text, mask),
            Message::Omitted { .. } => {}
            Message::Assistant { text, tool_calls } => {
                mask_text(text, mask);
                mask_calls(tool_calls, mask);
            }
            Message::Tool { results } => {
                for result in results {
                    mask_text(&mut result.text, mask);
                }
            }
        }
    }
}

/// Masks the words of a model: it may repeat a secret it found.
fn mask_reply(reply: &mut ModelReply, mask: &SecretMask) {
    mask_text(&mut reply.text, mask);
    mask_calls(&mut reply.tool_calls, mask);
}

fn mask_calls(calls: &mut [ToolCall], mask: &SecretMask) {
    for call in calls {
        mask_text(&mut call.tool, mask);
        mask_text(&mut call.arguments, mask);
    }
}

fn mask_text(text: &mut String, mask: &SecretMask) {
    if let std::borrow::Cow::Owned(masked) = mask.text(text) {
        *text = masked;
    }
}
