//! The arguments of a tool call as a person reads them: a script as it is, an edit as a diff, a new file as its text.
//!
//! The tools of `wf`, of coding agents and of servers name the same things differently, so the arguments decide, not the
//! tool.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::unified_diff;
use wf_base::units::{fit, plural};
use wf_core::agent::ToolCall;

/// The most characters of a summary.
const SUMMARY_CHARS: usize = 100;

/// A tool call in one line, and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCallText {
    /// The tool and its object: `edit src/a.py +3 −1`.
    pub summary: String,
    /// The file it writes, if it says so.
    pub path: Option<String>,
    /// The lines of an edit; empty: it is none.
    pub diff: Vec<DiffLine>,
    /// The script, the new content or the arguments; empty for an edit.
    pub text: String,
    /// True if the text is a script.
    pub is_script: bool,
}

/// A line of a diff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiffLine {
    pub mark: DiffMark,
    pub text: String,
}

/// The part of a diff to which a line belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DiffMark {
    /// It is in both versions.
    Same,
    Added,
    Removed,
    /// It says where the lines are.
    Place,
}

impl ToolCallText {
    /// Returns the text of a call.
    pub fn of_call(call: &ToolCall) -> Self {
        match serde_json::from_str::<Value>(&call.arguments) {
            Ok(Value::Object(fields)) => Self::of_fields(&call.tool, &fields),
            _ => Self::plain(&call.tool, &call.arguments, call.arguments.clone()),
        }
    }

    fn of_fields(tool: &str, fields: &Map<String, Value>) -> Self {
        let path = text_of(fields, &["path", "file_path", "filename"]);
        let old = text_of(fields, &["old", "old_string", "old_text"]);
        let new = text_of(fields, &["new", "new_string", "new_text"]);
        if let (Some(path), Some(old), Some(new)) = (path, old, new) {
            return Self::edit(tool, path, old, new);
        }
        if let (Some(path), Some(text)) = (path, text_of(fields, &["text", "content"])) {
            let lines = plural(text.lines().count(), "line");
            let written = Some(path.to_owned());
            return Self {
                path: written,
                ..Self::plain(tool, &format!("{path} · {lines}"), text.to_owned())
            };
        }
        if let Some(script) = script_of(fields) {
            let first = script.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            let first = first.trim().to_owned();
            return Self { is_script: true, ..Self::plain(tool, &first, script) };
        }
        let values =
            fields.values().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        let values: Vec<String> = values.collect();
        let text = serde_json::to_string_pretty(fields).unwrap_or_default();
        Self::plain(tool, &values.join(", "), text)
    }

    fn edit(tool: &str, path: &str, old: &str, new: &str) -> Self {
        // The parts of a file: whether its last line ends is not known.
        let whole = |text: &str| {
            if text.is_empty() { String::new() } else { format!("{}\n", text.trim_end_matches('\n')) }
        };
        let diff = unified_diff(path, &whole(old), &whole(new));
        // The first two lines name the file.
        let diff: Vec<DiffLine> = diff.lines().skip(2).map(DiffLine::of_line).collect();
        let count = |mark: DiffMark| diff.iter().filter(|line| line.mark == mark).count();
        let (added, removed) = (count(DiffMark::Added), count(DiffMark::Removed));
        let mut text = Self::plain(tool, &format!("{path} +{added} −{removed}"), String::new());
        (text.path, text.diff) = (Some(path.to_owned()), diff);
        text
    }

    fn plain(tool: &str, object: &str, text: String) -> Self {
        let summary = fit(format!("{tool} {}", object.replace('\n', " ")).trim_end(), SUMMARY_CHARS);
        Self { summary, path: None, diff: Vec::new(), text, is_script: false }
    }

    /// Returns the number of lines that an edit or a new file adds, and of those that an edit removes.
    pub fn changed_lines(&self) -> (usize, usize) {
        let count = |mark: DiffMark| self.diff.iter().filter(|line| line.mark == mark).count();
        let written = if self.diff.is_empty() { self.text.lines().count() } else { 0 };
        (count(DiffMark::Added) + written, count(DiffMark::Removed))
    }
}

