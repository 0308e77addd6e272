use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::Name;

/// A task as a user names it: `build`, `fetch[2]`, `fetch[eu]#3`, `all/docs[2]/build`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskPath {
    /// The tasks of the enclosing runs, outermost first.
    pub above: Vec<TaskRef>,
    pub spot: TaskRef,
    /// The attempt; `None`: the last.
    pub attempt: Option<u32>,
}

/// A task in one run, as a user names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskRef {
    pub step: Name,
    /// The item, by its index or its key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
}

/// An error for a text naming no task.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid step name `{0}`; examples: build, fetch[2], fetch[eu]#3, outer/inner")]
pub struct TaskPathError(pub String);

impl fmt::Display for TaskRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.item {
            Some(item) => write!(f, "{}[{item}]", self.step),
            None => write!(f, "{}", self.step),
        }
    }
}

impl FromStr for TaskPath {
    type Err = TaskPathError;

    fn from_str(text: &str) -> Result<Self, TaskPathError> {
        parse(text).ok_or_else(|| TaskPathError(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<TaskPath> {
    let (path, attempt) = match text.rsplit_once('#') {
        // The key of an item may contain one, too.
        Some((_, rest)) if rest.contains(']') => (text, None),
        Some((path, number)) => (path, Some(number.parse().ok().filter(|n| *n > 0)?)),
        None => (text, None),
    };
    let mut spots = Vec::new();
    let mut rest = path;
    loop {
        let (spot, after) = spot(rest)?;
        spots.push(spot);
        match after.strip_prefix('/') {
            Some(next) => rest = next,
            None if after.is_empty() => break,
            None => return None,
        }
    }
    let spot = spots.pop()?;
    Some(TaskPath { above: spots, spot, attempt })
}

/// Reads the first task of a text, and returns the rest.
fn spot(text: &str) -> Option<(TaskRef, &str)> {
    let end = text.find(['[', '/']).unwrap_or(text.len());
    let (step, mut after) = text.split_at_checked(end)?;
    let step = Name::parse(step).ok()?;
    let mut item = None;
    if let Some(inner) = after.strip_prefix('[') {
        let (key, rest) = inner.split_at_checked(closing_bracket(inner)?)?;
        item = Some(key.to_owned());
        after = rest.strip_prefix(']')?;
    }
    Some((TaskRef { step, item }, after))
}

/// Returns the place of the bracket that closes one which was opened before the text; brackets in between are in pairs.
fn closing_bracket(text: &str) -> Option<usize> {
    let mut open = 1;
    text.char_indices().find_map(|(at, c)| {
        match c {
            '[' => open += 1,
            ']' => open -= 1,
            _ => {}
        }
        (open == 0).then_some(at)
    })
}

/// True if the brackets of the key of an item are in pairs, so it can be named in brackets.
pub fn has_paired_brackets(key: &str) -> bool {
    closing_bracket(&format!("{key}]")) == Some(key.len())
}

#[cfg(test)]
mod tests {
    use super::{TaskPath, TaskRef, has_paired_brackets};
    use crate::name::Name;

    fn spot(step: &str, item: Option<&str>) -> TaskRef {
        TaskRef { step: Name::parse(step).unwrap(), item: item.map(str::to_owned) }
    }

    #[test]
    fn steps_are_named_as_they_are_shown() {
        for (text, above, own, attempt) in [
            ("build", vec![], spot("build", None), None),
            ("fetch[2]", vec![], spot("fetch", Some("2")), None),
            ("fetch[a/b]#3", vec![], spot("fetch", Some("a/b")), Some(3)),
            ("lint[app/[id]/page.tsx]#2", vec![], spot("lint", Some("app/[id]/page.tsx")), Some(2)),
            ("fetch[a#b]", vec![], spot("fetch", Some("a#b")), None),
            ("fetch[a#1]#3", vec![], spot("fetch", Some("a#1")), Some(3)),
            (
                "all/docs[1]/build#2",
                vec![spot("all", None), spot("docs", Some("1"))],
                spot("build", None),
                Some(2),
            ),
        ] {
            let expected = TaskPath { above, spot: own, attempt };
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn other_texts_name_nothing() {
        for text in ["", "Build", "a#0", "a#x", "a[1", "a/", "/a", "a[1]b", "a#1#2", "a[b[c]", "a[b]c]"] {
            assert!(text.parse::<TaskPath>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_key_can_be_named_if_its_brackets_are_in_pairs() {
        assert!(["", "a", "[a]", "a/[b]/[c[d]]"].iter().all(|key| has_paired_brackets(key)));
        assert!(!["[", "]", "]a[", "[a]]"].iter().any(|key| has_paired_brackets(key)));
    }
}
