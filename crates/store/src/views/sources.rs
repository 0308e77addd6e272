//! The texts a run executes.

use crate::{db::reader::StoreReader, error::StoreError};
use wf_base::{digest::Sha256Digest, name::RunId};

/// A text of a run: its path, its digest, and the content stored under that.
type SourceTextRow = (String, [u8; 32], Option<String>);

/// The tables `run_sources` and `source_texts`.
#[derive(Clone, Copy, Debug)]
pub struct SourceTable<S>(pub(crate) S);

impl SourceTable<&StoreReader> {
    /// Returns the texts of a run: path and content, its own spec first. A missing text, or one
    /// that does not match its digest in the log, is an error.
    pub fn of_run(self, run: &RunId) -> Result<Vec<(String, String)>, StoreError> {
        self.0.fold(run)?;
        let rows: Vec<SourceTextRow> = self.0.all(
            "SELECT path, run_sources.text, source_texts.text FROM run_sources
             LEFT JOIN source_texts ON digest = run_sources.text
             WHERE run = (SELECT key FROM runs WHERE id = ?1) AND position >= 0 ORDER BY position",
            [run.as_str()],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )?;
        let texts = rows.into_iter().map(|(path, digest, text)| match text {
            Some(text) if *Sha256Digest::of_bytes(text.as_bytes()).bytes() == digest => Ok((path, text)),
            Some(_) => Err(self.tampered_text(run, &path, "differs from the log")),
            None => Err(self.tampered_text(run, &path, "is missing")),
        });
        texts.collect()
    }

    /// Returns a text of any run by its digest; `None` also if it was altered.
    pub fn text(self, digest: &Sha256Digest) -> Result<Option<String>, StoreError> {
        let sql = "SELECT text FROM source_texts WHERE digest = ?1";
        let found: Vec<String> = self.0.all(sql, [digest.bytes().as_slice()], |row| row.get(0))?;
        let text = found.into_iter().next();
        Ok(text.filter(|text| Sha256Digest::of_bytes(text.as_bytes()) == *digest))
    }

    /// Returns the size of the texts a run executes, in bytes.
    pub fn size(self, run: &RunId) -> Result<u64, StoreError> {
        self.0.fold(run)?;
        let sql = "SELECT sum(octet_length(source_texts.text)) FROM run_sources
             JOIN source_texts ON source_texts.digest = run_sources.text
             WHERE run = (SELECT key FROM runs WHERE id = ?1) AND position >= 0";
        let bytes: Option<Option<i64>> = self.0.query_one(sql, [run.as_str()], |row| row.get(0))?;
        Ok(bytes.flatten().unwrap_or_default().unsigned_abs())
    }

    fn tampered_text(self, run: &RunId, path: &str, how: &str) -> StoreError {
        StoreError::Tampered {
            path: self.0.folder().database(),
            what: format!("text `{path}` recorded for run {} {how}", run.short()),
        }
    }
}
