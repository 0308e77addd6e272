use std::fmt::Write as _;

use clap::Args;

use super::agree::agreed;
use super::questions::{Posed, late, open, posed};
use super::{Rules, owner};
use crate::approval::{
    self, Decided, Nonce, PlanRef, Quorum, Refusal, Scope, Statement, Subject, Token, VERSION,
    Verdict, decide, plan_digest, proposal,
};
use crate::bus::Act;
use crate::cli::goals::poke;
use crate::cli::keys::PassphraseArgs;
use crate::cli::{Exit, Failure, Ui, watch};
use crate::digest::Digest;
use crate::engine::{self, recorded_evidence};
use crate::exec::evidence::{Memo, stale};
use crate::machine::{Approved, Artifact, Decision, Event, Fact};
use crate::model::Object;
use crate::name::RunId;
use crate::report::{NAME, paint, questions, word};
use crate::store::{Answer, DENIED, Durability, Enough, Reader, RunRow, Store, StoreError, Taken};

/// How somebody answers what a run asks.
#[derive(Args, Clone, Debug, Default)]
pub struct AnswerArgs {
    /// Do not ask whether that is meant
    #[arg(long)]
    pub(super) yes: bool,
    /// Why, for the record
    #[arg(long, value_name = "TEXT")]
    pub(super) reason: Option<String>,
    /// The key that signs, by its name
    #[arg(long, value_name = "NAME")]
    pub(super) key: Option<String>,
    #[command(flatten)]
    pub(super) secret: PassphraseArgs,
}

/// What is known of a question when somebody answers it.
struct Case {
    posed: Posed,
    row: RunRow,
    top: RunId,
    approved: Option<Approved>,
    evidence: Vec<Artifact>,
    events: Vec<(u64, Event)>,
}

/// Answers what a run asks, and records the answer. Whoever works on the run goes on by it.
pub fn answer(
    ui: &Ui,
    (run, step): (&RunId, Option<&str>),
    verdict: Verdict,
    args: &AnswerArgs,
) -> Result<Exit, Failure> {
    let workspace = ui.workspace();
    let reader = Reader::from_whole_log(&workspace.state)?;
    let posed = open(run, posed(&reader, run)?, step)?;
    let wanted = match verdict {
        Verdict::Approved => Decision::Approved,
        Verdict::Denied => Decision::Denied,
    };
    if let Some(given) = &posed.given {
        ui.print_line(&late(&posed, given, wanted)?)?;
        return Ok(Exit::Ok);
    }
    if posed.ask.expires <= ui.env.now() {
        let refusal = Refusal::Late(posed.ask.expires);
        let failure = Failure::new(Exit::Approval, refusal.to_string());
        return Err(failure.hint(format!("{}: wf resume {}", refusal.remedy(), run.short())));
    }
    let case = case(&reader, run, posed)?;
    let fresh = stale(&workspace.root, &case.evidence, &Memo::default(), true);
    if let Some(path) = fresh.filter(|_| verdict == Verdict::Approved) {
        let message = format!("{path} is not what it was when it was checked");
        let failure = Failure::new(Exit::Approval, message);
        let (short, step) = (run.short(), maker(&case, &path));
        return Err(failure.hint(format!(
            "put it back, or make it anew: wf cancel {short}, then wf retry {short} --from {step}"
        )));
    }
    let known = (case.events.as_slice(), case.evidence.as_slice());
    ui.say(&questions::shown(&case.posed.ask, &case.row, known));
    let question = match verdict {
        Verdict::Approved => "do you approve that?",
        Verdict::Denied => "do you deny that?",
    };
    agreed(ui, args.yes, question)?;
    let mut rules = Rules::of(ui, &workspace)?;
    let signer = owner::signer(ui, &mut rules, (args.key.as_deref(), &args.secret))?;
    let token = Token::sign(statement(ui, &case, verdict, args, &rules)?, &signer);
    let key = signer.public().id();
    let (decided, enough) = counts(ui, &reader, &case, &token, &rules)?;
    drop(reader);
    record(ui, &case, verdict, (&token, key, enough))?;
    poke(&workspace.state);
    ui.print(&told(&case, verdict, &decided))?;
    Ok(Exit::Ok)
}

fn case(reader: &Reader, top: &RunId, posed: Posed) -> Result<Case, Failure> {
    let events = reader.events(&posed.run, 0)?;
    let evidence = recorded_evidence(&events, &posed.ask.relies_on);
    let first = reader.events(top, 0)?;
    let approved = first.into_iter().find_map(|(_, event)| match event.fact {
        Fact::RunApproved(approved) => Some(*approved),
        _ => None,
    });
    let row = reader.run(&posed.run)?;
    let top = crate::cli::top(reader, &row)?.unwrap_or_else(|| row.id.clone());
    Ok(Case {
        posed,
        row,
        top,
        approved,
        evidence,
        events,
    })
}

/// The step whose evidence a file is, as a command takes it, with those above it.
fn maker(case: &Case, path: &str) -> String {
    let taken = case.events.iter().rev();
    let step = taken.into_iter().find_map(|(_, event)| match &event.fact {
        Fact::EvidenceTaken { attempt, files } => {
            let seen = files.iter().any(|file| file.path == path);
            seen.then(|| attempt.place.step.to_string())
        }
        _ => None,
    });
    let above = case
        .posed
        .path
        .split_last()
        .map_or(&[][..], |(_, above)| above);
    let own = step.unwrap_or_else(|| "STEP".to_owned());
    word(&[above, &[own]].concat().join("/"))
}

