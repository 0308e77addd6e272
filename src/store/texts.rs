use super::{Reader, StoreError};
use crate::digest::Digest;
use crate::name::RunId;

/// A text that a run goes by: its path, its digest, and what is stored under that.
type Row = (String, [u8; 32], Option<String>);

impl Reader {
    /// The texts that a run runs by: path and content, its own spec first. One that is gone, or is
    /// not what the log says by its digest, is an error.
    pub fn sources(&self, run: &RunId) -> Result<Vec<(String, String)>, StoreError> {
        self.fold(run)?;
        let rows: Vec<Row> = self.all(
            "SELECT path, sources.text, texts.text FROM sources
             LEFT JOIN texts ON digest = sources.text
             WHERE run = (SELECT key FROM runs WHERE id = ?1) AND position >= 0 ORDER BY position",
            [run.as_str()],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )?;
        let texts = rows.into_iter().map(|(path, digest, text)| match text {
            Some(text) if *Digest::of(text.as_bytes()).bytes() == digest => Ok((path, text)),
            Some(_) => Err(self.tampered(run, &path, "is not what the log says")),
            None => Err(self.tampered(run, &path, "is gone")),
        });
        texts.collect()
    }

    /// A text that some run was recorded with, by its digest; `None` also where it was altered.
    pub fn text(&self, digest: &Digest) -> Result<Option<String>, StoreError> {
        let sql = "SELECT text FROM texts WHERE digest = ?1";
        let found: Vec<String> = self.all(sql, [digest.bytes().as_slice()], |row| row.get(0))?;
        let text = found.into_iter().next();
        Ok(text.filter(|text| Digest::of(text.as_bytes()) == *digest))
    }

    fn tampered(&self, run: &RunId, path: &str, how: &str) -> StoreError {
        StoreError::Tampered {
            path: self.folder().database(),
            what: format!(
                "the text `{path}` that run {} was recorded with {how}",
                run.short()
            ),
        }
    }
}
