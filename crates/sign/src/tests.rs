//! Public vectors of odd keys and signatures: see `tests/vectors/README.md`.

use serde_json::Value;

use super::{BadKey, PublicKey};
use crate::key::unhex;

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap()
}

fn holds(public: &str, message: &str, signature: &str) -> Result<bool, BadKey> {
    let key = PublicKey::from_hex(public)?;
    Ok(key.has_signed(&unhex(message).unwrap(), &unhex(signature).unwrap()))
}

/// According to the project's table, a verifier that accepts no part of small order and nothing
/// with two encodings accepts the seventh vector and no other.
#[test]
fn speccheck() {
    let cases: Vec<Value> =
        serde_json::from_str(include_str!("../../../tests/vectors/speccheck.json")).unwrap();
    let holds = |case: &Value| holds(text(case, "pub_key"), text(case, "message"), text(case, "signature"));
    let held: Vec<usize> = (0..cases.len()).filter(|at| holds(&cases[*at]) == Ok(true)).collect();
    assert_eq!((cases.len(), held), (17, vec![6]));
    for weak in [0, 1, 2, 3] {
        assert_eq!(holds(&cases[weak]), Err(BadKey::Weak), "{weak}");
    }
}

#[test]
fn wycheproof() {
    let all: Value = serde_json::from_str(include_str!("../../../tests/vectors/wycheproof.json")).unwrap();
    let tests = all.get("tests").and_then(Value::as_array).unwrap();
    assert_eq!(tests.len(), 29);
    for test in tests {
        let held = holds(text(&all, "pk"), text(test, "msg"), text(test, "sig"));
        assert_eq!(held, Ok(text(test, "result") == "valid"), "{test}");
    }
}
