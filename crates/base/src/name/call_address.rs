use std::fmt;
use std::str::FromStr;

use super::TaskPath;

/// The address of a call as a user names it: `fix#1.3` is the third model call of the first attempt of `fix`, and
/// `fix#1.3.2` the second tool call that its reply asks for. Without `#1` it is the last attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallAddress {
    /// The task, with its attempt.
    pub task: TaskPath,
    /// The number of the model call in its attempt, from 1.
    pub call: usize,
    /// The number of the tool call in the reply, from 1; `None`: the model call itself.
    pub tool: Option<usize>,
}

/// An error for a text that names no call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid call `{0}`; examples: fix#1.3 (a model call), fix#1.3.2 (a tool call of it), fetch[eu]#2.1, outer/fix#1.3"
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
        write!(f, ".{}", self.call)?;
        self.tool.map_or(Ok(()), |tool| write!(f, ".{tool}"))
    }
}

fn parse(text: &str) -> Option<CallAddress> {
    // The key of an item may have dots.
    let keys_end = text.rfind(']').map_or(0, |at| at + 1);
    let (task, numbers) = text.split_at_checked(keys_end + text.get(keys_end..)?.find('.')?)?;
    let mut numbers =
        numbers.get(1..)?.split('.').map(|number| number.parse().ok().filter(|n: &usize| *n > 0));
    let call = numbers.next()??;
    let tool = match numbers.next() {
        None => None,
        Some(number) => Some(number?),
    };
    let task = task.parse().ok()?;
    numbers.next().is_none().then_some(CallAddress { task, call, tool })
}

#[cfg(test)]
mod tests {
    use super::CallAddress;

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
        ] {
            let error = text.parse::<CallAddress>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("invalid call `{text}`; examples: fix#1.3")), "{error}");
        }
    }
}
