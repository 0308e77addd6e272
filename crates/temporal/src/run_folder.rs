//! The folder of a run in the state: the logs of its attempts, its transcripts.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use crate::inside::place_inside;
use crate::objects::{ObjectError, Objects};
use crate::order::RunFile;

/// The folder, and what of it was carried already.
pub struct RunFolder {
    folder: PathBuf,
    carried: BTreeMap<PathBuf, (u64, i64, i64)>,
}

impl RunFolder {
    /// Takes the folder of a run.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, carried: BTreeMap::new() }
    }

    /// Stores the files that were written since the last time.
    pub async fn take_new(&mut self, objects: &Objects) -> Result<Vec<RunFile>, ObjectError> {
        let mut taken = Vec::new();
        for entry in WalkDir::new(&self.folder).into_iter().filter_map(Result::ok) {
            let Ok(meta) = entry.metadata() else { continue };
            let stamp = (meta.size(), meta.mtime(), meta.mtime_nsec());
            if !meta.is_file() || self.carried.get(entry.path()) == Some(&stamp) {
                continue;
            }
            let Ok(content) = fs::read(entry.path()) else { continue };
            let path = self.folder.parent().and_then(|runs| entry.path().strip_prefix(runs).ok());
            let Some(path) = path.and_then(Path::to_str).map(str::to_owned) else { continue };
            let digest = objects.put(content).await?;
            taken.push(RunFile { path, digest });
            self.carried.insert(entry.path().to_owned(), stamp);
        }
        Ok(taken)
    }
}

/// Writes files that were carried into the folder of all runs.
pub async fn write_files(folder: &Path, files: &[RunFile], objects: &Objects) -> Result<(), ObjectError> {
    for RunFile { path, digest } in files {
        let place = place_inside(folder, path)?;
        let content = objects.get(digest).await?;
        let written = fs::create_dir_all(place.parent().unwrap_or(folder));
        let written = written.and_then(|()| fs::write(&place, content.as_slice()));
        written.map_err(|cause| ObjectError::File { path: place.display().to_string(), cause })?;
    }
    Ok(())
}
