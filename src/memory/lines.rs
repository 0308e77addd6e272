use std::collections::BTreeMap;

use super::Megram;
use crate::digest::Digest;

/// A line is no megram, or one that contradicts another.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {cause}")]
pub struct BadLine {
    /// The number of the line, from one.
    pub line: usize,
    /// What is wrong.
    pub cause: String,
}

/// Reads megrams as [`write_lines`] writes them: one JSON object a line. `id`, `level`, `f`, `sigma`
/// and `k` may be left out; they follow from the rest. A line that is empty is passed over. What is
/// there twice is given once; what has the id of another and says something else is refused, also
/// if the other is one of `known`.
pub fn read_lines(text: &str, known: &[Megram]) -> Result<Vec<Megram>, BadLine> {
    let mut seen: BTreeMap<Digest, Megram> = known
        .iter()
        .map(|megram| (megram.id, megram.clone()))
        .collect();
    let mut read: BTreeMap<Digest, Megram> = BTreeMap::new();
    let lines = text.lines().enumerate();
    for (at, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |cause: String| BadLine {
            line: at + 1,
            cause,
        };
        let megram: Megram =
            serde_json::from_str(line).map_err(|error| wrong(without_place(&error)))?;
        if let Some(other) = seen.get(&megram.id)
            && !other.is_made_like(&megram)
        {
            let id = megram.id.short();
            return Err(wrong(format!("another megram has the id {id}")));
        }
        seen.insert(megram.id, megram.clone());
        read.entry(megram.id).or_insert(megram);
    }
    let mut read: Vec<Megram> = read.into_values().collect();
    read.sort_by_key(|megram| (megram.created, megram.id));
    Ok(read)
}

/// Writes megrams, one JSON object a line.
pub fn write_lines(megrams: &[Megram]) -> String {
    let line = |megram| serde_json::to_string(megram).unwrap_or_default() + "\n";
    megrams.iter().map(line).collect()
}

/// What serde says, without its line, which is always the first.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line 1 ") {
        Some((cause, column)) => format!("{cause}, at {column}"),
        None => text,
    }
}
