use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::target;
use wf_base::untrusted::UntrustedText;

/// The maximum number of bytes read for a tail.
const MAX_TAIL_BYTES: u64 = 64 * 1024;

/// Returns the last lines of a log, from its last 64 KiB, as text that is safe to print, without a
/// final newline. Empty if there is no log.
pub fn tail(path: &Path, lines: usize) -> io::Result<String> {
    let [_, newer] = target::end_paths(path);
    let bytes = match log_end(&newer)? {
        bytes if bytes.is_empty() => log_end(path)?,
        bytes => bytes,
    };
    let text = UntrustedText::printed(&bytes).block();
    let text = text.trim_end();
    let first = text.rmatch_indices('\n').nth(lines.saturating_sub(1)).map_or(0, |(at, _)| at + 1);
    Ok(text.get(first..).unwrap_or_default().to_owned())
}

fn log_end(path: &Path) -> io::Result<Vec<u8>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        opened => opened?,
    };
    let length = file.metadata()?.len();
    let mut bytes = vec![0; usize::try_from(length.min(MAX_TAIL_BYTES)).unwrap_or(0)];
    file.read_exact_at(&mut bytes, length.saturating_sub(MAX_TAIL_BYTES))?;
    Ok(bytes)
}
