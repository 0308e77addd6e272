//! The entries of an output file: lines, and values of several lines.

/// An entry.
#[derive(Debug, PartialEq)]
pub(super) enum OutputEntry<'a> {
    Line(&'a str),
    /// `key<<END`, the lines of the value, `END`.
    Block {
        key: &'a str,
        value: String,
    },
    /// Such a value without an end: the rest of the file.
    Unended {
        end: &'a str,
    },
}

/// Returns the entries of an output file, each with the number of its first line.
pub(super) fn entries(text: &str) -> Vec<(usize, OutputEntry<'_>)> {
    let mut entries = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let entry = match block_start(line) {
            None => OutputEntry::Line(line),
            Some((key, end)) => {
                let mut value = Vec::new();
                let mut block = lines.by_ref().map(|(_, line)| line);
                let ended = block.any(|line| {
                    value.push(line);
                    line == end
                });
                value.pop();
                let value = value.join("\n");
                if ended { OutputEntry::Block { key, value } } else { OutputEntry::Unended { end } }
            }
        };
        entries.push((at + 1, entry));
    }
    entries
}

/// The key of values masked in the log, and not taken as outputs.
const MASK: &str = "mask";

pub(crate) fn masks(text: &str) -> Vec<String> {
    let values = entries(text).into_iter().filter_map(|(_, entry)| match entry {
        OutputEntry::Line(line) => Some(masked_value(line)?.to_owned()),
        OutputEntry::Block { key: MASK, value } => Some(value),
        OutputEntry::Block { .. } | OutputEntry::Unended { .. } => None,
    });
    values.collect()
}

/// Returns the text without the values to be masked. Each leaves empty lines.
pub(crate) fn without_masks(text: &str) -> String {
    let mut lines: Vec<&str> = text.split('\n').collect();
    let entries = entries(text);
    let ends = entries.iter().skip(1).map(|(number, _)| *number).chain([lines.len() + 1]);
    for ((number, entry), end) in entries.iter().zip(ends) {
        let is_mask = match entry {
            OutputEntry::Line(line) => masked_value(line).is_some(),
            OutputEntry::Block { key, .. } => *key == MASK,
            OutputEntry::Unended { .. } => false,
        };
        if is_mask {
            lines.iter_mut().take(end - 1).skip(number - 1).for_each(|line| *line = "");
        }
    }
    lines.join("\n")
}

fn masked_value(line: &str) -> Option<&str> {
    line.split_once('=').filter(|(key, _)| *key == MASK).map(|(_, value)| value)
}

/// Returns the key, and the line ending the value.
fn block_start(line: &str) -> Option<(&str, &str)> {
    let (key, end) = line.split_once("<<")?;
    let is_key = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
    (is_key && !end.is_empty()).then_some((key, end))
}

#[cfg(test)]
mod tests {
    use super::{
        OutputEntry::{Block, Line, Unended},
        entries, masks, without_masks,
    };

    #[test]
    fn a_value_may_have_several_lines() {
        let block = |key, value: &str| Block { key, value: value.into() };
        for (text, found) in [
            (
                "a=1\nb<<END\nx=1\n\n END\nEND\nc=2",
                vec![(1, Line("a=1")), (2, block("b", "x=1\n\n END")), (7, Line("c=2"))],
            ),
            ("b<<END\r\nx\r\nEND\r\n", vec![(1, block("b", "x"))]),
            ("b<<END\nEND", vec![(1, block("b", ""))]),
            ("b<<END\na=1", vec![(1, Unended { end: "END" })]),
            (
                "a=b<<END\n{\"a<<\": 1}\n<<END\nb<<",
                vec![(1, Line("a=b<<END")), (2, Line("{\"a<<\": 1}")), (3, Line("<<END")), (4, Line("b<<"))],
            ),
        ] {
            assert_eq!(entries(text), found, "{text}");
        }
    }

    #[test]
    fn masks_are_no_outputs() {
        let text = "a=1\nmask=tr0ub4dor\nb<<E\nmask=x\nE\nmask<<E\none\ntwo\nE\nc=2\nmask=last";
        assert_eq!(masks(text), ["tr0ub4dor", "one\ntwo", "last"]);
        assert_eq!(without_masks(text), "a=1\n\nb<<E\nmask=x\nE\n\n\n\n\nc=2\n");
        assert_eq!(without_masks("mask<<E\nE\nx=1"), "\n\nx=1");
    }
}
