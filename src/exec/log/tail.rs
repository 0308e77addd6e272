use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::target;
use crate::untrusted::Untrusted;

/// The most that a tail looks at, in bytes.
const MOST: u64 = 64 * 1024;

/// The last lines of a log, of its last 64 KiB, as text that is safe to look at, without a final line end.
/// Empty if there is no log.
pub fn tail(path: &Path, lines: usize) -> io::Result<String> {
    let [_, newer] = target::ends(path);
    let bytes = match end_of(&newer)? {
        bytes if bytes.is_empty() => end_of(path)?,
        bytes => bytes,
    };
    let text = Untrusted::printed(&bytes).block();
    let text = text.trim_end();
    let first = text
        .rmatch_indices('\n')
        .nth(lines.saturating_sub(1))
        .map_or(0, |(at, _)| at + 1);
    Ok(text.get(first..).unwrap_or_default().to_owned())
}

fn end_of(path: &Path) -> io::Result<Vec<u8>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        opened => opened?,
    };
    let length = file.metadata()?.len();
    let mut bytes = vec![0; usize::try_from(length.min(MOST)).unwrap_or(0)];
    file.read_exact_at(&mut bytes, length.saturating_sub(MOST))?;
    Ok(bytes)
}
