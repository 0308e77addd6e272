//! Reads an attempt's reported usage from its output file.
//!
//! A line is `usage.tokens=123` or `usage.cost_usd=0.02`, or a JSON object with the same keys or with
//! `{"usage": {"tokens": 123, "cost_usd": 0.02}}`. Amounts of several lines add up, so each call of a model can add its
//! own. A step declaring an output `usage` keeps that name.

use serde_json::Value;

use wf_core::machine::AttemptUsage;
use wf_model::{JsonObject, Money, MoneyError, RequiredOutput};

use super::output_entry::{OutputEntry, entries};

/// The largest number of tokens in one entry.
const MOST_TOKENS: u64 = 1_000_000_000_000_000;
/// The maximum length of a number of tokens, in characters.
const MAX_TOKEN_DIGITS: usize = 20;
/// The prefix of usage keys.
const USAGE_PREFIX: &str = "usage.";

/// True if a key of an output file reports usage and is not an output.
pub(super) fn is_usage(key: &str, outputs: &[RequiredOutput]) -> bool {
    let own = outputs.iter().any(|output| output.name.as_str() == key);
    !own && (key == "usage" || key.starts_with(USAGE_PREFIX))
}

/// Parses the usage in an output file and returns all errors in it. Valid entries count despite
/// errors: they were used up.
pub fn parse_usage(text: &str, outputs: &[RequiredOutput]) -> (AttemptUsage, Vec<String>) {
    let mut report = ReportedUsage::default();
    for (number, entry) in entries(text) {
        let before = report.problems.len();
        match entry {
            OutputEntry::Line(line) => report.line(line, outputs),
            OutputEntry::Block { key, value } if is_usage(key, outputs) => report.amount(key, value.trim()),
            OutputEntry::Block { .. } | OutputEntry::Unended { .. } => {}
        }
        for problem in report.problems.iter_mut().skip(before) {
            *problem = format!("line {number} of the output file: {problem}");
        }
    }
    (report.usage, report.problems)
}

/// The reason why an amount is not one of usage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum UsageMistake {
    #[error("only `usage.tokens` and `usage.cost_usd` are supported")]
    UnknownKey,
    #[error("the token count may have at most {MAX_TOKEN_DIGITS} digits")]
    ManyDigits,
    #[error("the token count must not be negative")]
    Negative,
    #[error("the token count must be at most {MOST_TOKENS}")]
    ManyTokens,
    #[error("the token count must be a whole number, such as 123")]
    NotWhole,
    #[error(transparent)]
    Cost(#[from] MoneyError),
}

#[derive(Default)]
struct ReportedUsage {
    usage: AttemptUsage,
    problems: Vec<String>,
}

impl ReportedUsage {
    fn line(&mut self, line: &str, outputs: &[RequiredOutput]) {
        if line.trim_start().starts_with('{') {
            let object: JsonObject = serde_json::from_str(line).unwrap_or_default();
            let own = object.iter().filter(|(key, _)| is_usage(key, outputs));
            for (key, value) in own {
                self.value(key, value);
            }
        } else if let Some((key, value)) = line.split_once('=')
            && is_usage(key, outputs)
        {
            self.amount(key, value.trim());
        }
    }

    fn value(&mut self, key: &str, value: &Value) {
        match value {
            Value::Object(parts) if key == "usage" => {
                for (part, value) in parts {
                    self.value(&format!("{USAGE_PREFIX}{part}"), value);
                }
            }
            Value::Number(number) => self.amount(key, &number.to_string()),
            Value::String(text) => self.amount(key, text),
            _ => self.problems.push(format!("`{}` is not a number", short(key))),
        }
    }

    fn amount(&mut self, key: &str, text: &str) {
        match read_amount(key, text) {
            Ok(more) => self.usage = self.usage.plus(more),
            Err(mistake) => {
                self.problems.push(format!("`{}` cannot be {:?}: {mistake}", short(key), short(text)));
            }
        }
    }
}

fn read_amount(key: &str, text: &str) -> Result<AttemptUsage, UsageMistake> {
    match key.strip_prefix(USAGE_PREFIX) {
        Some("tokens") => Ok(AttemptUsage { tokens: tokens(text)?, ..AttemptUsage::default() }),
        Some("cost_usd") => Ok(AttemptUsage { cost: Money::parse(text)?, ..AttemptUsage::default() }),
        _ => Err(UsageMistake::UnknownKey),
    }
}