impl DiffLine {
    fn of_line(line: &str) -> Self {
        let mark = match line.chars().next() {
            Some('+') => DiffMark::Added,
            Some('-') => DiffMark::Removed,
            Some('@' | '\\') => DiffMark::Place,
            _ => DiffMark::Same,
        };
        Self { mark, text: line.to_owned() }
    }
}

/// Returns the first of some fields that is a text.
fn text_of<'a>(fields: &'a Map<String, Value>, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| fields.get(*name)?.as_str())
}

/// Returns the script that a call runs: a text, or the words of a command.
fn script_of(fields: &Map<String, Value>) -> Option<String> {
    let names = ["script", "command", "cmd"];
    if let Some(script) = text_of(fields, &names) {
        // The script of a skill is named; its arguments are beside it.
        return (!fields.contains_key("skill")).then(|| script.to_owned());
    }
    let words = names.iter().find_map(|name| fields.get(*name)?.as_array())?;
    let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
    Some(words?.join(" "))
}

#[cfg(test)]
mod tests {
    use super::{DiffMark, ToolCallText};
    use serde_json::{Value, json};
    use wf_core::agent::ToolCall;

    fn shown(tool: &str, arguments: &Value) -> ToolCallText {
        let call = ToolCall { id: "1".into(), tool: tool.into(), arguments: arguments.to_string() };
        ToolCallText::of_call(&call)
    }

    #[test]
    fn an_edit_is_a_diff_with_its_numbers() {
        let edit = shown("edit", &json!({"path": "a.py", "old": "a\nb", "new": "a\nc\nd\n"}));
        assert_eq!((edit.summary.as_str(), edit.path.as_deref()), ("edit a.py +2 −1", Some("a.py")));
        assert_eq!(edit.changed_lines(), (2, 1));
        let marks: Vec<DiffMark> = edit.diff.iter().map(|line| line.mark).collect();
        let expected = [DiffMark::Place, DiffMark::Same, DiffMark::Removed, DiffMark::Added, DiffMark::Added];
        assert_eq!((marks.as_slice(), edit.text.as_str()), (&expected[..], ""));
        let other = shown("Edit", &json!({"file_path": "b", "old_string": "", "new_string": "x"}));
        assert_eq!((other.summary.as_str(), other.changed_lines()), ("Edit b +1 −0", (1, 0)));
    }

    #[test]
    fn a_script_a_file_and_other_arguments_are_told_apart() {
        let run = shown("run", &json!({"script": "\ncargo test\ntrue", "timeout_seconds": 5}));
        assert_eq!((run.summary.as_str(), run.is_script), ("run cargo test", true));
        assert_eq!(run.text, "\ncargo test\ntrue");
        assert_eq!(shown("shell", &json!({"command": ["ls", "-l"]})).summary, "shell ls -l");
        let write = shown("write", &json!({"path": "n.txt", "text": "one\ntwo\n"}));
        assert_eq!((write.summary.as_str(), write.changed_lines()), ("write n.txt · 2 lines", (2, 0)));
        let skill = shown("skill", &json!({"skill": "s", "script": "go", "arguments": {"n": 1}}));
        assert_eq!((skill.summary.as_str(), skill.is_script), ("skill s, go, {\"n\":1}", false));
    }

    #[test]
    fn whatever_a_model_wrote_is_one_short_line() {
        let call = |arguments: &str| {
            let call = ToolCall { id: String::new(), tool: "x".into(), arguments: arguments.into() };
            ToolCallText::of_call(&call)
        };
        for arguments in ["", "no json", "[1]", "{\"path\": 1}", "{\"script\": [1]}", "{\"a\": \"b\\nc\"}"] {
            let text = call(arguments);
            assert!(text.summary.starts_with('x') && !text.summary.contains('\n'), "{text:?}");
        }
        assert_eq!(call(&format!("\"{}\"", "é".repeat(1_000_000))).summary.chars().count(), 100);
    }
}
