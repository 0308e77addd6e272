use std::slice;

use super::{
    decided::AnswerCount,
    form::AnswerForm,
    questions::{RunApprovalRequest, approval_requests, pending_request},
};
use crate::{
    Caller, CliExitCode, CommandError, Host,
    approve::{
        agree,
        rules::SigningRules,
        signing::{SigningOptions, rejected_signature},
        token::draft_statement,
    },
    goals::wake_daemon,
    runs::{backend::backend_of, lineage::outermost_run, run_worktree::RunWorktree},
    watch,
};
use wf_base::{
    digest::Sha256Digest,
    name::{PlanId, RunId},
    remedy::{Remedy, RequestAnswerForm, UserAction},
    untrusted::shell_word,
};
use wf_core::machine::{AnswerOptions, Artifact, Event, EventKind, RunApproval, TypedAnswer};
use wf_engine::{recorded_evidence, scope};
use wf_exec::evidence::{DigestMemo, first_stale};
use wf_sign::approval::{
    ApprovalDecision, ApprovalRefusal, ApprovalRequestRef, ApprovalScope, ApprovalStatement, ApprovalToken,
    PlanRef, QuorumState, plan_digest, proposal_text,
};
use wf_store::{
    AnswerEffect, AnswerQuorum, ApprovalAnswer, DENIED, RunRow, Store, StoreDurability, StoreError,
    StoreReader, feed::WorkspaceAction,
};

/// Reads a typed answer from a person, given what they may answer; none for a plain yes or no.
pub type AnswerReader<'a> = &'a dyn Fn(Option<&AnswerOptions>) -> Result<Option<TypedAnswer>, CommandError>;

/// Shows a decision before it is signed: the bytes to sign, and the request with their digest.
pub type ShowDecision<'a> = &'a dyn Fn(&str, &str) -> Result<(), CommandError>;

/// An answer to a pending approval.
pub struct AnswerRequest<'a> {
    pub run: &'a RunId,
    /// The waiting step, if there are several.
    pub step: Option<&'a str>,
    pub form: AnswerForm,
    /// The reason, for the record; the text of an answer.
    pub reason: Option<&'a String>,
    /// Returns the answer beyond yes, with the answers the request permits.
    pub typed: AnswerReader<'a>,
    /// The signature.
    pub signing: &'a SigningOptions,
}

/// An approval request of a run before a person answers it.
pub struct AnswerReview {
    /// The request, and the answer if there is one already.
    pub request: RunApprovalRequest,
    pub row: RunRow,
    /// The outermost run it belongs to.
    pub outermost: RunId,
    /// The evidence of the steps it covers.
    pub evidence: Vec<Artifact>,
    /// The events of its run.
    pub events: Vec<Event>,
    /// The answer beyond yes.
    pub answer: Option<TypedAnswer>,
    approved: Option<RunApproval>,
}

impl AnswerReview {
    /// Finds the request, and refuses an invalid answer.
    pub fn of(host: &Host, answer: &AnswerRequest<'_>) -> Result<Self, CommandError> {
        let workspace = host.workspace();
        let reader = StoreReader::from_whole_log(&workspace.state)?;
        let requests = approval_requests(&reader, answer.run)?;
        let request = pending_request(answer.run, requests, answer.step, answer.form)?;
        let mut review = Self::read(&reader, request)?;
        if review.request.outcome.is_some() {
            return Ok(review);
        }
        review.check_form(answer)?;
        let expires = review.request.request.expires;
        if expires <= host.now() {
            let refusal = ApprovalRefusal::Late(expires);
            let error = CommandError::new(CliExitCode::Approval, refusal.to_string());
            let remedy = refusal.remedy().text(": ");
            return Err(error.hint(remedy.action(UserAction::ResumeRun(answer.run.clone()))));
        }
        // The files of a run on a backend are not here; the worker that counts the answers compares them.
        let config = reader.runs().config(&review.outermost)?;
        let is_here = backend_of(&config).is_none();
        let worktree = RunWorktree::recorded(&config, &workspace);
        let root = worktree.map_or(workspace, |worktree| worktree.workspace()).root;
        let stale = || first_stale(&root, &review.evidence, &DigestMemo::default(), true);
        let stale = if is_here { stale() } else { None };
        if let Some(path) = stale.filter(|_| answer.form.decision() == ApprovalDecision::Approved) {
            return Err(review.stale_evidence(answer.run, &path));
        }
        if answer.form == AnswerForm::Approval {
            review.answer = review.typed_answer(answer)?;
        }
        Ok(review)
    }

