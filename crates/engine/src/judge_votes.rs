//! Models as judges of checks: one call for each vote, until the ruling is decided.

use std::time::Duration;

use tokio::sync::watch;

use wf_core::agent::ModelRequest;
use wf_core::judgement::{Ballot, CriterionVote, FailedVote, Judgement, judge_question, read_vote};
use wf_core::machine::{AttemptUsage, CheckRuling, CheckVerdict};
use wf_exec::StopLevel;
use wf_gateway::retry::CallFailureClass;
use wf_model::{Check, CheckJudge, FailureClass, ModelChoice, ModelDefinition};

use super::run::RunContext;
use super::supply::wait_for_stop;

/// The judge of one check, and what its calls have used.
struct JudgeCalls<'a> {
    run: &'a RunContext,
    judge: &'a CheckJudge,
    model: &'a ModelDefinition,
    evidence: &'a str,
    /// The maximum time of a call.
    timeout: Duration,
    spent: Judgement,
}

impl RunContext {
    /// Lets models judge the output of a check whose command passed. A check without a judge keeps its verdict.
    pub(super) async fn judge_output(
        &self,
        check: &Check,
        verdict: CheckVerdict,
        output: &str,
        stop: &watch::Receiver<StopLevel>,
    ) -> CheckVerdict {
        let Some(judge) = check.judge.as_ref().filter(|_| verdict.passed()) else {
            return verdict;
        };
        let without = |found: String| CheckVerdict {
            ruling: CheckRuling::Error,
            expected: "the judgement of a model".into(),
            found,
            failure_class: Some(FailureClass::Logical),
            ..verdict.clone()
        };
        let Some(model) = self.session.models.find(&ModelChoice::Role(judge.role.clone())) else {
            let role = &judge.role;
            return without(format!("wf.yaml gives no model the role `{role}`: add it under `roles`"));
        };
        if output.trim().is_empty() {
            return without("there is nothing to judge: the command printed nothing".into());
        }
        let spent = Judgement { model: Some(model.name.clone()), ..Judgement::default() };
        let mut calls =
            JudgeCalls { run: self, judge, model, evidence: output, timeout: check.timeout, spent };
        let mut ballot = Ballot::new(judge);
        for number in 1..=judge.votes {
            if ballot.is_decided() {
                break;
            }
            ballot.add(calls.vote(number, stop).await);
        }
        ballot.conclude(verdict, calls.spent)
    }
}

impl JudgeCalls<'_> {
    /// Asks for a vote; one of another form is repaired once.
    async fn vote(
        &mut self,
        number: u32,
        stop: &watch::Receiver<StopLevel>,
    ) -> Result<Vec<CriterionVote>, FailedVote> {
        let mut request = judge_question(self.judge, self.evidence, number);
        let mistake = match self.ask(&mut request, stop).await? {
            Ok(vote) => return Ok(vote),
            Err(mistake) => mistake,
        };
        let repaired = self.ask(&mut request, stop).await?;
        repaired.map_err(|again| FailedVote {
            reason: format!("the judge gave no valid vote: {mistake}; asked again: {again}"),
            failure_class: FailureClass::Logical,
        })
    }

    /// Makes a call. A mistake in the form of the answer becomes part of the request, which then asks to repair it.
    async fn ask(
        &mut self,
        request: &mut ModelRequest,
        stop: &watch::Receiver<StopLevel>,
    ) -> Result<Result<Vec<CriterionVote>, String>, FailedVote> {
        self.check_limits(request)?;
        let failed = |reason: String, failure_class| FailedVote { reason, failure_class };
        let name = &self.model.name;
        let called = tokio::select! {
            called = tokio::time::timeout(self.timeout, self.run.call_model(self.model, request)) => {
                called.map_err(|_| {
                    let reason = format!("model `{name}` did not answer within {:?}", self.timeout);
                    failed(reason, FailureClass::Environmental)
                })
            }
            () = wait_for_stop(stop.clone()) => {
                Err(failed("not judged: the run is being cancelled".into(), FailureClass::Interrupted))
            }
        };
        let called = called?;
        self.spent.calls = self.spent.calls.saturating_add(1);
        self.spent.tokens = self.spent.tokens.saturating_add(called.usage.total());
        self.spent.cost = self.spent.cost.plus(called.cost);
        let reply = called.outcome.map_err(|error| {
            let class = match error.class() {
                CallFailureClass::Transient => FailureClass::Environmental,
                CallFailureClass::Permanent => FailureClass::Logical,
            };
            failed(error.to_string(), class)
        })?;
        let vote = read_vote(&reply.text, self.judge.criteria.len(), self.evidence);
        if let Err(mistake) = &vote {
            request.append_turn(reply, Vec::new(), Some(mistake));
        }
        Ok(vote)
    }

    /// Refuses a call that the model could not answer, or that may exceed the budget of the run.
    fn check_limits(&self, request: &ModelRequest) -> Result<(), FailedVote> {
        let refused = |reason: String| FailedVote { reason, failure_class: FailureClass::Logical };
        let input = request.estimated_tokens();
        let output = request.max_output.min(self.model.max_output);
        let (tokens, window) = (input.saturating_add(output), self.model.context_window);
        if tokens > window {
            let name = &self.model.name;
            let reason = format!("the evidence is too long for model `{name}`: {tokens} of {window} tokens");
            return Err(refused(reason));
        }
        let price = self.run.session.models.dearest_price(self.model);
        let cost = price.map_or(self.spent.cost, |price| self.spent.cost.plus(price.cost(input, 0, output)));
        let wanted = AttemptUsage { attempts: 0, tokens: self.spent.tokens.saturating_add(tokens), cost };
        match self.run.budget_refusal(wanted) {
            Some(over) => Err(refused(format!("the budget does not allow another vote: it may use {over}"))),
            None => Ok(()),
        }
    }
}
