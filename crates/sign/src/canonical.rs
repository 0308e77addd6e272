use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

/// Returns the only canonical text of a value (RFC 8785): no white space, keys in the order of
/// their UTF-16 units, numbers as ECMAScript writes them. Whole numbers keep all their digits.
pub fn canonical(value: &Value) -> String {
    let mut text = Vec::new();
    write(value, &mut text);
    into_utf8(text)
}

/// Returns an object as [`canonical()`] text, and the position at which a missing key would be.
pub fn canonical_without(fields: &Map<String, Value>, key: &str) -> (String, usize) {
    let mut text = Vec::new();
    let at = object(fields, key, &mut text);
    (into_utf8(text), at)
}

fn write(value: &Value, text: &mut Vec<u8>) {
    match value {
        Value::Array(items) => {
            text.push(b'[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    text.push(b',');
                }
                write(item, text);
            }
            text.push(b']');
        }
        Value::Object(fields) => {
            object(fields, "", text);
        }
        Value::Number(number) => text.extend_from_slice(digits(number).as_bytes()),
        Value::String(said) => string(said, text),
        Value::Bool(true) => text.extend_from_slice(b"true"),
        Value::Bool(false) => text.extend_from_slice(b"false"),
        Value::Null => text.extend_from_slice(b"null"),
    }
}

/// Writes an object; returns the end of the fields that come before a key.
fn object(fields: &Map<String, Value>, key: &str, text: &mut Vec<u8>) -> usize {
    let mut fields: Vec<_> = fields.iter().collect();
    fields.sort_by(|(one, _), (other, _)| order(one, other));
    text.push(b'{');
    let mut end = text.len();
    for (at, (name, value)) in fields.into_iter().enumerate() {
        if at > 0 {
            text.push(b',');
        }
        string(name, text);
        text.push(b':');
        write(value, text);
        if order(name, key) == Ordering::Less {
            end = text.len();
        }
    }
    text.push(b'}');
    end
}

/// Converts the output, which is always valid UTF-8: nothing is replaced.
fn into_utf8(text: Vec<u8>) -> String {
    String::from_utf8(text).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn string(said: &str, text: &mut Vec<u8>) {
    // A write into memory never fails.
    let _ = serde_json::to_writer(text, said);
}

/// Compares names by their UTF-16 units, which for ASCII is the order of their bytes.
fn order(one: &str, other: &str) -> Ordering {
    if one.is_ascii() && other.is_ascii() {
        one.cmp(other)
    } else {
        one.encode_utf16().cmp(other.encode_utf16())
    }
}

fn digits(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => ecma(float),
        _ => number.to_string(),
    }
}

/// Formats a number as ECMAScript does: the shortest digits that mean it.
fn ecma(float: f64) -> String {
    if float == 0.0 {
        return "0".into();
    }
    let shortest = format!("{float:e}");
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(mantissa) => ("-", mantissa),
        None => ("", mantissa),
    };
    let digits = mantissa.replace('.', "");
    let length = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    let point = exponent + 1;
    let text = if length <= point && point <= 21 {
        format!("{digits}{}", zeros(point - length))
    } else if 0 < point && point <= 21 {
        let (whole, part) = digits.split_at(usize::try_from(point).unwrap_or(0));
        format!("{whole}.{part}")
    } else if -6 < point && point <= 0 {
        format!("0.{}{digits}", zeros(-point))
    } else {
        let (first, rest) = digits.split_at(1);
        let dot = if rest.is_empty() { "" } else { "." };
        let plus = if exponent > 0 { "+" } else { "" };
        format!("{first}{dot}{rest}e{plus}{exponent}")
    };
    format!("{sign}{text}")
}

#[cfg(test)]
mod tests {
    use super::{canonical, canonical_without, ecma};
    use serde_json::json;

    #[test]
    fn a_key_has_its_place_among_the_others() {
        let value = json!({"b": {"a": 1}, "d": [], "a": "}"});
        for (key, rest) in [("", "\"a\":\"}\",\"b\":{\"a\":1},\"d\":[]}"), ("c", ",\"d\":[]}"), ("e", "}")] {
            let (text, at) = canonical_without(value.as_object().unwrap(), key);
            assert_eq!(text, canonical(&value));
            assert_eq!(&text[at..], rest, "{key}");
        }
    }

    #[test]
    fn numbers_are_written_as_ecmascript_does() {
        for (number, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (5e-324, "5e-324"),
            (-5e-324, "-5e-324"),
            (1.797_693_134_862_315_7e308, "1.7976931348623157e+308"),
            (9_007_199_254_740_992.0, "9007199254740992"),
            (295_147_905_179_352_830_000.0, "295147905179352830000"),
            (1e21, "1e+21"),
            (9.999_999_999_999_997e22, "9.999999999999997e+22"),
            (333_333_333.333_333_3, "333333333.3333333"),
            (0.000_001, "0.000001"),
            (0.000_000_1, "1e-7"),
            (4.5, "4.5"),
            (-1.5, "-1.5"),
            (2e-3, "0.002"),
        ] {
            assert_eq!(ecma(number), text);
        }
    }

    #[test]
    fn keys_are_in_order_and_nothing_is_superfluous() {
        let value = json!({"b": [1, true, null, {"z": 1, "a": 2}], "a": "é\n\u{1}/", "\u{20ac}": 1,
            "\u{1f600}": 2, "\u{fb33}": 3, "big": u64::MAX});
        assert_eq!(
            canonical(&value),
            "{\"a\":\"é\\n\\u0001/\",\"b\":[1,true,null,{\"a\":2,\"z\":1}],\
             \"big\":18446744073709551615,\"\u{20ac}\":1,\"\u{1f600}\":2,\"\u{fb33}\":3}"
        );
    }
}
