use std::{fmt, str::FromStr};

use super::{GateId, Name, TaskPath};

/// The address of a call as a user names it: `fix#1.3` is the third model call of the first attempt of `fix`, and
/// `fix#1.3.2` the second tool call its reply asks for. Without `#1` it is the last attempt.
///
/// Calls no agent made name who did: `fix#1.check.tests.2` is the second call of the judge of the check `tests`,
/// `fix.gate.careful.1` the first of the gate `careful`, `fix#3.planner.1` the first of a planner asked for guidance.
/// Those of the run itself have `run` in place of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallAddress {
    /// The task, with its attempt.
    pub task: TaskPath,
    /// The caller, if it is no agent.
    pub asker: Option<CallAsker>,
    /// The number of the model call of this caller, from 1.
    pub call: usize,
    /// The number of the tool call in the reply, from 1; `None`: the model call itself.
    pub tool: Option<usize>,
}

/// A caller of models that is no agent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallAsker {
    /// The judge of a check.
    Check(Name),
    Gate(GateId),
    Planner,
    Compactor,
}

impl fmt::Display for CallAsker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Check(name) => write!(f, "check.{name}"),
            Self::Gate(name) => write!(f, "gate.{name}"),
            Self::Planner => f.write_str("planner"),
            Self::Compactor => f.write_str("compactor"),
        }
    }
}

/// An error for a text naming no call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid call `{0}`; examples: fix#1.3 (a model call), fix#1.3.2 (a tool call of it), fetch[eu]#2.1, outer/fix#1.3, \
     fix#1.check.tests.1 (a judge), fix.gate.careful.1, run.planner.1"
)]
pub struct CallAddressError(String);

impl FromStr for CallAddress {
    type Err = CallAddressError;

    fn from_str(text: &str) -> Result<Self, CallAddressError> {
        parse(text).ok_or_else(|| CallAddressError(text.to_owned()))
    }
}

impl fmt::Display for CallAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for above in &self.task.above {
            write!(f, "{above}/")?;
        }
        write!(f, "{}", self.task.spot)?;
        if let Some(attempt) = self.task.attempt {
            write!(f, "#{attempt}")?;
        }
        if let Some(asker) = &self.asker {
            write!(f, ".{asker}")?;
        }
        write!(f, ".{}", self.call)?;
        self.tool.map_or(Ok(()), |tool| write!(f, ".{tool}"))
    }
}

fn parse(text: &str) -> Option<CallAddress> {
    // The key of an item may have dots.
    let keys_end = text.rfind(']').map_or(0, |at| at + 1);
    let (task, rest) = text.split_at_checked(keys_end + text.get(keys_end..)?.find('.')?)?;
    let task = task.parse().ok()?;
    let parts: Vec<&str> = rest.get(1..)?.split('.').collect();
    let number = |text: &str| text.parse().ok().filter(|number: &usize| *number > 0);
    let (asker, call, tool) = match parts.as_slice() {
        ["check", name, call] => (Some(CallAsker::Check(Name::parse(name).ok()?)), call, None),
        ["gate", name, call] => (Some(CallAsker::Gate(GateId::parse(name).ok()?)), call, None),
        ["planner", call] => (Some(CallAsker::Planner), call, None),
        ["compactor", call] => (Some(CallAsker::Compactor), call, None),
        [call] => (None, call, None),
        [call, tool] => (None, call, Some(number(tool)?)),
        _ => return None,
    };
    Some(CallAddress { task, asker, call: number(call)?, tool })
}

#[cfg(test)]
mod tests {
    use super::{CallAddress, CallAsker};
    use crate::name::{GateId, Name};

    #[test]
    fn an_address_names_a_model_call_or_a_tool_call() {
        for (text, attempt, call, tool) in [
            ("fix#1.3", Some(1), 3, None),
            ("fix.3", None, 3, None),
            ("fix#2.10.4", Some(2), 10, Some(4)),
            ("fetch[a.b]#2.1", Some(2), 1, None),
            ("outer[2]/fix#1.3.1", Some(1), 3, Some(1)),
        ] {
            let address: CallAddress = text.parse().unwrap();
            assert_eq!((address.task.attempt, address.call, address.tool), (attempt, call, tool), "{text}");
            assert_eq!(address.to_string(), text);
        }
    }

    #[test]
    fn calls_of_others_name_their_caller() {
        let check = CallAsker::Check(Name::parse("tests").unwrap());
        let gate = CallAsker::Gate(GateId::parse("care-ful").unwrap());
        for (text, asker, attempt, call) in [
            ("fix#1.check.tests.2", &check, Some(1), 2),
            ("run.check.tests.1", &check, None, 1),
            ("outer/fix[a.b].gate.care-ful.1", &gate, None, 1),
            ("fix#3.planner.1", &CallAsker::Planner, Some(3), 1),
            ("fix#1.compactor.1", &CallAsker::Compactor, Some(1), 1),
            ("run.planner.4", &CallAsker::Planner, None, 4),
        ] {
            let address: CallAddress = text.parse().unwrap();
            assert_eq!((address.asker.as_ref(), address.task.attempt), (Some(asker), attempt), "{text}");
            assert_eq!((address.call, address.tool, address.to_string()), (call, None, text.to_owned()));
        }
    }

    #[test]
    fn what_names_no_call_is_refused() {
        for text in [
            "",
            ".",
            "fix",
            "fix#1",
            "fix.0",
            "fix.a",
            "fix#1.2.0",
            "fix#1.2.3.4",
            "fix..1",
            "a[b.1",
            "fix#0.1",
            "fix.check.1",
            "fix.check.tests",
            "fix.gate.A b.1",
            "fix.planner.tests.1",
            "fix.planner.0",
        ] {
            let error = text.parse::<CallAddress>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("invalid call `{text}`; examples: fix#1.3")), "{error}");
        }
    }
}
