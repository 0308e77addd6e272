//! What people decide: their signed answers, as far as they are recorded.

use std::sync::Arc;

use crate::approval::{self, Decided, Quorum, Scope, Subject, Token};
use crate::digest::Digest;
use crate::machine::{Artifact, Ask, Decision, Given, Happening, Timer};
use crate::model::Object;
use crate::store::StoreError;

use super::dispatch::Report;
use super::run::Ongoing;

/// Looks whether people have decided.
pub(super) async fn look(run: Arc<Ongoing>, ask: Box<Ask>) -> Report {
    let looked = tokio::task::spawn_blocking(move || {
        let given = given(&run, &ask)?;
        Ok::<_, StoreError>(given.map(|given| Happening::Answered {
            number: ask.number,
            given,
        }))
    });
    match looked.await {
        Ok(answer) => Ok(answer?),
        Err(_) => Ok(None),
    }
}

/// Looks once more, when the time to answer is over: what was answered before counts.
pub(super) async fn last_look(run: Arc<Ongoing>, ask: Box<Ask>) -> Report {
    let number = ask.number;
    let found = look(run, ask).await?;
    let timer = Timer::Ask { number };
    Ok(found.or(Some(Happening::Woke { timer })))
}

/// What people decided about a question; `None`: not enough have answered.
fn given(run: &Ongoing, ask: &Ask) -> Result<Option<Given>, StoreError> {
    let session = &run.session;
    let reader = session.store.reader()?;
    let answers = reader.answers(&run.this.id, ask.number)?;
    if answers.is_empty() {
        return Ok(None);
    }
    let tokens = answers.iter();
    let tokens: Vec<Token> = tokens
        .filter_map(|answer| Token::parse(&answer.token).ok())
        .collect();
    let evidence = evidence(run, ask);
    let approved = run.approved.as_ref();
    let plan = approved.map_or_else(|| Digest::of(b""), |approved| approved.plan);
    let asked = approval::Ask {
        place: ask.place.as_ref().map(ToString::to_string),
        number: ask.number,
        proposal: approval::proposal(ask, &run.this.id, plan, &evidence),
    };
    let row = reader.run(&run.this.id)?;
    let subject = Subject {
        scope: scope(ask),
        plan: &run.this.plan,
        path: &row.path,
        files: &[],
        params: &Object::new(),
        run: Some(&run.this.id),
        ask: Some(&asked),
        initiator: approved.and_then(|approved| approved.initiator),
        spawned: None,
        now: session.clock.now(),
    };
    let quorum = Quorum {
        approvers: &session.approvers,
        required: ask.required,
        until: ask.expires,
        names: &ask.approvers,
    };
    let (decided, _) = approval::decide(&tokens, &subject, &quorum);
    Ok(answer(run, decided, &evidence))
}

/// What an approval of a question is for.
pub fn scope(ask: &Ask) -> Scope {
    match ask.point {
        None => Scope::Step,
        Some(_) => Scope::Gate,
    }
}

/// The files of what a question relies on, as they were when they were checked.
fn evidence(run: &Ongoing, ask: &Ask) -> Vec<Artifact> {
    let places = run.places_of(ask.relies_on.iter());
    let files = places.iter().filter_map(|place| run.evidence_of(place));
    files.flatten().collect()
}

/// What is told to the machine. What was agreed to must still be there.
fn answer(run: &Ongoing, decided: Decided, evidence: &[Artifact]) -> Option<Given> {
    match decided {
        Decided::Open { .. } => None,
        Decided::Denied { by, token, reason } => Some(Given {
            decision: Decision::Denied,
            by: vec![by],
            tokens: vec![token],
            reason: reason.unwrap_or_default(),
        }),
        Decided::Approved { by, tokens } => {
            let session = &run.session;
            let changed =
                crate::exec::evidence::stale(&session.root, evidence, &session.memo, true);
            let (decision, reason) = match changed {
                None => (Decision::Approved, String::new()),
                Some(path) => (
                    Decision::Void,
                    format!("{path} is not what it was when it was checked"),
                ),
            };
            Some(Given {
                decision,
                by,
                tokens,
                reason,
            })
        }
    }
}