    /// Returns the answer beyond yes, if the request permits it.
    fn typed_answer(&self, answer: &AnswerRequest<'_>) -> Result<Option<TypedAnswer>, CommandError> {
        let request = &self.request.request;
        let typed = (answer.typed)(request.answer.as_ref())?;
        let (name, run) = (self.request.name(), answer.run.short());
        request.check_answer(typed.as_ref()).map_err(|why| {
            let error = CommandError::new(CliExitCode::Usage, format!("`{name}` of run {run}: {why}"));
            let step = (!self.request.path.is_empty()).then(|| name.clone());
            let (text, form) = match &request.answer {
                None => ("decide about it: ", RequestAnswerForm::Approval),
                Some(AnswerOptions::Choose(_)) => ("", RequestAnswerForm::Choice),
                Some(AnswerOptions::Edit { .. }) => ("", RequestAnswerForm::Text),
                Some(AnswerOptions::Select(_)) => ("for some of the list: ", RequestAnswerForm::Selection),
            };
            let action = UserAction::AnswerRequest { run: answer.run.clone(), step, form };
            error.hint(Remedy::from(text).action(action))
        })?;
        Ok(typed)
    }

    /// Refuses an approval of a question, a text where nothing is asked, and an unknown choice.
    fn check_form(&self, answer: &AnswerRequest<'_>) -> Result<(), CommandError> {
        let (name, run) = (self.request.name(), answer.run.short());
        let request = &self.request.request;
        let refused =
            |message: String, hint: Remedy| Err(CommandError::new(CliExitCode::Usage, message).hint(hint));
        let step = answer.step.map(str::to_owned);
        let answer_by =
            |form| UserAction::AnswerRequest { run: answer.run.clone(), step: step.clone(), form };
        match answer.form {
            AnswerForm::Approval if request.is_question() => refused(
                format!("`{name}` of run {run} asks a question, which a yes does not answer"),
                Remedy::from("answer it: ").action(answer_by(RequestAnswerForm::Reply)),
            ),
            AnswerForm::Text if !request.is_question() => refused(
                format!("`{name}` of run {run} asks for an approval, not a question"),
                Remedy::from("decide about it: ")
                    .action(answer_by(RequestAnswerForm::Approval))
                    .text(", or ")
                    .action(UserAction::DenyRequest {
                        run: answer.run.clone(),
                        step: step.clone(),
                        with_reason: true,
                    }),
            ),
            AnswerForm::Text => {
                let (choices, text) =
                    (request.choices(), answer.reason.map(String::as_str).unwrap_or_default());
                if text.trim().is_empty() || !choices.is_empty() && !choices.contains(&text) {
                    let choices = if choices.is_empty() { "any text".to_owned() } else { choices.join(", ") };
                    return refused(
                        format!("`{text}` is no answer to the question"),
                        format!("the answers are: {choices}").into(),
                    );
                }
                Ok(())
            }
            AnswerForm::Approval | AnswerForm::Denial => Ok(()),
        }
    }

    /// Reads a request, for any answer of anybody.
    pub(crate) fn read(reader: &StoreReader, request: RunApprovalRequest) -> Result<Self, CommandError> {
        let outermost = outermost_run(reader, &request.run)?;
        let events = reader.events().of_run(&request.run, 0)?;
        let events: Vec<Event> = events.into_iter().map(|(_, event)| event).collect();
        let approved =
            reader.events().of_run(&outermost, 0)?.into_iter().find_map(|(_, event)| match event.fact {
                EventKind::RunApproved(approved) => Some(*approved),
                _ => None,
            });
        Ok(Self {
            row: reader.runs().get(&request.run)?,
            outermost,
            evidence: recorded_evidence(&events, &request.request.covers_steps),
            request,
            events,
            answer: None,
            approved,
        })
    }

    /// Shows the request, asks, signs the answer, and records it: the engine working on the run continues
    /// by it. Returns the state of the request with all answers.
    pub fn sign(
        &self,
        caller: &dyn Caller,
        answer: &AnswerRequest<'_>,
        show: ShowDecision<'_>,
    ) -> Result<QuorumState, CommandError> {
        let (host, signing) = (caller.host(), answer.signing);
        let question = match answer.form {
            AnswerForm::Approval => "Approve?",
            AnswerForm::Denial => "Deny?",
            AnswerForm::Text => "Answer?",
        };
        let mut rules = SigningRules::of(caller, &host.workspace())?;
        // Drafted before anybody is asked: what is shown is made from what is signed.
        let statement = self.statement(host, answer, &rules)?;
        let (payload, proposal) = (statement.text(), self.proposal_text());
        let signer = agree(caller, &mut rules, None, signing, question, &|| show(&payload, &proposal))?;
        let token = ApprovalToken::sign(statement, &signer);
        self.accept(caller, &token, &rules)
    }

