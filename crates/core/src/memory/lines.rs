use std::collections::BTreeMap;

use super::Megram;
use wf_base::digest::Sha256Digest;

/// A line that is not a megram, or that contradicts another.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {cause}")]
pub struct BadLine {
    /// The number of the line, from one.
    pub line: usize,
    /// The error.
    pub cause: String,
}

/// Reads megrams as [`write_lines`] writes them: one JSON object per line. `id`, `level`, `f`, `sigma` and
/// `k` may be omitted; they follow from the rest. Empty lines are skipped and duplicates returned once; a
/// megram with the id of another, also of one in `known`, but other content is refused.
pub fn read_lines(text: &str, known: &[Megram]) -> Result<Vec<Megram>, BadLine> {
    let mut seen: BTreeMap<Sha256Digest, Megram> =
        known.iter().map(|megram| (megram.id, megram.clone())).collect();
    let mut read: BTreeMap<Sha256Digest, Megram> = BTreeMap::new();
    let lines = text.lines().enumerate();
    for (at, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |cause: String| BadLine { line: at + 1, cause };
        let megram: Megram = serde_json::from_str(line).map_err(|error| wrong(without_place(&error)))?;
        if let Some(other) = seen.get(&megram.id)
            && !other.same_origin(&megram)
        {
            let id = megram.id.short();
            return Err(wrong(format!("duplicate megram id {id}")));
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

/// Returns the message of serde without its line number, which is always the first.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line 1 ") {
        Some((cause, column)) => format!("{cause}, at {column}"),
        None => text,
    }
}
