use std::sync::LazyLock;

use regex::bytes::{Regex, RegexSet, RegexSetBuilder};

use super::signs::{FAILURE_SIGNS, FailureSign, SignPattern};
use crate::machine::WorkExit;
use wf_model::{FailureClass, FailureClassRule};

/// The number of bytes at the end of each output that count.
pub const END: usize = 4 * 1024;

/// The number of last lines of standard error that count.
const ERR_LINES: usize = 40;

/// The number of last lines of standard output that count.
const OUT_LINES: usize = 10;

/// Returns the class of a failure; `None` for success and cancellation. `out` and `err` are the
/// printed output, of which the last lines count.
///
/// The first matching rule decides. If none does, a failure to start has the class it states; else the first
/// sign of [`FAILURE_SIGNS`] decides.
pub fn classify(exit: &WorkExit, out: &[u8], err: &[u8], rules: &[FailureClassRule]) -> Option<FailureClass> {
    if exit.is_success() || matches!(exit, WorkExit::Cancelled) {
        return None;
    }
    let own = match exit {
        WorkExit::Interrupted => return Some(FailureClass::Interrupted),
        WorkExit::Error { failure_class, .. } => Some(*failure_class),
        WorkExit::Denied { .. } => Some(FailureClass::Logical),
        _ => None,
    };
    let failure_class = class_by_rules(exit, out, err, rules).or(own);
    failure_class.or_else(|| Some(sign(exit, out, err).failure_class))
}

/// Returns the class of the first matching rule.
pub(super) fn class_by_rules(
    exit: &WorkExit,
    out: &[u8],
    err: &[u8],
    rules: &[FailureClassRule],
) -> Option<FailureClass> {
    if rules.is_empty() {
        return None;
    }
    let ends = [end(err, ERR_LINES), end(out, OUT_LINES)];
    let ends = ends.map(|end| String::from_utf8_lossy(&end).into_owned());
    let rule = rules.iter().find(|rule| holds(rule, exit, &ends));
    rule.map(|rule| rule.class)
}

fn holds(rule: &FailureClassRule, exit: &WorkExit, ends: &[String]) -> bool {
    let code = match exit {
        WorkExit::Code { code } => Some(*code),
        WorkExit::Completed => Some(0),
        _ => None,
    };
    let signal = match exit {
        WorkExit::Signal { signal } => Some(*signal),
        _ => None,
    };
    let (codes, output) = (&rule.exit_code, &rule.output);
    let any = !codes.is_empty() || rule.signal.is_some() || output.is_some();
    any && (codes.is_empty() || code.is_some_and(|code| codes.contains(&code)))
        && (rule.signal.is_none() || rule.signal == signal)
        && (output.as_ref()).is_none_or(|regex| ends.iter().any(|end| regex.is_match(end)))
}

/// Returns the first sign that is seen.
pub(super) fn sign(exit: &WorkExit, out: &[u8], err: &[u8]) -> &'static FailureSign {
    let (out, err) = last_lines(out, err);
    let said = if err.trim_ascii().is_empty() { &out } else { &err };
    let said = PATTERNS.matches(said);
    let reported = [&out, &err].map(|end| PATTERNS.matches(end));
    let mut first = 0;
    for row in FAILURE_SIGNS {
        let patterns = patterns(row);
        let range = first..first + patterns.len();
        first = range.end;
        let seen = match row.sign {
            SignPattern::TimedOut => *exit == WorkExit::TimedOut,
            SignPattern::Signals(signals) => signal_of(exit).is_some_and(|it| signals.contains(&it)),
            SignPattern::Codes(codes) => {
                matches!(exit, WorkExit::Code { code } if codes.contains(code))
            }
            SignPattern::Reports(_) => range.into_iter().any(|at| reported.iter().any(|set| set.matched(at))),
            SignPattern::Prints(_) => range.into_iter().any(|at| said.matched(at)),
            SignPattern::Rest => true,
        };
        if seen {
            return row;
        }
    }
    &REST
}

const REST: FailureSign =
    FailureSign { meaning: "", sign: SignPattern::Rest, failure_class: FailureClass::Logical };

/// Returns the signal that ended a process, or, by a shell's exit code, the process it ran.
fn signal_of(exit: &WorkExit) -> Option<i32> {
    match exit {
        WorkExit::Signal { signal } => Some(*signal),
        WorkExit::Code { code } => Some(code - 128).filter(|signal| (1..=64).contains(signal)),
        _ => None,
    }
}

/// Returns the last lines of standard output and of standard error, as signs are looked for in them.
pub(super) fn last_lines(out: &[u8], err: &[u8]) -> (Vec<u8>, Vec<u8>) {
    (end(out, OUT_LINES), end(err, ERR_LINES))
}

/// Returns the last lines, whole ones if there are any, without colours. A carriage return starts a
/// new line.
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

fn patterns(sign: &FailureSign) -> &'static [&'static str] {
    match sign.sign {
        SignPattern::Reports(patterns) | SignPattern::Prints(patterns) => patterns,
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

/// The colour codes of terminals.
static PAINT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?-u)\x1b\[[0-9;]*[mK]").expect("it can be compiled"));

/// Returns a pattern of the table as a regular expression.
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
