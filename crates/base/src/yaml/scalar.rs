use std::borrow::Cow;

use serde_json::Number;

use super::YamlValue;

/// Gives a plain scalar its type, by the YAML 1.2 core schema. Values that JSON has no number for,
/// such as `.inf` or an integer beyond 64 bits, stay text.
pub(super) fn plain(text: Cow<'_, str>) -> YamlValue<'_> {
    match &*text {
        "" | "~" | "null" => YamlValue::Null,
        "true" => YamlValue::Bool(true),
        "false" => YamlValue::Bool(false),
        _ => match number(&text) {
            Some(number) => YamlValue::Number(number),
            None => YamlValue::Text(text),
        },
    }
}

fn number(text: &str) -> Option<Number> {
    let first = *text.as_bytes().first()?;
    if !(first.is_ascii_digit() || matches!(first, b'+' | b'-' | b'.')) {
        return None;
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return whole(digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return whole(digits, 8);
    }
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
        let text = text.strip_prefix('+').unwrap_or(text);
        if let Ok(number) = text.parse::<i64>() {
            return Some(number.into());
        }
        return text.parse::<u64>().ok().map(Number::from);
    }
    if is_float(digits) {
        return Number::from_f64(text.parse().ok()?);
    }
    None
}

/// Reads digits in a base, without any sign, which `from_str_radix` would accept.
fn whole(digits: &str, base: u32) -> Option<Number> {
    let plain = digits.chars().all(|c| c.is_digit(base));
    let number = plain.then(|| u64::from_str_radix(digits, base).ok())??;
    Some(number.into())
}

/// True if the text matches `(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_float(text: &str) -> bool {
    let (base, exponent) = match text.split_once(['e', 'E']) {
        Some((base, exponent)) => (base, Some(exponent)),
        None => (text, None),
    };
    let all_digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    let base_fits = match base.split_once('.') {
        Some((before, after)) => all_digits(before) && all_digits(after) && (before.len() + after.len() > 0),
        None => !base.is_empty() && all_digits(base),
    };
    let exponent_fits = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !digits.is_empty() && all_digits(digits)
    });
    base_fits && exponent_fits
}

#[cfg(test)]
mod tests {
    use super::{YamlValue, plain};
    use crate::{
        source::Span,
        yaml::{YamlNode, YamlNotation},
    };
    use serde_json::json;

    #[test]
    fn the_core_schema_and_no_more() {
        for (text, value) in [
            ("", json!(null)),
            ("~", json!(null)),
            ("null", json!(null)),
            ("Null", json!("Null")),
            ("true", json!(true)),
            ("True", json!("True")),
            ("yes", json!("yes")),
            ("on", json!("on")),
            ("NO", json!("NO")),
            ("12", json!(12)),
            ("-12", json!(-12)),
            ("+12", json!(12)),
            ("007", json!(7)),
            ("0x1f", json!(31)),
            ("0o17", json!(15)),
            ("0x+1", json!("0x+1")),
            ("18446744073709551615", json!(u64::MAX)),
            ("99999999999999999999", json!("99999999999999999999")),
            ("1.5", json!(1.5)),
            (".5", json!(0.5)),
            ("1e3", json!(1000.0)),
            ("1e999", json!("1e999")),
            (".inf", json!(".inf")),
            (".", json!(".")),
            ("-", json!("-")),
            ("1_000", json!("1_000")),
            ("12:30", json!("12:30")),
            ("2026-11-21", json!("2026-11-21")),
            ("1.2.3", json!("1.2.3")),
        ] {
            let (value_of_text, span) = (plain(text.into()), Span::default());
            assert_ne!(value_of_text, YamlValue::Bad);
            let node = YamlNode { value: value_of_text, span, notation: YamlNotation::Plain };
            assert_eq!(node.json(), value, "{text}");
        }
    }
}
