use std::fmt::Write as _;

use clap::Args;

use crate::Ui;
use crate::keys::PassphraseArgs;
use wf_app::approve::{RunApprovalRequest, approval_requests, late_answer_message, pending_request};
use wf_app::approve::{SigningRules, owner_signer};
use wf_app::approve::{confirm, draft_statement};
use wf_app::goals::wake_daemon;
use wf_app::{CliExitCode, CommandError, Host, watch};
use wf_base::digest::Sha256Digest;
use wf_base::name::RunId;
use wf_base::untrusted::shell_word;
use wf_base::untrusted::{NAME, paint};
use wf_core::machine::{Artifact, Event, EventKind, RequestDecision, RunApproval};
use wf_engine::{self as engine, recorded_evidence};
use wf_exec::evidence::{DigestMemo, first_stale};
use wf_model::JsonObject;
use wf_report::questions;
use wf_sign::approval::{
    self, ApprovalContext, ApprovalDecision, ApprovalRefusal, ApprovalScope, ApprovalStatement,
    ApprovalToken, PlanRef, Quorum, QuorumState, decide, plan_digest, proposal,
};
use wf_store::feed::WorkspaceAction;
use wf_store::{
    AnswerEffect, AnswerQuorum, ApprovalAnswer, DENIED, RunRow, Store, StoreDurability, StoreError,
    StoreReader,
};

/// The options for answering a pending approval.
#[derive(Args, Clone, Debug, Default)]
pub struct AnswerArgs {
    /// Do not ask for confirmation
    #[arg(long)]
    pub(super) yes: bool,
    /// Reason, for the record
    #[arg(long, value_name = "TEXT")]
    pub(super) reason: Option<String>,
    /// Sign with this key, by its name
    #[arg(long, value_name = "NAME")]
    pub(super) key: Option<String>,
    #[command(flatten)]
    pub(super) secret: PassphraseArgs,
}

/// The context in which a pending approval is answered.
struct AnswerContext {
    request: RunApprovalRequest,
    row: RunRow,
    outermost: RunId,
    approved: Option<RunApproval>,
    evidence: Vec<Artifact>,
    events: Vec<(u64, Event)>,
}

/// Answers a pending approval, and records the answer. The engine that works on the run continues by it.
pub fn answer_approval(
    ui: &Ui,
    run: &RunId,
    step: Option<&str>,
    verdict: ApprovalDecision,
    args: &AnswerArgs,
) -> Result<CliExitCode, CommandError> {
    let workspace = ui.host.workspace();
    let reader = StoreReader::from_whole_log(&workspace.state)?;
    let posed = pending_request(run, approval_requests(&reader, run)?, step)?;
    let wanted = match verdict {
        ApprovalDecision::Approved => RequestDecision::Approved,
        ApprovalDecision::Denied => RequestDecision::Denied,
    };
    if let Some(given) = &posed.outcome {
        ui.print_line(&late_answer_message(&posed, given, wanted)?)?;
        return Ok(CliExitCode::Ok);
    }
    if posed.request.expires <= ui.host.now() {
        let refusal = ApprovalRefusal::Late(posed.request.expires);
        let failure = CommandError::new(CliExitCode::Approval, refusal.to_string());
        return Err(failure.hint(format!("{}: wf resume {}", refusal.remedy(), run.short())));
    }
    let case = answer_context(&reader, run, posed)?;
    let fresh = first_stale(&workspace.root, &case.evidence, &DigestMemo::default(), true);
    if let Some(path) = fresh.filter(|_| verdict == ApprovalDecision::Approved) {
        let message = format!("{path} has changed since it was checked");
        let failure = CommandError::new(CliExitCode::Approval, message);
        let (short, step) = (run.short(), evidence_step(&case, &path));
        return Err(failure.hint(format!(
            "restore it, or produce it again: wf cancel {short}, then wf retry {short} --from {step}"
        )));
    }
    let request = &case.request.request;
    ui.print_message(&questions::approval_request_text(request, &case.row, &case.events, &case.evidence));
    let question = match verdict {
        ApprovalDecision::Approved => "Approve?",
        ApprovalDecision::Denied => "Deny?",
    };
    confirm(ui, args.yes, question)?;
    let mut rules = SigningRules::of(ui, &workspace)?;
    let signer = owner_signer(ui, &mut rules, args.key.as_deref(), args.secret.file())?;
    let token = ApprovalToken::sign(statement(&ui.host, &case, verdict, args, &rules)?, &signer);
    let key = signer.public().id();
    let (decided, enough) = combined_result(&ui.host, &reader, &case, &token, &rules)?;
    drop(reader);
    record_answer(&ui.host, &case, verdict, &token, key, enough)?;
    wake_daemon(&workspace.state);
    ui.print(&result_message(&case, verdict, &decided))?;
    Ok(CliExitCode::Ok)
}