impl Case {
    fn plan(&self) -> Digest {
        let approved = self.approved.as_ref();
        approved.map_or_else(|| Digest::of(b""), |approved| approved.plan)
    }

    fn ask(&self) -> approval::Ask {
        let ask = &self.posed.ask;
        approval::Ask {
            place: ask.place.as_ref().map(ToString::to_string),
            number: ask.number,
            proposal: proposal(ask, &self.posed.run, self.plan(), &self.evidence),
        }
    }

    fn scope(&self) -> Scope {
        engine::scope(&self.posed.ask)
    }
}

fn statement(
    ui: &Ui,
    case: &Case,
    verdict: Verdict,
    args: &AnswerArgs,
    rules: &Rules,
) -> Result<Statement, Failure> {
    let ask = case.ask();
    let drawn = ui.env.random(&format!("answer {}", ask.proposal))?;
    let mut bytes = [0; 16];
    bytes.copy_from_slice(drawn.split_at(16).0);
    let now = ui.env.now();
    // It holds as long as the question is open, and never longer than anybody may allow.
    let longest = now.after(rules.approvers.validity);
    Ok(Statement {
        v: VERSION,
        scope: case.scope(),
        verdict,
        reason: args.reason.clone(),
        plan: PlanRef {
            id: crate::name::PlanId::parse(&case.row.plan)
                .map_err(|bad| Failure::new(Exit::State, bad.to_string()))?,
            path: case.row.path.clone(),
            digest: plan_digest(&[]),
        },
        files: Vec::new(),
        params: std::collections::BTreeMap::new(),
        run: Some(case.posed.run.clone()),
        ask: Some(ask),
        nonce: Nonce::from_bytes(bytes),
        issued: now,
        expires: longest,
        executions: 1,
        spawn_policy: None,
    })
}

/// What all answers come to with a new one, and what was enough for a yes; refused if the new one
/// does not count.
fn counts(
    ui: &Ui,
    reader: &Reader,
    case: &Case,
    token: &Token,
    rules: &Rules,
) -> Result<(Decided, Enough), Failure> {
    let (ask, params) = (case.ask(), Object::new());
    let statement = token.statement();
    let subject = Subject {
        scope: case.scope(),
        plan: &statement.plan.id,
        path: &case.row.path,
        files: &[],
        params: &params,
        run: Some(&case.posed.run),
        ask: Some(&ask),
        initiator: case
            .approved
            .as_ref()
            .and_then(|approved| approved.initiator),
        spawned: None,
        now: ui.env.now(),
    };
    let quorum = Quorum {
        approvers: &rules.approvers,
        required: case.posed.ask.required,
        until: case.posed.ask.expires,
        names: &case.posed.ask.approvers,
    };
    let (_, refused) = decide(std::slice::from_ref(token), &subject, &quorum);
    if let Some(refusal) = refused.into_iter().next() {
        let failure = Failure::new(Exit::Approval, format!("that does not count: {refusal}"));
        return Err(failure.hint(refusal.remedy()));
    }
    let before = reader.answers(&case.posed.run, case.posed.ask.number)?;
    let before = before
        .iter()
        .filter_map(|one| Token::parse(&one.token).ok());
    let mut all: Vec<Token> = before.collect();
    all.push(token.clone());
    let (count, keys) = quorum.counting(subject.initiator);
    let enough = Enough {
        count: count as usize,
        keys,
    };
    Ok((decide(&all, &subject, &quorum).0, enough))
}

fn record(
    ui: &Ui,
    case: &Case,
    verdict: Verdict,
    (token, key, enough): (&Token, Digest, Enough),
) -> Result<(), Failure> {
    let word = match verdict {
        Verdict::Approved => "approved",
        Verdict::Denied => DENIED,
    };
    let store = Store::open(&ui.workspace().state, Durability::Full, ui.env.clock())?;
    let answer = Answer {
        run: case.posed.run.clone(),
        number: case.posed.ask.number,
        key,
        verdict: word.into(),
        token: token.text(),
        at: ui.env.now(),
        enough,
    };
    let taken = store.answer(answer).wait().map_err(|error| {
        let conflict = matches!(error, StoreError::Conflict { .. });
        let failure = Failure::from(error);
        if conflict {
            Failure {
                exit: Exit::Approval,
                ..failure
            }
        } else {
            failure
        }
    })?;
    if taken == Taken::New {
        let scope = case.scope().as_str().to_owned();
        let act = match verdict {
            Verdict::Approved => Act::Approved { scope, key },
            Verdict::Denied => Act::Denied { scope, key },
        };
        watch::record(ui, act)?;
    }
    Ok(())
}

/// What came of it, and what comes next.
fn told(case: &Case, verdict: Verdict, decided: &Decided) -> String {
    let (name, short) = (case.posed.name(), case.posed.run.short());
    let mut text = match (verdict, decided) {
        (Verdict::Denied, _) => format!("`{name}` of run {short} is denied\n"),
        (_, Decided::Open { by, required }) => {
            let found = by.len();
            return format!("`{name}` of run {short}: {found} of {required} approvers agreed\n");
        }
        _ => format!("`{name}` of run {short} is approved\n"),
    };
    let hint = paint(NAME, "hint:");
    let top = case.top.short();
    let _ = writeln!(
        text,
        "{hint} whoever works on it goes on by itself; if nobody does: wf resume {top}"
    );
    text
}
