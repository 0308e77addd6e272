//! Which files may be executed where only some programs may.

use std::fs;
use std::path::{Path, PathBuf};

use super::places::BINS;
use crate::exec::process;

/// What loads programs that share libraries; every such program is executed through one.
const LOADERS: [&str; 4] = ["/lib", "/lib64", "/usr/lib", "/usr/lib64"];

/// The files of these programs, and of what loads them. A program that is nowhere is an error.
pub(super) fn files(names: &[String], path: Option<&str>, cwd: &Path) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    for name in names {
        let found = process::find(name, path, cwd).map_err(|unable| format!("`allow.exec`: {}", unable.why))?;
        let file = fs::canonicalize(&found)
            .map_err(|error| format!("`allow.exec`: {}: {error}", found.display()))?;
        files.push(file);
    }
    files.extend(loaders());
    files.sort();
    files.dedup();
    Ok(files)
}

fn loaders() -> impl Iterator<Item = PathBuf> {
    let entries = LOADERS
        .iter()
        .flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("ld-"));
    named.filter_map(|entry| fs::canonicalize(entry.path()).ok())
}

/// The folders in which programs lie.
pub(super) fn folders(path: Option<&str>) -> Vec<PathBuf> {
    let named = path.unwrap_or_default().split(':').map(PathBuf::from);
    named
        .chain(BINS.iter().map(PathBuf::from))
        .filter(|folder| folder.is_absolute())
        .collect()
}