fn answer_context(
    reader: &StoreReader,
    top: &RunId,
    posed: RunApprovalRequest,
) -> Result<AnswerContext, CommandError> {
    let events = reader.events(&posed.run, 0)?;
    let evidence = recorded_evidence(&events, &posed.request.covers_steps);
    let first = reader.events(top, 0)?;
    let approved = first.into_iter().find_map(|(_, event)| match event.fact {
        EventKind::RunApproved(approved) => Some(*approved),
        _ => None,
    });
    let row = reader.run(&posed.run)?;
    let top = crate::outermost_parent(reader, &row)?.unwrap_or_else(|| row.id.clone());
    Ok(AnswerContext { request: posed, row, outermost: top, approved, evidence, events })
}

/// The step whose evidence a file is, as a command takes it, with the steps above it.
fn evidence_step(case: &AnswerContext, path: &str) -> String {
    let taken = case.events.iter().rev();
    let step = taken.into_iter().find_map(|(_, event)| match &event.fact {
        EventKind::EvidenceTaken { attempt, files } => {
            let seen = files.iter().any(|file| file.path == path);
            seen.then(|| attempt.place.step.to_string())
        }
        _ => None,
    });
    let above = case.request.path.split_last().map_or(&[][..], |(_, above)| above);
    let own = step.unwrap_or_else(|| "STEP".to_owned());
    shell_word(&[above, &[own]].concat().join("/"))
}

impl AnswerContext {
    fn plan(&self) -> Sha256Digest {
        let approved = self.approved.as_ref();
        approved.map_or_else(|| Sha256Digest::of_bytes(b""), |approved| approved.plan_digest)
    }

    fn ask(&self) -> approval::ApprovalRequestRef {
        let ask = &self.request.request;
        approval::ApprovalRequestRef {
            place: ask.place.as_ref().map(ToString::to_string),
            number: ask.request,
            proposal: proposal(ask, &self.request.run, self.plan(), &self.evidence),
        }
    }

    fn scope(&self) -> ApprovalScope {
        engine::scope(&self.request.request)
    }
}

fn statement(
    host: &Host,
    case: &AnswerContext,
    verdict: ApprovalDecision,
    args: &AnswerArgs,
    rules: &SigningRules,
) -> Result<ApprovalStatement, CommandError> {
    let ask = case.ask();
    let plan = PlanRef {
        id: wf_base::name::PlanId::parse(&case.row.plan)
            .map_err(|bad| CommandError::new(CliExitCode::State, bad.to_string()))?,
        path: case.row.path.clone(),
        digest: plan_digest(&[]),
    };
    let purpose = format!("answer {}", ask.proposal);
    // Valid as long as the approval is pending, and never longer than the rules permit.
    let draft = draft_statement(host, &purpose, case.scope(), plan, rules.approvers.validity)?;
    Ok(ApprovalStatement {
        verdict,
        reason: args.reason.clone(),
        run: Some(case.request.run.clone()),
        ask: Some(ask),
        ..draft
    })
}

