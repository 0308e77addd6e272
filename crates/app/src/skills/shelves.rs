//! The folders in which skills are searched, on the disk.

use std::{
    fs::{self, DirEntry},
    io::ErrorKind,
    path::{Path, PathBuf},
};

use crate::Host;
use wf_skill::{
    DiscoveredSkill, ShelfError, SkillDiscovery, SkillFolderReader, SkillSearchFolder, discover, disk,
    shelves,
};

/// The shelves on the disk.
pub struct SkillShelves {
    root: PathBuf,
    home: PathBuf,
}

impl SkillShelves {
    fn path(&self, search_folder: &SkillSearchFolder) -> PathBuf {
        match search_folder.shown.strip_prefix("~/") {
            Some(below) if search_folder.is_users => self.home.join(below),
            _ => self.root.join(&search_folder.shown),
        }
    }

    /// True if links lead a shelf of the workspace out of it.
    fn leads_out(&self, search_folder: &SkillSearchFolder) -> bool {
        let real = |path: &Path| fs::canonicalize(path).ok();
        let (root, own) = (real(&self.root), real(&self.path(search_folder)));
        let out = root.zip(own).is_some_and(|(root, own)| !own.starts_with(root));
        out && !search_folder.is_users
    }
}

impl SkillShelves {
    /// Returns the folder of a found skill.
    pub fn folder(&self, skill: &DiscoveredSkill) -> PathBuf {
        self.path(&skill.search_folder).join(&skill.folder)
    }
}

impl SkillFolderReader for SkillShelves {
    fn folders(&self, search_folder: &SkillSearchFolder) -> Result<impl Iterator<Item = String>, ShelfError> {
        if self.leads_out(search_folder) {
            return Err(ShelfError::LeadsOut);
        }
        let entries = match fs::read_dir(self.path(search_folder)) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            entries => entries.into_iter().flatten().flatten(),
        };
        // A folder is recognized by its entry: a shelf of many files is not examined file by file.
        let is_folder = |entry: &DirEntry| match entry.file_type() {
            Ok(kind) if kind.is_symlink() => entry.path().is_dir(),
            kind => kind.is_ok_and(|kind| kind.is_dir()),
        };
        Ok(entries.filter(is_folder).map(|entry| entry.file_name().to_string_lossy().into_owned()))
    }

    fn text(&self, search_folder: &SkillSearchFolder, folder: &str) -> Option<Result<String, ShelfError>> {
        let path = self.path(search_folder).join(folder);
        if path.is_symlink() {
            return Some(Err(ShelfError::SkillLink));
        }
        match disk::skill_md(&path) {
            Ok(None) => None,
            Ok(Some((_, bytes))) => Some(String::from_utf8(bytes).map_err(|_| ShelfError::NotText)),
            Err(error) => Some(Err(error.into())),
        }
    }
}

/// Finds the skills of the workspace and of the user; the shelves have the folder of each.
pub fn discover_skills(host: &Host) -> (SkillDiscovery, SkillShelves) {
    let root = host.workspace().root;
    let home = host.var("HOME").map(PathBuf::from);
    let mut folders = shelves();
    let home = home.filter(|home| *home != root && home.is_absolute());
    folders.retain(|search_folder| !search_folder.is_users || home.is_some());
    let shelves = SkillShelves { root, home: home.unwrap_or_default() };
    (discover(&folders, &shelves), shelves)
}
