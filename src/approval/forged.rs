//! Tokens that were written or changed by hand.

use super::fixture::{Deed, approvers, files, key, refusal, refused, statement, token};
use super::{Bound, PAYLOAD, Refusal, Token, plan_digest, verify};
use crate::digest::Digest;
use crate::seal::{Envelope, canonical};
use proptest::prelude::*;
use serde_json::{Value, json};

fn parsed(change: impl FnOnce(&mut Value)) -> Result<Token, Refusal> {
    let mut payload: Value = serde_json::from_str(&statement().text()).unwrap();
    change(&mut payload);
    let text = canonical(&payload);
    let envelope = Envelope::seal(PAYLOAD, text.as_bytes(), &key(1));
    Token::parse(&(canonical(&serde_json::to_value(envelope).unwrap()) + "\n"))
}

#[test]
fn only_the_one_form_is_read() {
    assert!(parsed(|_| {}).is_ok());
    let refused = |change: fn(&mut Value)| refusal(parsed(change));
    assert_eq!(
        refused(|it| it["v"] = json!(2)),
        "the approval is of version 2 of the format; this wf knows version 1"
    );
    assert!(refused(|it| it["extra"] = json!(1)).contains("unknown field `extra`"));
    assert!(refused(|it| it["plan"]["extra"] = json!(1)).contains("unknown field `extra`"));
    assert!(refused(|it| it["scope"] = json!("all")).contains("unknown variant `all`"));
}

#[test]
fn what_contradicts_itself_is_not_read() {
    let contradiction = |change: fn(&mut Value), why: &str| {
        let told = refusal(parsed(change));
        assert_eq!(told, format!("the approval contradicts itself: {why}"));
    };
    contradiction(
        |it| it["files"].as_array_mut().unwrap().reverse(),
        "its files are not in order, or one is named twice",
    );
    contradiction(
        |it| it["files"][0]["digest"] = json!(Digest::of(b"x")),
        "its digest is not that of its files",
    );
    contradiction(
        |it| it["expires"] = it["issued"].clone(),
        "it ends before it begins",
    );
    contradiction(
        |it| it["executions"] = json!(0),
        "it may be used no time at all",
    );
    contradiction(
        |it| it["nonce"] = json!("7"),
        "its nonce is not 32 hexadecimal digits",
    );
    contradiction(
        |it| it["scope"] = json!("standing"),
        "a standing approval, and no other, says what may be started under it",
    );
    contradiction(
        |it| it["scope"] = json!("gate"),
        "an answer, and nothing else, names the request and the run",
    );
}

#[test]
fn the_same_in_other_bytes_is_not_read() {
    let not_canonical = |change: fn(&mut Value)| {
        assert_eq!(parsed(change), Err(Refusal::NotCanonical));
    };
    not_canonical(|it| it["reason"] = Value::Null);
    not_canonical(|it| it["issued"] = json!("2027-01-15T09:00:00+01:00"));
    let upper = parsed(|it| {
        let digest = it["plan"]["digest"].as_str().unwrap().to_uppercase();
        it["plan"]["digest"] = json!(digest);
    });
    assert!(matches!(upper, Err(Refusal::NoToken(_))), "{upper:?}");
    let text = token().text();
    assert_eq!(Token::parse(text.trim()), Err(Refusal::NotCanonical));
    assert_eq!(
        Token::parse(&format!(" {text}")),
        Err(Refusal::NotCanonical)
    );
    let mut other: Value = serde_json::from_str(&text).unwrap();
    other["more"] = json!(1);
    let more = canonical(&other) + "\n";
    assert_eq!(Token::parse(&more), Err(Refusal::NotCanonical));
    other = serde_json::from_str(&text).unwrap();
    let sig = other["signatures"][0]["sig"].as_str().unwrap();
    other["signatures"][0]["sig"] = json!(
        sig.trim_end_matches('=')
            .replace('+', "-")
            .replace('/', "_")
    );
    let safe = canonical(&other) + "\n";
    assert_eq!(Token::parse(&safe), Err(Refusal::NotCanonical));
    let other = Envelope::seal("text/plain", b"{}", &key(1));
    let other = canonical(&serde_json::to_value(other).unwrap()) + "\n";
    assert_eq!(
        refusal(Token::parse(&other)),
        "this is a signed text of another kind: text/plain"
    );
    let mut nobody = token().envelope().clone();
    nobody.signatures.clear();
    let nobody = canonical(&serde_json::to_value(nobody).unwrap()) + "\n";
    assert_eq!(Token::parse(&nobody), Err(Refusal::Unsigned));
    assert!(refusal(Token::parse("{}")).starts_with("this is no approval"));
}

#[test]
fn a_signature_of_something_else_does_not_fit() {
    let mut other = statement();
    other.executions = 9;
    let mut envelope = Token::sign(other, &key(1)).envelope().clone();
    envelope.signatures = token().envelope().signatures.clone();
    let text = canonical(&serde_json::to_value(envelope).unwrap()) + "\n";
    let forged = Token::parse(&text).unwrap();
    assert_eq!(
        refused(&forged, &approvers()),
        "the signature of ada does not fit what the approval says"
    );
}

fn allows(bytes: Vec<u8>) -> bool {
    let token = String::from_utf8(bytes)
        .ok()
        .map(|text| Token::parse(&text));
    let Some(Ok(token)) = token else { return false };
    verify(&token, &Deed::default().subject(), &approvers(), 0).is_ok()
}

/// Every byte, and every bit of it, and a few other values.
#[test]
fn a_token_with_any_byte_changed_allows_nothing() {
    let mut two = token();
    two.sign_too(&key(2));
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
        prop_assert!(Token::parse(&text).is_err());
    }

    #[test]
    fn what_is_written_is_read(
        reason in proptest::option::of(".{0,20}"),
        number in any::<i64>(),
        float in any::<f64>().prop_filter("JSON has no other", |float| float.is_finite()),
        executions in 1_u32..,
    ) {
        let mut statement = statement();
        statement.reason = reason;
        statement.executions = executions;
        statement.params.insert("number".into(), Bound::Is(json!(number)));
        statement.params.insert("float".into(), Bound::Is(json!(float)));
        let token = Token::sign(statement, &key(1));
        let read = Token::parse(&token.text()).unwrap();
        prop_assert_eq!(read.text(), token.text());
        prop_assert_eq!(read.digest(), token.digest());
        prop_assert_eq!(plan_digest(&files()), read.statement().plan.digest);
    }
}
