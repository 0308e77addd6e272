//! The decision by signed answers.

use serde_json::json;

use super::fixture::{NOW, approvers, key, statement};
use crate::{
    DsseEnvelope,
    approval::{
        ApprovalContext, ApprovalDecision, ApprovalNonce, ApprovalRefusal, ApprovalRequestRef as Asked,
        ApprovalScope, ApprovalStatement, ApprovalToken, Approvers, PAYLOAD, Quorum, QuorumState, decide,
        plan_digest, proposal,
    },
    canonical,
};
use wf_base::{digest::Sha256Digest, name::RunId};
use wf_core::machine::{AnswerOptions, ApprovalRequest, Artifact, TypedAnswer};
use wf_model::JsonObject;

fn run() -> RunId {
    RunId::from_bytes([7; 16])
}

fn asked() -> Asked {
    Asked { place: Some("ok".into()), number: 1, proposal: Sha256Digest::of_bytes(b"this") }
}

/// Returns an answer to the question.
fn answer(of: u8, verdict: ApprovalDecision) -> ApprovalStatement {
    ApprovalStatement {
        scope: ApprovalScope::Step,
        verdict,
        files: Vec::new(),
        params: [].into(),
        plan: crate::approval::PlanRef { digest: plan_digest(&[]), ..statement().plan },
        run: Some(run()),
        request_ref: Some(asked()),
        nonce: ApprovalNonce::from_bytes([of; 16]),
        issued: NOW,
        ..statement()
    }
}

fn judged(
    answers: &[(u8, ApprovalStatement)],
    approvers: &Approvers,
    required: Option<u32>,
    names: &[String],
) -> (QuorumState, Vec<ApprovalRefusal>) {
    let until = NOW.after(std::time::Duration::from_mins(1));
    counted(answers, &Quorum { approvers, required, until, names, options: None })
}

/// Returns the decision by these answers.
fn counted(answers: &[(u8, ApprovalStatement)], quorum: &Quorum<'_>) -> (QuorumState, Vec<ApprovalRefusal>) {
    let tokens = answers.iter().map(|(of, statement)| ApprovalToken::sign(statement.clone(), &key(*of)));
    let tokens: Vec<ApprovalToken> = tokens.collect();
    let plan = statement().plan;
    let (run, ask, params) = (run(), asked(), JsonObject::new());
    let subject = ApprovalContext {
        scope: ApprovalScope::Step,
        plan: &plan.id,
        path: &plan.path,
        files: &[],
        params: &params,
        run: Some(&run),
        request_ref: Some(&ask),
        initiator: Some(key(3).public().id()),
        spawned: None,
        now: NOW,
    };
    decide(&tokens, &subject, quorum)
}

fn count(decided: &QuorumState) -> Option<usize> {
    match decided {
        QuorumState::Approved { by, .. } => Some(by.len()),
        _ => None,
    }
}

#[test]
fn enough_different_keys_are_a_yes() {
    let yes = |of| (of, answer(of, ApprovalDecision::Approved));
    let told = |all: &[(u8, ApprovalStatement)], required| judged(all, &approvers(), required, &[]).0;
    assert_eq!(count(&told(&[yes(1)], None)), Some(1));
    assert_eq!(count(&told(&[yes(1), yes(1)], Some(2))), None);
    assert_eq!(count(&told(&[yes(1), yes(2)], Some(2))), Some(2));
    assert_eq!(count(&told(&[], None)), None);
}

#[test]
fn a_plan_cannot_ask_for_fewer_than_the_policy() {
    let two = Approvers { required: 2, ..approvers() };
    let yes = [(1, answer(1, ApprovalDecision::Approved))];
    let (decided, _) = judged(&yes, &two, Some(1), &[]);
    assert_eq!(count(&decided), None);
}

#[test]
fn one_no_outweighs_every_yes() {
    let all = [(1, answer(1, ApprovalDecision::Approved)), (2, answer(2, ApprovalDecision::Denied))];
    let (decided, _) = judged(&all, &approvers(), None, &[]);
    assert!(matches!(decided, QuorumState::Denied { by, .. } if by.name == "bob"));
}

#[test]
fn what_does_not_count_says_why() {
    let names = ["bob".to_owned()];
    let refused = |of: u8, statement: ApprovalStatement, names: &[String]| {
        let (decided, refused) = judged(&[(of, statement)], &approvers(), None, names);
        assert!(matches!(decided, QuorumState::Open { .. }), "{decided:?}");
        refused.into_iter().next().unwrap()
    };
    let yes = || answer(1, ApprovalDecision::Approved);
    assert!(matches!(refused(3, yes(), &[]), ApprovalRefusal::SelfApproval(_)));
    assert!(matches!(refused(1, yes(), &names), ApprovalRefusal::NotAsked(_)));
    assert!(matches!(refused(9, yes(), &[]), ApprovalRefusal::Unlisted(_)));
    let other = ApprovalStatement { request_ref: Some(Asked { number: 2, ..asked() }), ..yes() };
    assert_eq!(refused(1, other, &[]), ApprovalRefusal::OtherAsk);
    let elsewhere = ApprovalStatement { run: Some(RunId::from_bytes([8; 16])), ..yes() };
    assert!(matches!(refused(1, elsewhere, &[]), ApprovalRefusal::OtherRun(_)));
    let scope = ApprovalStatement { scope: ApprovalScope::Gate, ..yes() };
    assert!(matches!(refused(1, scope, &[]), ApprovalRefusal::OtherScope { .. }));
}