    /// Drafts the statement, for a key signing it elsewhere.
    pub fn draft(
        &self,
        caller: &dyn Caller,
        answer: &AnswerRequest<'_>,
    ) -> Result<ApprovalStatement, CommandError> {
        let host = caller.host();
        self.statement(host, answer, &SigningRules::of(caller, &host.workspace())?)
    }

    /// Records an answer signed elsewhere.
    pub fn submit(&self, caller: &dyn Caller, token: &ApprovalToken) -> Result<QuorumState, CommandError> {
        self.accept(caller, token, &SigningRules::of(caller, &caller.host().workspace())?)
    }

    /// Records a signed answer if it counts.
    fn accept(
        &self,
        caller: &dyn Caller,
        token: &ApprovalToken,
        rules: &SigningRules,
    ) -> Result<QuorumState, CommandError> {
        let signers: Vec<Option<Sha256Digest>> = token.signers().collect();
        let [Some(key)] = signers.as_slice() else {
            let message = "an answer has exactly one signature";
            return Err(CommandError::new(CliExitCode::Approval, message).hint("each approver answers alone"));
        };
        let host = caller.host();
        let (state, quorum) = self.combine(caller, token, rules)?;
        self.refuse_other_text(host, token, *key)?;
        self.record(caller, token, *key, quorum)?;
        wake_daemon(&host.workspace().state);
        Ok(state)
    }

    /// The failure for evidence changed after its check.
    fn stale_evidence(&self, run: &RunId, path: &str) -> CommandError {
        let message = format!("{path} has changed since it was checked");
        let retry = UserAction::RetryFrom { run: run.clone(), step: self.evidence_step(path) };
        let remedy = Remedy::from("restore it, or produce it again: ")
            .action(UserAction::CancelRun(run.clone()))
            .text(", then ")
            .action(retry);
        CommandError::new(CliExitCode::Approval, message).hint(remedy)
    }

    /// The step with a file as its evidence, in the form for a command, with the steps above it.
    fn evidence_step(&self, path: &str) -> String {
        let step = self.events.iter().rev().find_map(|event| {
            let (step, files) = match &event.fact {
                EventKind::EvidenceTaken { attempt, files } => (&attempt.task_id.step, files),
                EventKind::StepReused { step, evidence, .. } => (step, evidence),
                EventKind::ItemReused(item) => (&item.step, &item.evidence),
                _ => return None,
            };
            files.iter().any(|file| file.path == path).then(|| step.to_string())
        });
        let above = self.request.path.split_last().map_or(&[][..], |(_, above)| above);
        let own = step.unwrap_or_else(|| "STEP".to_owned());
        shell_word(&[above, &[own]].concat().join("/"))
    }

    pub(super) fn request_ref(&self) -> ApprovalRequestRef {
        let request = &self.request.request;
        ApprovalRequestRef {
            place: request.task_id.as_ref().map(ToString::to_string),
            number: request.request,
            proposal: Sha256Digest::of_bytes(self.proposal_text().as_bytes()),
        }
    }

    /// Returns the text an answer is bound to: the request, its run, its plan and the files it covers.
    pub fn proposal_text(&self) -> String {
        let approved = self.approved.as_ref();
        let plan = approved.map_or_else(|| Sha256Digest::of_bytes(b""), |approved| approved.plan_digest);
        proposal_text(&self.request.request, &self.request.run, plan, &self.evidence)
    }

    /// Returns the key barred from answers, if any.
    pub(super) fn barred_initiator(&self) -> Option<Sha256Digest> {
        self.request.request.barred(self.approved.as_ref().and_then(|approved| approved.initiator))
    }

    pub(super) fn scope(&self) -> ApprovalScope {
        scope(&self.request.request)
    }

