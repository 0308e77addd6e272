use std::sync::LazyLock;

use regex::bytes::{Regex, RegexSet, RegexSetBuilder};

use super::signs::{FAILURE_SIGNS, FailureSign, Sign};
use crate::machine::Exit;
use crate::model::{Class, ClassRule};

/// How much of the end of each output counts, in bytes.
pub const END: usize = 4 * 1024;

/// How many of the last lines of standard error count.
const ERR_LINES: usize = 40;

/// How many of the last lines of standard output count.
const OUT_LINES: usize = 10;

/// Whose fault a failure is; `None` for a success, and for what was cancelled. `out` and `err`
/// are what was printed, of which the last lines count.
///
/// The first rule that holds decides. If none does, what could not be done at all has the class
/// that it says; else the first sign of [`FAILURE_SIGNS`] decides.
pub fn classify(exit: &Exit, out: &[u8], err: &[u8], rules: &[ClassRule]) -> Option<Class> {
    if exit.is_success() || matches!(exit, Exit::Cancelled) {
        return None;
    }
    let own = match exit {
        Exit::Interrupted => return Some(Class::Interrupted),
        Exit::Unable { class, .. } => Some(*class),
        _ => None,
    };
    let class = ruled(exit, out, err, rules).or(own);
    class.or_else(|| Some(sign(exit, out, err).class))
}

/// What the first rule that holds says.
pub(super) fn ruled(exit: &Exit, out: &[u8], err: &[u8], rules: &[ClassRule]) -> Option<Class> {
    if rules.is_empty() {
        return None;
    }
    let ends = [end(err, ERR_LINES), end(out, OUT_LINES)];
    let ends = ends.map(|end| String::from_utf8_lossy(&end).into_owned());
    let rule = rules.iter().find(|rule| holds(rule, exit, &ends));
    rule.map(|rule| rule.class)
}

fn holds(rule: &ClassRule, exit: &Exit, ends: &[String]) -> bool {
    let code = match exit {
        Exit::Code { code } => Some(*code),
        Exit::Done => Some(0),
        _ => None,
    };
    let signal = match exit {
        Exit::Signal { signal } => Some(*signal),
        _ => None,
    };
    let (codes, output) = (&rule.exit_code, &rule.output);
    let any = !codes.is_empty() || rule.signal.is_some() || output.is_some();
    any && (codes.is_empty() || code.is_some_and(|code| codes.contains(&code)))
        && (rule.signal.is_none() || rule.signal == signal)
        && (output.as_ref()).is_none_or(|regex| ends.iter().any(|end| regex.is_match(end)))
}

/// The first sign that is seen.
pub(super) fn sign(exit: &Exit, out: &[u8], err: &[u8]) -> &'static FailureSign {
    let (out, err) = (end(out, OUT_LINES), end(err, ERR_LINES));
    let said = if err.trim_ascii().is_empty() {
        &out
    } else {
        &err
    };
    let said = PATTERNS.matches(said);
    let reported = [&out, &err].map(|end| PATTERNS.matches(end));
    let mut first = 0;
    for row in FAILURE_SIGNS {
        let patterns = patterns(row);
        let range = first..first + patterns.len();
        first = range.end;
        let seen = match row.sign {
            Sign::TimedOut => *exit == Exit::TimedOut,
            Sign::Signals(signals) => signal_of(exit).is_some_and(|it| signals.contains(&it)),
            Sign::Codes(codes) => matches!(exit, Exit::Code { code } if codes.contains(code)),
            Sign::Reports(_) => range
                .into_iter()
                .any(|at| reported.iter().any(|set| set.matched(at))),
            Sign::Prints(_) => range.into_iter().any(|at| said.matched(at)),
            Sign::Rest => true,
        };
        if seen {
            return row;
        }
    }
    &REST
}

const REST: FailureSign = FailureSign {
    what: "",
    sign: Sign::Rest,
    class: Class::Logical,
};

/// The signal that ended a process, or, by a shell's exit code, what it ran.
fn signal_of(exit: &Exit) -> Option<i32> {
    match exit {
        Exit::Signal { signal } => Some(*signal),
        Exit::Code { code } => Some(code - 128).filter(|signal| (1..=64).contains(signal)),
        _ => None,
    }
}

/// The last lines, whole ones if there is any, without colours. What returns to the beginning
/// of a line begins another.
fn end(bytes: &[u8], lines: usize) -> Vec<u8> {
    let bytes = bytes.trim_ascii_end();
    let from = bytes.len().saturating_sub(END);
    let mut kept = bytes.get(from..).unwrap_or_default();
    if from > 0
        && let Some(whole) = memchr::memchr(b'\n', kept)
    {
        kept = kept.get(whole + 1..).unwrap_or_default();
    }
    if let Some(at) = memchr::memrchr_iter(b'\n', kept).nth(lines - 1) {
        kept = kept.get(at + 1..).unwrap_or_default();
    }
    let mut plain = PAINT.replace_all(kept, &b""[..]).into_owned();
    for byte in &mut plain {
        if *byte == b'\r' {
            *byte = b'\n';
        }
    }
    plain
}

fn patterns(row: &FailureSign) -> &'static [&'static str] {
    match row.sign {
        Sign::Reports(patterns) | Sign::Prints(patterns) => patterns,
        _ => &[],
    }
}

/// The patterns of all rows, in their order.
static PATTERNS: LazyLock<RegexSet> = LazyLock::new(|| {
    let all = FAILURE_SIGNS.iter().flat_map(patterns);
    let mut set = RegexSetBuilder::new(all.map(|pattern| regex(pattern)));
    let set = set.unicode(false).multi_line(true).build();
    set.expect("the table has patterns that can be compiled")
});

/// What terminals take for colours.
static PAINT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?-u)\x1b\[[0-9;]*[mK]").expect("it can be compiled"));

/// A pattern of the table as a regular expression.
fn regex(pattern: &str) -> String {
    let (text, is_message) = match pattern.strip_prefix(": ") {
        Some(text) => (text, true),
        None => (pattern, false),
    };
    let text = regex::escape(text)
        .replace('…', ".*")
        .replace("\\#", "[1-9][0-9]*")
        .replace("STATUS", r"(?:408|425|429|5[0-9][0-9])\b");
    if is_message {
        format!("(?i:(?:^|: |\\] |\\) |\\(|message: \"){text}\\b)")
    } else {
        format!("^[ \\t]*{text}[ \\t]*$")
    }
}

#[cfg(test)]
mod tests;
