use std::io;
use std::path::Path;

use super::{RunLogs, target};
use wf_base::untrusted::UntrustedText;

/// The maximum number of bytes read for a tail.
const MAX_TAIL_BYTES: u64 = 64 * 1024;

/// Returns the last lines of a log.
pub(super) fn tail(logs: &RunLogs, path: &Path, lines: usize) -> io::Result<String> {
    let [_, newer] = target::end_paths(path);
    let mut bytes = Vec::new();
    for part in [newer.as_path(), path] {
        if let (true, Some(cursor)) = (bytes.is_empty(), logs.cursor(part)?) {
            bytes = cursor.last_bytes(MAX_TAIL_BYTES)?;
        }
    }
    let text = UntrustedText::printed(&bytes).block();
    let text = text.trim_end();
    let first = text.rmatch_indices('\n').nth(lines.saturating_sub(1)).map_or(0, |(at, _)| at + 1);
    Ok(text.get(first..).unwrap_or_default().to_owned())
}
