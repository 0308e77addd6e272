use std::{fmt::Display, time::Duration};

use serde_json::Value;

use super::exact::{exact_duration, weight};
use crate::{
    expr::{Expr, Template},
    failures::retry::FailureClass,
    json::{path::BoundedJsonPath, schema::ValueSchema},
    plans::{agent::AgentTool, generated::EnvelopeExecutor},
    programs::{fetch_host::FetchHost, script::EnvVar},
    schedule::ScheduleExclusion,
};
use wf_base::name::{Name, PlanId, SkillName};

/// The value of a key, as an approver reads it.
pub trait KeyValue {
    /// Returns its lines: none if it is not set, one for each entry of a list or a mapping.
    fn lines(&self) -> Vec<KeyLine>;
}

/// One line of a key.
pub struct KeyLine {
    /// The end of the key of an entry: `.NAME` in a mapping, `[TEXT]` in a list.
    pub suffix: String,
    pub text: String,
    /// The number to compare with that of another version.
    pub amount: f64,
}

impl KeyLine {
    fn one(text: impl Into<String>, amount: f64) -> Vec<Self> {
        vec![Self { suffix: String::new(), text: text.into(), amount }]
    }

    fn entry(name: &dyn Display, value: &dyn KeyValue) -> Vec<Self> {
        let lines = value.lines().into_iter();
        lines.map(|line| Self { suffix: format!(".{name}"), ..line }).collect()
    }
}

impl<T: KeyValue + ?Sized> KeyValue for &T {
    fn lines(&self) -> Vec<KeyLine> {
        (**self).lines()
    }
}

impl<T: KeyValue> KeyValue for Option<T> {
    fn lines(&self) -> Vec<KeyLine> {
        self.as_ref().map(KeyValue::lines).unwrap_or_default()
    }
}

impl<T: KeyValue> KeyValue for Vec<T> {
    fn lines(&self) -> Vec<KeyLine> {
        let lines = self.iter().flat_map(KeyValue::lines);
        let lines = lines.map(|line| {
            let suffix = if line.suffix.is_empty() { format!("[{}]", line.text) } else { line.suffix };
            KeyLine { suffix, ..line }
        });
        lines.collect()
    }
}

impl<N: Display> KeyValue for (N, Template) {
    fn lines(&self) -> Vec<KeyLine> {
        KeyLine::entry(&self.0, &self.1)
    }
}

impl<N: Display> KeyValue for (N, String) {
    fn lines(&self) -> Vec<KeyLine> {
        KeyLine::entry(&self.0, &self.1)
    }
}

impl KeyValue for EnvVar {
    fn lines(&self) -> Vec<KeyLine> {
        KeyLine::entry(&self.name, &self.value)
    }
}

/// Lets values be read as a text, with a number where it matters if there is more of them.
macro_rules! key_values {
    ($($value:ident: $($type:ty),+ => $text:expr, $amount:expr;)+) => { $($(
        impl KeyValue for $type {
            fn lines(&self) -> Vec<KeyLine> {
                let $value = self;
                KeyLine::one($text, $amount)
            }
        }
    )+)+ };
}

key_values! {
    text: str, String => text, 0.0;
    weighed: (&str, f64) => weighed.0, weighed.1;
    weighed: (String, f64) => weighed.0.as_str(), weighed.1;
    count: u32 => count.to_string(), f64::from(*count);
    count: u64 => count.to_string(), weight(*count);
    count: usize => count.to_string(), 0.0;
    number: f64 => number.to_string(), *number;
    flag: bool => flag.to_string(), f64::from(u8::from(*flag));
    time: Duration => exact_duration(*time), time.as_secs_f64();
    word: AgentTool, BoundedJsonPath, EnvelopeExecutor, FailureClass, FetchHost, Name, PlanId, ScheduleExclusion,
        SkillName, Value => word.to_string(), 0.0;
    schema: ValueSchema => schema.text().to_string(), 0.0;
    template: Template => template.source(), 0.0;
    condition: Expr => condition.source(), 0.0;
}
