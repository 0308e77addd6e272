//! Models as judges of checks: one call for each vote, until the ruling is decided.

use std::time::Duration;

use tokio::sync::watch;

use wf_core::{
    agent::ModelRequest,
    judgement::{
        Ballot, CriterionVote, FailedVote, JudgedText, Judgement, VoteMistake, judge_question, read_vote,
    },
    machine::{CheckRuling, CheckVerdict},
};
use wf_exec::{StopLevel, check::CheckOutcome};
use wf_model::{Check, CheckJudge, EngineFailure, FailureClass, ModelChoice};

use crate::{
    models::{asker::ModelAsker, call::ModelCallFailure},
    run::RunContext,
    session::waiting::wait_for_stop,
};

/// The judge of one check, and what its calls have used.
struct JudgeCalls<'a> {
    judge: &'a CheckJudge,
    model: ModelAsker<'a>,
    evidence: &'a str,
    /// The maximum time of a call.
    timeout: Duration,
}

/// Lets models judge the output of a check whose command passed. A check without a judge keeps its verdict.
pub(super) async fn judge_output(
    run: &RunContext,
    check: &Check,
    outcome: CheckOutcome,
    stop: &watch::Receiver<StopLevel>,
) -> CheckVerdict {
    let CheckOutcome { verdict, output, truncated } = outcome;
    let Some(judge) = check.judge.as_ref().filter(|_| verdict.passed()) else {
        return verdict;
    };
    let without = |found: String, failure_class| CheckVerdict {
        ruling: CheckRuling::Error,
        expected: "the judgement of a model".into(),
        found,
        failure_class: Some(failure_class),
        ..verdict.clone()
    };
    let Some(model) = run.session.models.find(&ModelChoice::Role(judge.role.clone())) else {
        let role = &judge.role;
        let complaint = format!("wf.yaml gives no model the role `{role}`: add it under `roles`");
        return without(complaint, EngineFailure::Sensor.class());
    };
    if truncated {
        let complaint =
            "the command printed more than is kept for checks (1 MiB): print what is to be judged";
        return without(complaint.into(), FailureClass::Logical);
    }
    if output.trim().is_empty() {
        let complaint = "there is nothing to judge: the command printed nothing".into();
        return without(complaint, FailureClass::Logical);
    }
    let name = model.name.clone();
    let model = ModelAsker::new(run, model);
    let mut calls = JudgeCalls { judge, model, evidence: &output, timeout: check.timeout };
    let mut ballot = Ballot::new(judge);
    for number in 1..=judge.votes {
        if ballot.is_decided() {
            break;
        }
        ballot.add(calls.vote(number, stop).await);
    }
    let (asker, used) = (&calls.model, calls.model.usage());
    let spent = Judgement {
        model: Some(name),
        shown: Some(JudgedText::of(&output)),
        criteria: Vec::new(),
        calls: asker.calls(),
        tokens: used.tokens,
        cost: used.cost,
        asked: asker.asked_models.clone(),
    };
    ballot.conclude(verdict, spent)
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
            failure_class: EngineFailure::Sensor.class(),
        })
    }

    /// Makes a call. A mistake in the form of the answer becomes part of the request, which then asks to repair it.
    async fn ask(
        &mut self,
        request: &mut ModelRequest,
        stop: &watch::Receiver<StopLevel>,
    ) -> Result<Result<Vec<CriterionVote>, VoteMistake>, FailedVote> {
        let failed = |reason: String, failure_class| FailedVote { reason, failure_class };
        let limit = self.timeout;
        let reply = tokio::select! {
            reply = tokio::time::timeout(limit, self.model.ask(request)) => {
                reply.unwrap_or_else(|_| Err(ModelCallFailure {
                    reason: format!("the judge did not answer within {limit:?}"),
                    failure_class: EngineFailure::Sensor.class(),
                }))
            }
            () = wait_for_stop(stop.clone()) => {
                return Err(failed("not judged: the run is being cancelled".into(), EngineFailure::Cancelled.class()));
            }
        };
        let reply = reply.map_err(|unasked| failed(unasked.reason, unasked.failure_class))?;
        let vote = read_vote(&reply.text, self.judge.criteria.len(), self.evidence);
        if let Err(mistake) = &vote {
            request.append_turn(reply, Vec::new(), Some(&mistake.to_string()));
        }
        Ok(vote)
    }
}