#[test]
fn a_proposal_is_of_everything_that_is_shown() {
    let request: ApprovalRequest = serde_json::from_value(json!({
        "request": 1, "since": NOW, "message": "go?", "show": { "n": 1 }, "expires": NOW,
    }))
    .unwrap();
    let file = Artifact {
        path: "out.txt".into(),
        digest: Sha256Digest::of_bytes(b"made"),
        size: 4,
        released_by: None,
    };
    let plan = Sha256Digest::of_bytes(b"plan");
    let first = proposal(&request, &run(), plan, std::slice::from_ref(&file));
    let mut shown = request.clone();
    shown.show.insert("n".into(), json!(2));
    let changed = Artifact { digest: Sha256Digest::of_bytes(b"other"), ..file.clone() };
    for other in [
        proposal(&shown, &run(), plan, std::slice::from_ref(&file)),
        proposal(&request, &RunId::from_bytes([8; 16]), plan, std::slice::from_ref(&file)),
        proposal(&request, &run(), Sha256Digest::of_bytes(b"p"), std::slice::from_ref(&file)),
        proposal(&request, &run(), plan, &[changed]),
        proposal(&request, &run(), plan, &[]),
    ] {
        assert_ne!(first, other);
    }
    assert_eq!(first, proposal(&request, &run(), plan, &[file]));
}

fn choice(of: u8, word: &str) -> (u8, ApprovalStatement) {
    let said = TypedAnswer::Choice(word.into());
    (of, answer(of, ApprovalDecision::Approved).with_answer(Some(said)))
}

/// Returns the decision about a choice between two words, by two approvers.
fn chosen(answers: &[(u8, ApprovalStatement)]) -> (QuorumState, Vec<ApprovalRefusal>) {
    let options = AnswerOptions::Choose(vec!["eu".into(), "us".into()]);
    let until = NOW.after(std::time::Duration::from_mins(1));
    let approvers = approvers();
    let quorum =
        Quorum { approvers: &approvers, required: Some(2), until, names: &[], options: Some(&options) };
    counted(answers, &quorum)
}

#[test]
fn approvers_agree_only_if_they_give_the_same_answer() {
    let (decided, refused) = chosen(&[choice(1, "eu"), choice(2, "eu")]);
    assert_eq!(refused, []);
    let eu = TypedAnswer::Choice("eu".into());
    assert!(matches!(&decided, QuorumState::Approved { answer: Some(said), .. } if *said == eu));
    for all in [[choice(1, "eu"), choice(2, "us")], [choice(1, "us"), choice(2, "eu")]] {
        let (decided, refused) = chosen(&all);
        assert_eq!(refused.len(), 1);
        let first = all[0].1.answer.clone();
        assert!(
            matches!(&decided, QuorumState::Open { signers, answer, .. } if signers.len() == 1 && *answer == first)
        );
        assert_eq!(decided.refusal_of(all[1].1.answer.as_ref()), refused.into_iter().next());
        assert_eq!(decided.refusal_of(first.as_ref()), None);
    }
}

#[test]
fn an_answer_that_is_not_permitted_does_not_count_nor_come_first() {
    let plain = (1, answer(1, ApprovalDecision::Approved));
    for bad in [choice(1, "moon"), plain] {
        let (decided, refused) = chosen(&[bad, choice(2, "eu"), choice(1, "eu")]);
        assert!(matches!(refused.as_slice(), [ApprovalRefusal::BadAnswer(_)]));
        assert_eq!(count(&decided), Some(2));
    }
    let (decided, refused) = judged(&[choice(1, "eu")], &approvers(), None, &[]);
    assert!(matches!(refused.as_slice(), [ApprovalRefusal::BadAnswer(_)]));
    assert_eq!(count(&decided), None);
}

#[test]
fn a_signature_is_of_one_answer() {
    let (of, statement) = choice(1, "eu");
    let token = ApprovalToken::sign(statement.clone(), &key(of));
    assert_eq!(ApprovalToken::parse(&token.text()), Ok(token.clone()));
    let (_, other) = choice(1, "us");
    let envelope = DsseEnvelope {
        payload: DsseEnvelope::seal(PAYLOAD, other.text().as_bytes(), &key(of)).payload,
        ..token.envelope().clone()
    };
    let forged = canonical(&serde_json::to_value(&envelope).unwrap()) + "\n";
    let forged = ApprovalToken::parse(&forged).unwrap();
    assert_eq!(forged.statement().answer, other.answer);
    let approvers = approvers();
    let by = crate::approval::check::signers(&forged, &approvers);
    assert!(matches!(by, Err(ApprovalRefusal::BadSignature(_))));
    assert_eq!(statement.v, 3);
    assert_eq!(answer(1, ApprovalDecision::Approved).with_answer(None).v, 2);
}