fn tokens(text: &str) -> Result<u64, UsageMistake> {
    if text.len() > MAX_TOKEN_DIGITS {
        return Err(UsageMistake::ManyDigits);
    }
    if text.starts_with('-') {
        return Err(UsageMistake::Negative);
    }
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let tokens: Option<u64> = text.parse().ok().filter(|_| digits);
    match tokens {
        Some(tokens) if tokens <= MOST_TOKENS => Ok(tokens),
        Some(_) => Err(UsageMistake::ManyTokens),
        None => Err(UsageMistake::NotWhole),
    }
}

fn short(text: &str) -> String {
    text.chars().take(50).collect()
}

#[cfg(test)]
mod tests {
    use super::{MOST_TOKENS, parse_usage};
    use proptest::prelude::*;
    use wf_base::name::Name;
    use wf_core::machine::AttemptUsage;
    use wf_model::{Money, RequiredOutput, ValueSchema};

    fn usage(tokens: u64, micros: u64) -> AttemptUsage {
        AttemptUsage { tokens, cost: Money::of_micros(micros), ..AttemptUsage::default() }
    }

    #[test]
    fn amounts_are_read_and_add_up() {
        for (text, tokens, micros) in [
            ("", 0, 0),
            ("rows=3\nusage.tokens=123\nusage.cost_usd=0.02\n", 123, 20_000),
            ("usage.tokens=1\nusage.tokens=1\r\nusage.tokens= 2 ", 4, 0),
            (r#"{"usage": {"tokens": 1, "cost_usd": 0.1}}"#, 1, 100_000),
            (r#"{"usage.tokens": "7", "usage": {"cost_usd": 1e-05}}"#, 7, 10),
            ("usage.cost_usd=0.1\nusage.cost_usd=0.2", 0, 300_000),
            ("{\"usage\"\nusages.tokens=5", 0, 0),
            ("usage.tokens<<E\n5\nE\nbody<<E\nusage.tokens=7\nE", 5, 0),
        ] {
            assert_eq!(parse_usage(text, &[]), (usage(tokens, micros), vec![]), "{text}");
        }
    }

    #[test]
    fn every_mistake_is_told_and_the_rest_counts() {
        let more = format!("usage.tokens={}", MOST_TOKENS + 1);
        let long = format!("usage.tokens={}", "1".repeat(50));
        let costs = format!("usage.cost_usd={}", "1".repeat(50));
        for (line, part) in [
            ("usage.tokens=-1", "`usage.tokens` cannot be \"-1\": the token count must not be negative"),
            ("usage.tokens=1.5", "must be a whole number"),
            ("usage.tokens=NaN", "must be a whole number"),
            ("usage.tokens=", "must be a whole number"),
            ("usage.cost_usd=-0.5", "cannot be negative"),
            ("usage.cost_usd=NaN", "must be a number of dollars"),
            (r#"{"usage": {"tokens": -1}}"#, "must not be negative"),
            (r#"{"usage": {"tokens": [1]}}"#, "`usage.tokens` is not a number"),
            (r#"{"usage": 5}"#, "only `usage.tokens` and"),
            ("usage.token=5", "only `usage.tokens` and"),
            (&more, "must be at most"),
            (&long, "at most 20 digits"),
            (&costs, "at most 40 characters"),
        ] {
            let (told, problems) = parse_usage(&format!("usage.tokens=5\n{line}"), &[]);
            assert_eq!(told, usage(5, 0), "{line}");
            let [problem] = &problems[..] else {
                panic!("{line}: {problems:?}");
            };
            assert!(problem.contains(part), "{problem} lacks {part}");
            assert!(problem.starts_with("line 2 of the output file: "), "{problem}");
        }
    }

    #[test]
    fn an_output_of_that_name_is_the_steps_own() {
        let own = [RequiredOutput {
            name: Name::parse("usage").unwrap(),
            schema: ValueSchema::new(serde_json::json!({})).unwrap(),
        }];
        let text = "{\"usage\": {\"tokens\": 1}}\nusage.tokens=2";
        assert_eq!(parse_usage(text, &own), (usage(2, 0), vec![]));
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in "(usage[.](tokens|cost_usd)=|\\PC|[-0-9.={}\"\\n]){0,60}") {
            let _ = parse_usage(&text, &[]);
        }
    }
}
