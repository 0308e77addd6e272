use serde_json::Value;

use crate::{
    checks::check::JsonExpectation,
    json::{order::equal, path::BoundedJsonPath},
};

/// A comparison that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonMismatch {
    /// The expected value, in a few words.
    pub expected: String,
    pub found: String,
    /// True if the comparison was impossible, because the path is invalid.
    pub is_bad: bool,
}

impl JsonExpectation {
    /// Returns the mismatch of a value; `None` if it compares as expected. `quoted` formats a value
    /// for a sentence.
    pub fn mismatch(&self, value: &Value, quoted: impl Fn(&str) -> String) -> Option<JsonMismatch> {
        let path = &self.path;
        let parsed = match BoundedJsonPath::parse(path) {
            Ok(parsed) => parsed,
            Err(bad) => {
                return Some(JsonMismatch {
                    expected: format!("a value at {path}"),
                    found: bad.reason,
                    is_bad: true,
                });
            }
        };
        let selected = parsed.select(value);
        let expected = self.mismatch_of_selected(&selected, &quoted)?;
        let shown = match selected.as_slice() {
            [] => "no value".to_owned(),
            [one] => quoted(&one.to_string()),
            more => format!("{} values", more.len()),
        };
        Some(JsonMismatch { expected, found: shown, is_bad: false })
    }

    /// Returns the expectation for the selected values, if it is not met.
    fn mismatch_of_selected(&self, selected: &[&Value], quoted: impl Fn(&str) -> String) -> Option<String> {
        let path = &self.path;
        if let Some(must_exist) = self.exists
            && must_exist == selected.is_empty()
        {
            let expected = if must_exist { "a value" } else { "no value" };
            return Some(format!("{expected} at {path}"));
        }
        if let Some(count) = self.count
            && count != selected.len()
        {
            return Some(format!("{count} values at {path}"));
        }
        if let Some(value) = &self.equals
            && !matches!(selected, [one] if equal(one, value))
        {
            return Some(format!("{path} to be {}", quoted(&value.to_string())));
        }
        if self.lt.is_some() || self.gt.is_some() {
            let number = match selected {
                [one] => one.as_f64(),
                _ => None,
            };
            if !number.is_some_and(|number| is_within(number, self.gt, self.lt)) {
                let number = format!("{path} to be a number");
                return Some(bounds(&number, self.gt, self.lt));
            }
        }
        None
    }
}

/// True if a number is above one bound and below another.
pub fn is_within(number: f64, above: Option<f64>, below: Option<f64>) -> bool {
    number.is_finite() && above.is_none_or(|b| number > b) && below.is_none_or(|b| number < b)
}

/// Formats bounds.
pub fn bounds(subject: &str, above: Option<f64>, below: Option<f64>) -> String {
    let above = above.map(|bound| format!("above {bound}"));
    let below = below.map(|bound| format!("below {bound}"));
    let both: Vec<String> = above.into_iter().chain(below).collect();
    format!("{subject} {}", both.join(" and "))
}