/// Returns the result of all answers including a new one, with the ones that sufficed for a yes;
/// refuses a new answer that does not count.
fn combined_result(
    host: &Host,
    reader: &StoreReader,
    case: &AnswerContext,
    token: &ApprovalToken,
    rules: &SigningRules,
) -> Result<(QuorumState, AnswerQuorum), CommandError> {
    let (ask, params) = (case.ask(), JsonObject::new());
    let statement = token.statement();
    let subject = ApprovalContext {
        scope: case.scope(),
        plan: &statement.plan.id,
        path: &case.row.path,
        files: &[],
        params: &params,
        run: Some(&case.request.run),
        ask: Some(&ask),
        initiator: case.approved.as_ref().and_then(|approved| approved.initiator),
        spawned: None,
        now: host.now(),
    };
    let quorum = Quorum {
        approvers: &rules.approvers,
        required: case.request.request.required,
        until: case.request.request.expires,
        names: &case.request.request.approvers,
    };
    let (_, refused) = decide(std::slice::from_ref(token), &subject, &quorum);
    if let Some(refusal) = refused.into_iter().next() {
        let failure = CommandError::new(CliExitCode::Approval, format!("signature rejected: {refusal}"));
        return Err(failure.hint(refusal.remedy()));
    }
    let before = reader.answers(&case.request.run, case.request.request.request)?;
    let before = before.iter().filter_map(|one| ApprovalToken::parse(&one.token).ok());
    let mut all: Vec<ApprovalToken> = before.collect();
    all.push(token.clone());
    let (count, keys) = quorum.counting(subject.initiator);
    let enough = AnswerQuorum { count: count as usize, keys };
    Ok((decide(&all, &subject, &quorum).0, enough))
}

fn record_answer(
    host: &Host,
    case: &AnswerContext,
    verdict: ApprovalDecision,
    token: &ApprovalToken,
    key: Sha256Digest,
    enough: AnswerQuorum,
) -> Result<(), CommandError> {
    let word = match verdict {
        ApprovalDecision::Approved => "approved",
        ApprovalDecision::Denied => DENIED,
    };
    let store = Store::open(&host.workspace().state, StoreDurability::Full, host.clock())?;
    let answer = ApprovalAnswer {
        run: case.request.run.clone(),
        number: case.request.request.request,
        key,
        verdict: word.into(),
        token: token.text(),
        at: host.now(),
        quorum: enough,
    };
    let taken = store.answer(answer).wait().map_err(|error| {
        let conflict = matches!(error, StoreError::Conflict { .. });
        let failure = CommandError::from(error);
        if conflict { CommandError { exit: CliExitCode::Approval, ..failure } } else { failure }
    })?;
    if taken == AnswerEffect::Recorded {
        let scope = case.scope().as_str().to_owned();
        let act = match verdict {
            ApprovalDecision::Approved => WorkspaceAction::Approved { scope, key },
            ApprovalDecision::Denied => WorkspaceAction::Denied { scope, key },
        };
        watch::record_command_act(host, act)?;
    }
    Ok(())
}

/// The message with the result and the next step.
fn result_message(case: &AnswerContext, verdict: ApprovalDecision, decided: &QuorumState) -> String {
    let (name, short) = (case.request.name(), case.request.run.short());
    let mut text = match (verdict, decided) {
        (ApprovalDecision::Denied, _) => format!("`{name}` of run {short} is denied\n"),
        (_, QuorumState::Open { by, required }) => {
            let found = by.len();
            return format!("`{name}` of run {short}: {found} of {required} approvals given\n");
        }
        _ => format!("`{name}` of run {short} is approved\n"),
    };
    let hint = paint(NAME, "hint:");
    let top = case.outermost.short();
    let _ = writeln!(
        text,
        "{hint} a waiting `wf run --wait` continues automatically; otherwise: wf resume {top}"
    );
    text
}
