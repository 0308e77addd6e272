use serde_json::Value;

use super::is_detector;
use super::value::{Looking, Seen};
use crate::gate::Answer;
use crate::model::{Guardrail, OnFind};

/// How many findings are told one by one.
const MOST: usize = 20;

/// What a guardrail says of a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Guarded {
    /// What follows. What is rewritten is not in it: who asks knows whose the value is.
    pub answer: Answer,
    /// The value without what was found, if that is to take its place.
    pub instead: Option<Value>,
}

/// Looks at a value, which is called `place` where findings are told.
pub fn guardrail(guardrail: &Guardrail, value: &Value, place: &str) -> Guarded {
    let unknown = guardrail.detect.iter().find(|name| !is_detector(name));
    if let Some(name) = unknown {
        return Guarded {
            answer: Answer::block(format!("There is no detector `{name}`")),
            instead: None,
        };
    }
    let mut looking = Looking {
        detectors: &guardrail.detect,
        seen: Seen::default(),
        in_key: false,
    };
    looking.look(value, place);
    if looking.seen.0.is_empty() {
        return Guarded {
            answer: Answer::pass(),
            instead: None,
        };
    }
    let told = looking.seen.told();
    let mut instead = None;
    let mut answer = match guardrail.on_find {
        OnFind::Block => Answer::block(format!("Found {told}")),
        OnFind::Ask => Answer::ask(format!("Found {told}")),
        OnFind::Flag => Answer::pass(),
        OnFind::Redact if looking.in_key => Answer::block(format!(
            "Found {told}, and in names of fields nothing is replaced"
        )),
        OnFind::Redact => {
            instead = Some(looking.without(value));
            Answer::pass()
        }
    };
    answer.flags = looking.seen.flags();
    Guarded { answer, instead }
}

impl Seen {
    /// One sentence of what was found, never with it.
    fn told(&self) -> String {
        self.flags().join("; ")
    }

    /// What was found, one by one: the detector, the thing, how often, the place.
    fn flags(&self) -> Vec<String> {
        let all = self.0.iter().take(MOST);
        let mut flags: Vec<String> = all
            .map(|((detector, what, place), count)| match count {
                1 => format!("{detector}: {what} in {place}"),
                count => format!("{detector}: {what} in {place}, {count} times"),
            })
            .collect();
        if self.0.len() > MOST {
            flags.push(format!("and in {} more places", self.0.len() - MOST));
        }
        flags
    }
}
