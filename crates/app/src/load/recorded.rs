//! The texts that runs were recorded with.

use wf_base::name::RunId;
use wf_lang::InMemoryFiles;
use wf_store::{StoreError, StoreReader};

/// The texts that a run was recorded with.
pub(super) struct RecordedFiles {
    pub(super) files: InMemoryFiles,
    /// The outermost run that it is part of.
    pub(super) top: RunId,
}

impl RecordedFiles {
    /// Reads them. A nested run has its text from the run that it is part of, unless that made it.
    pub(super) fn of(reader: &StoreReader, run: &RunId) -> Result<Self, StoreError> {
        let (mut files, mut top) = (memory_files(reader.sources(run)?), run.clone());
        while let Some((above, _)) = reader.run(&top)?.parent {
            top = above;
            for (path, text) in memory_files(reader.sources(&top)?).0 {
                files.0.entry(path).or_insert(text);
            }
        }
        Ok(Self { files, top })
    }
}

/// Recorded texts as files.
pub(super) fn memory_files(texts: Vec<(String, String)>) -> InMemoryFiles {
    let files = texts.into_iter();
    InMemoryFiles(files.map(|(path, text)| (path, text.into_bytes())).collect())
}
