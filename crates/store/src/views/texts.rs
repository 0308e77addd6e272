use crate::db::reader::StoreReader;
use crate::error::StoreError;
use wf_base::digest::Sha256Digest;
use wf_base::name::RunId;

/// A text of a run: its path, its digest, and the content stored under that.
type SourceTextRow = (String, [u8; 32], Option<String>);

impl StoreReader {
    /// Returns the texts of a run: path and content, its own spec first. A missing text, or one
    /// that does not match its digest in the log, is an error.
    pub fn sources(&self, run: &RunId) -> Result<Vec<(String, String)>, StoreError> {
        self.fold(run)?;
        let rows: Vec<SourceTextRow> = self.all(
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
    pub fn text(&self, digest: &Sha256Digest) -> Result<Option<String>, StoreError> {
        let sql = "SELECT text FROM source_texts WHERE digest = ?1";
        let found: Vec<String> = self.all(sql, [digest.bytes().as_slice()], |row| row.get(0))?;
        let text = found.into_iter().next();
        Ok(text.filter(|text| Sha256Digest::of_bytes(text.as_bytes()) == *digest))
    }

    fn tampered_text(&self, run: &RunId, path: &str, how: &str) -> StoreError {
        StoreError::Tampered {
            path: self.folder().database(),
            what: format!("text `{path}` recorded for run {} {how}", run.short()),
        }
    }
}
