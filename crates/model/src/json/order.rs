//! The comparison of JSON values, the same in expressions and in checks: numbers by what they mean, not by how
//! they are written.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// True if values are equal; a whole number equals itself written with a fraction of zero.
pub(crate) fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(_), Value::Number(_)) => order(left, right) == Some(Ordering::Equal),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            let in_b = |(key, value): (&String, &Value)| b.get(key).is_some_and(|v| equal(value, v));
            a.len() == b.len() && a.iter().all(in_b)
        }
        _ => left == right,
    }
}

/// Compares two numbers or two texts; nothing else is ordered.
pub(crate) fn order(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        (Value::Number(a), Value::Number(b)) => match (whole(a), whole(b)) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
        },
        _ => None,
    }
}

/// Returns a number as an integer if it is exactly whole.
fn whole(number: &Number) -> Option<i128> {
    if !number.is_f64() {
        return number.as_i128();
    }
    let number = number.as_f64()?;
    let bound = 2.0_f64.powi(100);
    #[expect(clippy::cast_possible_truncation, reason = "it is whole, and within bounds")]
    (number.fract() == 0.0 && number.abs() < bound).then_some(number as i128)
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use serde_json::json;

    use super::{equal, order};

    #[test]
    fn numbers_are_compared_by_their_value() {
        let exact = 9_007_199_254_740_993_u64;
        for (left, right, expected) in [
            (json!(1), json!(1.0), Some(Ordering::Equal)),
            (json!(-0.0), json!(0), Some(Ordering::Equal)),
            (json!(u64::MAX), json!(-1), Some(Ordering::Greater)),
            (json!(1.5), json!(2), Some(Ordering::Less)),
            (json!(1e300), json!(u64::MAX), Some(Ordering::Greater)),
            // The nearest float is one less.
            (json!(exact), json!(9_007_199_254_740_992.0), Some(Ordering::Greater)),
            (json!("b"), json!("a"), Some(Ordering::Greater)),
            (json!("1"), json!(1), None),
        ] {
            assert_eq!(order(&left, &right), expected, "{left} {right}");
            assert_eq!(equal(&left, &right), expected == Some(Ordering::Equal), "{left} {right}");
        }
    }

    #[test]
    fn parts_are_compared_one_by_one() {
        assert!(equal(&json!({"a": [1, {"b": 2.0}]}), &json!({"a": [1.0, {"b": 2}]})));
        for other in [json!({"a": [1]}), json!({"a": [2, {"b": 2}]}), json!({"b": [1, {"b": 2}]}), json!([])]
        {
            assert!(!equal(&json!({"a": [1, {"b": 2}]}), &other), "{other}");
        }
    }
}