    fn statement(
        &self,
        host: &Host,
        answer: &AnswerRequest<'_>,
        rules: &SigningRules,
    ) -> Result<ApprovalStatement, CommandError> {
        let request_ref = self.request_ref();
        let id = PlanId::parse(&self.row.plan)
            .map_err(|error| CommandError::new(CliExitCode::State, error.to_string()))?;
        let plan = PlanRef { id, path: self.row.path.clone(), digest: plan_digest(&[]) };
        let purpose = format!("answer {}", request_ref.proposal);
        // Valid as long as the approval is pending, and never longer than the rules permit.
        let draft = draft_statement(host, &purpose, self.scope(), plan, rules.approvers.validity)?;
        let statement = ApprovalStatement {
            verdict: answer.form.decision(),
            reason: answer.reason.cloned(),
            run: Some(self.request.run.clone()),
            request_ref: Some(request_ref),
            ..draft
        };
        Ok(statement.with_answer(self.answer.clone()))
    }

    /// Combines all answers with a new one, and returns the state with the answers sufficing for a yes; refuses
    /// the new one if it does not count.
    fn combine(
        &self,
        caller: &dyn Caller,
        token: &ApprovalToken,
        rules: &SigningRules,
    ) -> Result<(QuorumState, AnswerQuorum), CommandError> {
        let host = caller.host();
        let request = &self.request.request;
        let count = AnswerCount::of(self, rules, host.now())?;
        let (_, refused) = count.decide(slice::from_ref(token));
        let reader = StoreReader::from_whole_log(&host.workspace().state)?;
        let before = reader.approvals().answers(&self.request.run, request.request)?;
        let compared = (request.answer.is_some()).then_some(before.len());
        let before = before.iter().filter_map(|answer| ApprovalToken::parse(&answer.token).ok());
        let mut tokens: Vec<ApprovalToken> = before.collect();
        let statement = token.statement();
        let other = Some(statement).filter(|new| new.verdict == ApprovalDecision::Approved);
        let other = other.and_then(|new| count.decide(&tokens).0.refusal_of(new.answer.as_ref()));
        if let Some(refusal) = refused.into_iter().next().or(other) {
            let error = rejected_signature(caller, &refusal);
            let name = self.request.name();
            let step = Some(name.as_str()).filter(|_| !self.request.path.is_empty());
            return Err(error.hint(refusal.remedy_for_request(&self.outermost, step)));
        }
        tokens.push(token.clone());
        let (enough, keys) = count.counting();
        let enough = AnswerQuorum { count: enough as usize, keys, compared };
        Ok((count.decide(&tokens).0, enough))
    }

    /// Refuses another text of somebody who has answered the question already: the first one stays.
    fn refuse_other_text(
        &self,
        host: &Host,
        token: &ApprovalToken,
        key: Sha256Digest,
    ) -> Result<(), CommandError> {
        let request = &self.request.request;
        let reader = StoreReader::from_whole_log(&host.workspace().state)?;
        let before = reader.approvals().answers(&self.request.run, request.request)?;
        let differs = |answer: &ApprovalAnswer| {
            let parsed = ApprovalToken::parse(&answer.token).ok();
            parsed.is_some_and(|approval_token| approval_token.statement().reason != token.statement().reason)
        };
        if request.is_question() && before.iter().any(|answer| answer.key == key && differs(answer)) {
            let message = format!("`{}` has your answer already, and it stays", self.request.name());
            let error = CommandError::new(CliExitCode::Approval, message);
            return Err(
                error.remedy("let the agent continue: ", UserAction::ResumeRun(self.outermost.clone()))
            );
        }
        Ok(())
    }

    fn record(
        &self,
        caller: &dyn Caller,
        token: &ApprovalToken,
        key: Sha256Digest,
        quorum: AnswerQuorum,
    ) -> Result<(), CommandError> {
        let host = caller.host();
        let scope = self.scope().as_str().to_owned();
        let (word, act) = match token.statement().verdict {
            ApprovalDecision::Approved => ("approved", WorkspaceAction::Approved { scope, key }),
            ApprovalDecision::Denied => (DENIED, WorkspaceAction::Denied { scope, key }),
        };
        let store = Store::open(&host.workspace().state, StoreDurability::Full, host.clock())?;
        let answer = ApprovalAnswer {
            run: self.request.run.clone(),
            number: self.request.request.request,
            key,
            verdict: word.into(),
            token: token.text(),
            at: host.now(),
            quorum,
        };
        let taken = store.approvals().answer(answer).wait().map_err(|error| {
            let conflict = matches!(error, StoreError::Conflict { .. });
            let error = CommandError::from(error);
            if conflict { CommandError { exit: CliExitCode::Approval, ..error } } else { error }
        })?;
        if taken == AnswerEffect::Recorded {
            watch::record_act(caller, act)?;
        }
        Ok(())
    }
}
