//! The folders in which skills are searched, on the disk.

use std::fs::{self, DirEntry};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::Host;
use wf_skill::{
    DiscoveredSkill, SkillDiscovery, SkillFolderReader, SkillSearchFolder, discover, disk, shelves,
};

/// The shelves on the disk.
pub struct SkillShelves {
    root: PathBuf,
    home: PathBuf,
}

impl SkillShelves {
    fn path(&self, shelf: &SkillSearchFolder) -> PathBuf {
        match shelf.shown.strip_prefix("~/") {
            Some(below) if shelf.is_users => self.home.join(below),
            _ => self.root.join(&shelf.shown),
        }
    }

    /// True if links lead a shelf of the workspace out of it.
    fn leads_out(&self, shelf: &SkillSearchFolder) -> bool {
        let real = |path: &Path| fs::canonicalize(path).ok();
        let (root, own) = (real(&self.root), real(&self.path(shelf)));
        let out = root.zip(own).is_some_and(|(root, own)| !own.starts_with(root));
        out && !shelf.is_users
    }
}

impl SkillShelves {
    /// Returns the folder of a skill that was found.
    pub fn folder(&self, one: &DiscoveredSkill) -> PathBuf {
        self.path(&one.search_folder).join(&one.folder)
    }
}

impl SkillFolderReader for SkillShelves {
    fn folders(&self, shelf: &SkillSearchFolder) -> Result<impl Iterator<Item = String>, String> {
        if self.leads_out(shelf) {
            return Err("links lead out of the workspace".into());
        }
        let entries = match fs::read_dir(self.path(shelf)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(format!("cannot be read: {error}"));
            }
            entries => entries.into_iter().flatten().flatten(),
        };
        // A folder is recognized by its entry: a shelf of many files is not examined file by file.
        let is_folder = |entry: &DirEntry| match entry.file_type() {
            Ok(kind) if kind.is_symlink() => entry.path().is_dir(),
            kind => kind.is_ok_and(|kind| kind.is_dir()),
        };
        Ok(entries.filter(is_folder).map(|entry| entry.file_name().to_string_lossy().into_owned()))
    }

    fn text(&self, shelf: &SkillSearchFolder, folder: &str) -> Option<Result<String, String>> {
        let path = self.path(shelf).join(folder);
        if path.is_symlink() {
            let message = "the directory is a link, which is not followed; replace it with the skill itself";
            return Some(Err(message.into()));
        }
        match disk::skill_md(&path) {
            Ok(None) => None,
            Ok(Some((_, bytes))) => {
                let text = String::from_utf8(bytes);
                Some(text.map_err(|_| "SKILL.md is not UTF-8 text".to_owned()))
            }
            Err(error) => Some(Err(format!("{}; {}", error.problem, error.remedy()))),
        }
    }
}

/// Finds the skills of the workspace and of the user; the shelves have the folder of each.
pub fn discover_skills(host: &Host) -> (SkillDiscovery, SkillShelves) {
    let root = host.workspace().root;
    let home = host.var("HOME").map(PathBuf::from);
    let mut all = shelves();
    let home = home.filter(|home| *home != root && home.is_absolute());
    all.retain(|shelf| !shelf.is_users || home.is_some());
    let own = SkillShelves { root, home: home.unwrap_or_default() };
    (discover(&all, &own), own)
}
