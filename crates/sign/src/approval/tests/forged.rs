//! Tokens that were written or changed by hand.

use super::fixture::{OwnedApprovalContext, approvers, files, key, refusal, refused, statement, token};
use crate::{
    DsseEnvelope,
    approval::{ApprovalRefusal, ApprovalToken, PAYLOAD, ParamBound, plan_digest, verify},
    canonical,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use wf_base::digest::Sha256Digest;

fn parsed(change: impl FnOnce(&mut Value)) -> Result<ApprovalToken, ApprovalRefusal> {
    let mut payload: Value = serde_json::from_str(&statement().text()).unwrap();
    change(&mut payload);
    let text = canonical(&payload);
    let envelope = DsseEnvelope::seal(PAYLOAD, text.as_bytes(), &key(1));
    ApprovalToken::parse(&(canonical(&serde_json::to_value(envelope).unwrap()) + "\n"))
}

#[test]
fn only_the_one_form_is_read() {
    assert!(parsed(|_| {}).is_ok());
    let refused = |change: fn(&mut Value)| refusal(parsed(change));
    assert_eq!(
        refused(|it| it["v"] = json!(1)),
        "unsupported approval format version 1; this wf supports versions 2 and 3"
    );
    assert!(refused(|it| it["extra"] = json!(1)).contains("unknown field `extra`"));
    assert!(refused(|it| it["plan"]["extra"] = json!(1)).contains("unknown field `extra`"));
    assert!(refused(|it| it["scope"] = json!("all")).contains("unknown variant `all`"));
}

#[test]
fn what_contradicts_itself_is_not_read() {
    let contradiction = |change: fn(&mut Value), reason: &str| {
        let told = refusal(parsed(change));
        assert_eq!(told, format!("invalid approval: {reason}"));
    };
    contradiction(
        |it| it["files"].as_array_mut().unwrap().reverse(),
        "its files are not sorted, or one is listed twice",
    );
    contradiction(
        |it| it["files"][0]["digest"] = json!(Sha256Digest::of_bytes(b"x")),
        "its digest does not match its files",
    );
    contradiction(|it| it["expires"] = it["issued"].clone(), "it expires before it is issued");
    contradiction(|it| it["executions"] = json!(0), "it allows no uses");
    contradiction(|it| it["nonce"] = json!("7"), "its nonce is not 32 hexadecimal digits");
    contradiction(
        |it| it["scope"] = json!("standing"),
        "a spawn policy is required for standing approvals, and invalid for others",
    );
    contradiction(
        |it| it["scope"] = json!("gate"),
        "request and run are required for answers, and invalid for others",
    );
    contradiction(|it| it["v"] = json!(3), "an answer is required in version 3, and invalid in others");
    contradiction(
        |it| it["answer"] = json!({"choice": "us"}),
        "an answer is required in version 3, and invalid in others",
    );
    contradiction(
        |it| (it["v"], it["answer"]) = (json!(3), json!({"choice": "us"})),
        "an answer is invalid in a denial, and for anything but the request of a step",
    );
}

#[test]
fn the_same_in_other_bytes_is_not_read() {
    let not_canonical = |change: fn(&mut Value)| {
        assert_eq!(parsed(change), Err(ApprovalRefusal::NotCanonical));
    };
    not_canonical(|it| it["reason"] = Value::Null);
    not_canonical(|it| it["issued"] = json!("2027-01-15T09:00:00+01:00"));
    let upper = parsed(|it| {
        let digest = it["plan"]["digest"].as_str().unwrap().to_uppercase();
        it["plan"]["digest"] = json!(digest);
    });
    assert!(matches!(upper, Err(ApprovalRefusal::NoToken(_))), "{upper:?}");
    let text = token().text();
    assert_eq!(ApprovalToken::parse(text.trim()), Err(ApprovalRefusal::NotCanonical));
    assert_eq!(ApprovalToken::parse(&format!(" {text}")), Err(ApprovalRefusal::NotCanonical));
    let mut other: Value = serde_json::from_str(&text).unwrap();
    other["more"] = json!(1);
    let more = canonical(&other) + "\n";
    assert_eq!(ApprovalToken::parse(&more), Err(ApprovalRefusal::NotCanonical));
    other = serde_json::from_str(&text).unwrap();
    let sig = other["signatures"][0]["sig"].as_str().unwrap();
    other["signatures"][0]["sig"] = json!(sig.trim_end_matches('=').replace('+', "-").replace('/', "_"));
    let safe = canonical(&other) + "\n";
    assert_eq!(ApprovalToken::parse(&safe), Err(ApprovalRefusal::NotCanonical));
    let other = DsseEnvelope::seal("text/plain", b"{}", &key(1));
    let other = canonical(&serde_json::to_value(other).unwrap()) + "\n";
    assert_eq!(
        refusal(ApprovalToken::parse(&other)),
        "not an approval, but a signed document of type text/plain"
    );
    let mut nobody = token().envelope().clone();
    nobody.signatures.clear();
    let nobody = canonical(&serde_json::to_value(nobody).unwrap()) + "\n";
    assert_eq!(ApprovalToken::parse(&nobody), Err(ApprovalRefusal::Unsigned));
    assert!(refusal(ApprovalToken::parse("{}")).starts_with("not an approval"));
}

#[test]
fn a_signature_of_something_else_does_not_fit() {
    let mut other = statement();
    other.executions = 9;
    let mut envelope = ApprovalToken::sign(other, &key(1)).envelope().clone();
    envelope.signatures = token().envelope().signatures.clone();
    let text = canonical(&serde_json::to_value(envelope).unwrap()) + "\n";
    let forged = ApprovalToken::parse(&text).unwrap();
    assert_eq!(refused(&forged, &approvers()), "invalid signature by ada: it does not match the approval");
}

fn allows(bytes: Vec<u8>) -> bool {
    let token = String::from_utf8(bytes).ok().map(|text| ApprovalToken::parse(&text));
    let Some(Ok(token)) = token else { return false };
    verify(&token, &OwnedApprovalContext::default().subject(), &approvers(), 0).is_ok()
}

/// Every byte with each bit flipped, and with a few other values.
#[test]
fn a_token_with_any_byte_changed_allows_nothing() {
    let mut two = token();
    two.add_signature(&key(2));
    let text = two.text().into_bytes();
    assert!(allows(text.clone()));
    for at in 0..text.len() {
        for mask in [1, 2, 4, 8, 16, 32, 64, 128, 0xff] {
            let mut changed = text.clone();
            changed[at] ^= mask;
            assert!(!allows(changed), "byte {at} ^ {mask}");
        }
        for other in [b' ', b'\n', b'\t', b'0', b'=', b'"'] {
            let mut changed = text.clone();
            changed[at] = other;
            assert!(changed == text || !allows(changed), "byte {at} = {other}");
        }
        let (mut less, mut more) = (text.clone(), text.clone());
        less.remove(at);
        more.insert(at, b' ');
        assert!(!allows(less) && !allows(more), "byte {at}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn nothing_is_read_that_is_written_otherwise(text in ".{0,200}") {
        prop_assert!(ApprovalToken::parse(&text).is_err());
    }

    #[test]
    fn what_is_written_is_read(
        reason in proptest::option::of(".{0,20}"),
        number in any::<i64>(),
        float in any::<f64>().prop_filter("JSON has no other", |float| float.is_finite()),
        executions in 1_u32..) {
        let mut statement = statement();
        statement.reason = reason;
        statement.executions = executions;
        statement.params.insert("number".into(), ParamBound::Is(json!(number)));
        statement.params.insert("float".into(), ParamBound::Is(json!(float)));
        let token = ApprovalToken::sign(statement, &key(1));
        let read = ApprovalToken::parse(&token.text()).unwrap();
        prop_assert_eq!(read.text(), token.text());
        prop_assert_eq!(read.digest(), token.digest());
        prop_assert_eq!(plan_digest(&files()), read.statement().plan.digest);
    }
}
