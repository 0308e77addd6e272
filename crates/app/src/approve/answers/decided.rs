use super::answer::AnswerReview;
use crate::{CliExitCode, CommandError, approve::rules::SigningRules};
use wf_base::{digest::Sha256Digest, name::PlanId, time::Moment};
use wf_model::JsonObject;
use wf_sign::approval::{
    ApprovalContext, ApprovalRefusal, ApprovalRequestRef, ApprovalToken, Quorum, QuorumState, decide,
};
use wf_store::StoreReader;

/// A request with all that decides which answers to it count.
pub(super) struct AnswerCount<'a> {
    review: &'a AnswerReview,
    rules: &'a SigningRules,
    plan: PlanId,
    request: ApprovalRequestRef,
    params: JsonObject,
    now: Moment,
}

impl<'a> AnswerCount<'a> {
    /// Prepares the count of answers at a time.
    pub(super) fn of(
        review: &'a AnswerReview,
        rules: &'a SigningRules,
        now: Moment,
    ) -> Result<Self, CommandError> {
        let plan = PlanId::parse(&review.row.plan)
            .map_err(|error| CommandError::new(CliExitCode::State, error.to_string()))?;
        Ok(Self { review, rules, plan, request: review.request_ref(), params: JsonObject::new(), now })
    }

    /// Returns the state of the request with answers, and why others do not count.
    pub(super) fn decide(&self, tokens: &[ApprovalToken]) -> (QuorumState, Vec<ApprovalRefusal>) {
        let subject = ApprovalContext {
            scope: self.review.scope(),
            plan: &self.plan,
            path: &self.review.row.path,
            files: &[],
            params: &self.params,
            run: Some(&self.review.request.run),
            request_ref: Some(&self.request),
            initiator: self.review.barred_initiator(),
            spawned: None,
            now: self.now,
        };
        decide(tokens, &subject, &self.quorum())
    }

    /// Returns the number of answers sufficing for a yes, and the keys whose answers count.
    pub(super) fn counting(&self) -> (u32, Vec<Sha256Digest>) {
        self.quorum().counting(self.review.barred_initiator())
    }

    fn quorum(&self) -> Quorum<'_> {
        let request = &self.review.request.request;
        Quorum {
            approvers: &self.rules.approvers,
            required: request.required,
            until: request.expires,
            names: &request.approvers,
            options: request.answer.as_ref(),
        }
    }
}

impl AnswerReview {
    /// True if the recorded answers decide a pending request.
    pub(crate) fn is_decided(
        &self,
        reader: &StoreReader,
        rules: &SigningRules,
        now: Moment,
    ) -> Result<bool, CommandError> {
        let answers = reader.approvals().answers(&self.request.run, self.request.request.request)?;
        let tokens = answers.iter().filter_map(|answer| ApprovalToken::parse(&answer.token).ok());
        let tokens: Vec<ApprovalToken> = tokens.collect();
        let (state, _) = AnswerCount::of(self, rules, now)?.decide(&tokens);
        Ok(!matches!(state, QuorumState::Open { .. }))
    }
}
