//! The content of an artifact as a page shows it: a picture, a table, Markdown, or text.
//!
//! It is another's: its text is escaped, and a picture is one of four kinds by its first bytes, whatever its name says. Everything
//! else is saved, never shown.

use std::io::Read;

use serde::Serialize;

use crate::{
    CliExitCode, CommandError,
    records::{OpenedArtifact, open_artifact_with},
    state::reader::StateReader,
};
use wf_base::{digest::Sha256Digest, name::RunId, units};
use wf_lang::document_html;

/// The largest file to show as text, in bytes.
pub(super) const MAX_SHOWN_BYTES: u64 = 1 << 20;

/// The largest picture to show, in bytes.
pub(super) const MAX_IMAGE_BYTES: u64 = 16 << 20;

/// The number of first bytes to know a picture by.
const SIGNATURE_BYTES: u64 = 16;

/// The most rows, columns and characters of a cell of a table.
const MAX_ROWS: usize = 200;
const MAX_COLUMNS: usize = 30;
const MAX_CELL_CHARS: usize = 200;

/// The content of an artifact.
#[derive(Debug, Serialize)]
pub struct FileText {
    pub run: RunId,
    pub digest: Sha256Digest,
    pub path: String,
    pub size: String,
    /// True if it is a picture: it has an address of its own.
    pub is_image: bool,
    /// Its text; absent: it is not text, or too large.
    pub text: Option<String>,
    /// It as HTML, if it is Markdown.
    pub html: Option<String>,
    /// It as a table, if its name is that of one.
    pub table: Option<FileTable>,
}

/// A table in a file, as far as it is shown.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct FileTable {
    /// Its first row.
    pub head: Vec<String>,
    pub rows: Vec<Vec<String>>,
    /// The number of rows left out.
    pub more_rows: usize,
    /// The number of columns left out.
    pub more_columns: usize,
}

/// A picture among the artifacts of a run.
#[derive(Debug)]
pub struct ArtifactImage {
    /// Its media type.
    pub media_type: &'static str,
    pub bytes: Vec<u8>,
}

/// Returns the content of an artifact of a run, by its digest; `None`: it has no such artifact. Of the source of a file, its text alone.
pub fn file_text(
    reader: &StateReader,
    run: &RunId,
    digest: &Sha256Digest,
    is_source: bool,
) -> Result<Option<FileText>, CommandError> {
    let Some(OpenedArtifact { path, mut file }) = open_artifact_with(reader, run, digest)? else {
        return Ok(None);
    };
    let size = file.size();
    let wanted = if size <= MAX_SHOWN_BYTES { MAX_SHOWN_BYTES } else { SIGNATURE_BYTES };
    let bytes = read(&mut file, wanted)?;
    let is_image = !is_source && size <= MAX_IMAGE_BYTES && image_type(&bytes).is_some();
    let is_text = size <= MAX_SHOWN_BYTES && !is_image && !bytes.contains(&0);
    let text = if is_text { String::from_utf8(bytes).ok() } else { None };
    let extension = path.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    let shown = text.as_deref().filter(|_| !is_source);
    let html = shown.filter(|_| matches!(extension.as_str(), "md" | "markdown")).map(document_html);
    let table = match (extension.as_str(), shown) {
        ("csv", Some(text)) => table_of(text, b','),
        ("tsv", Some(text)) => table_of(text, b'\t'),
        _ => None,
    };
    let size = units::size(size);
    Ok(Some(FileText { run: run.clone(), digest: *digest, path, size, is_image, text, html, table }))
}

/// Returns a picture among the artifacts of a run, by its digest; `None`: there is none.
pub fn artifact_image(
    reader: &StateReader,
    run: &RunId,
    digest: &Sha256Digest,
) -> Result<Option<ArtifactImage>, CommandError> {
    let Some(OpenedArtifact { mut file, .. }) = open_artifact_with(reader, run, digest)? else {
        return Ok(None);
    };
    if file.size() > MAX_IMAGE_BYTES {
        return Ok(None);
    }
    let bytes = read(&mut file, MAX_IMAGE_BYTES)?;
    Ok(image_type(&bytes).map(|media_type| ArtifactImage { media_type, bytes }))
}

fn read(file: &mut impl Read, most: u64) -> Result<Vec<u8>, CommandError> {
    let mut bytes = Vec::new();
    let read = file.take(most).read_to_end(&mut bytes);
    read.map_err(|error| {
        CommandError::new(CliExitCode::State, format!("cannot read the stored file: {error}"))
    })?;
    Ok(bytes)
}

/// Returns the media type of a picture by its first bytes. SVG is none: it can have a script.
fn image_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// Returns a table, as far as it is shown; `None`: it has no rows, or is none.
fn table_of(text: &str, delimiter: u8) -> Option<FileTable> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .from_reader(text.as_bytes());
    let (mut rows, mut more_rows, mut columns) = (Vec::new(), 0, 0);
    for record in reader.records() {
        let record = record.ok()?;
        columns = columns.max(record.len());
        if rows.len() > MAX_ROWS {
            more_rows += 1;
            continue;
        }
        let cell = |cell: &str| cell.chars().take(MAX_CELL_CHARS).collect::<String>();
        rows.push(record.iter().take(MAX_COLUMNS).map(cell).collect::<Vec<String>>());
    }
    let head = if rows.is_empty() { return None } else { rows.remove(0) };
    Some(FileTable { head, rows, more_rows, more_columns: columns.saturating_sub(MAX_COLUMNS) })
}

#[cfg(test)]
mod tests {
    use super::{MAX_ROWS, image_type, table_of};

    #[test]
    fn a_picture_is_known_by_its_first_bytes() {
        for (bytes, kind) in [
            (b"\x89PNG\r\n\x1a\n...".as_slice(), Some("image/png")),
            (b"\xff\xd8\xff\xe0", Some("image/jpeg")),
            (b"GIF89a", Some("image/gif")),
            (b"RIFF1234WEBPVP8 ", Some("image/webp")),
            (b"RIFF1234WAVEfmt ", None),
            (b"<svg xmlns='http://www.w3.org/2000/svg'>", None),
            (b"GIF", None),
            (b"", None),
        ] {
            assert_eq!(image_type(bytes), kind, "{bytes:?}");
        }
    }

    #[test]
    fn a_table_is_shown_as_far_as_it_can_be_read() {
        let table = table_of("name,price\n\"a, \"\"b\"\"\nc\",1.00\nd\n", b',').unwrap();
        assert_eq!(table.head, ["name", "price"]);
        assert_eq!(table.rows, [vec!["a, \"b\"\nc", "1.00"], vec!["d"]]);
        let long: String = (0..=MAX_ROWS + 7).map(|row| format!("{row}\tx\n")).collect();
        let table = table_of(&long, b'\t').unwrap();
        assert_eq!((table.rows.len(), table.more_rows, table.more_columns), (MAX_ROWS, 7, 0));
        let wide = table_of(&vec!["x"; 33].join(","), b',').unwrap();
        assert_eq!((wide.head.len(), wide.more_columns), (30, 3));
        assert_eq!(table_of("", b','), None);
    }
}
