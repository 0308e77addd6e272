use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};

use crate::Ui;
use wf_app::{CliExitCode, CommandError, Host, normalize_path, relative_path};
use wf_base::untrusted::untrusted;
use wf_skill::{SHELVES, SkillTextError, disk, disk::SkillFolderProblem, properties};

/// The folders in which skills are not searched.
const SKIPPED_FOLDERS: [&str; 4] = [".git", "node_modules", "target", "__pycache__"];

/// A skill, or a path that was named as one.
pub struct SkillLocation {
    /// The path, as it is shown.
    pub shown: String,
    /// Its folder.
    pub folder: PathBuf,
    /// The folder's own name.
    pub name: String,
    /// The name of its file.
    pub file: &'static str,
    /// The content of the file, or the reason why there is none.
    pub text: Result<String, SkillTextError>,
}

impl SkillLocation {
    /// Returns the properties as the reference package reads them, or its message if it cannot.
    pub fn properties(&self) -> Result<Map<String, Value>, CommandError> {
        let read = match &self.text {
            Ok(text) => properties(text).map_err(|finding| finding.message),
            Err(SkillTextError::NoFile | SkillTextError::NoFolder) => {
                Err(format!("SKILL.md not found in {}", self.shown))
            }
            Err(none) => Err(none.finding(&self.shown).message),
        };
        read.map_err(|reason| {
            let check = format!("for all problems: wf skill validate {}", self.shown);
            CommandError::new(CliExitCode::Invalid, untrusted(&reason).to_string()).hint(check)
        })
    }
}

/// Returns the folder of a skill of the workspace whose name was given in place of a path.
fn named(host: &Host, path: &Path) -> Option<String> {
    let name = path.to_str().filter(|name| !name.contains('/'))?;
    let root = host.workspace().root;
    let mut folders = SHELVES.iter().map(|shelf| root.join(shelf).join(name));
    let folder = folders.find(|folder| folder.is_dir())?;
    Some(untrusted(&relative_path(&folder, host.cwd())).to_string())
}

/// Returns the place that a path names. A path that does not exist is a failure.
pub fn find_skill(ui: &Ui, path: &Path) -> Result<SkillLocation, CommandError> {
    let typed = path;
    let path = normalize_path(&ui.host.cwd().join(path));
    if !path.exists() {
        let finding = SkillTextError::NoPath.finding(&typed.display().to_string());
        let error = CommandError::new(CliExitCode::Usage, untrusted(&finding.message).to_string());
        return Err(match named(&ui.host, typed) {
            Some(folder) => error.hint(format!("name its directory: {folder}")),
            None => error,
        });
    }
    let is_skill_md = path.file_name().is_some_and(|name| name.eq_ignore_ascii_case("skill.md"));
    let folder = match path.parent() {
        Some(parent) if is_skill_md && path.is_file() => parent.to_path_buf(),
        _ => path,
    };
    Ok(read(ui, folder))
}

fn read(ui: &Ui, folder: PathBuf) -> SkillLocation {
    let shown = untrusted(&relative_path(&folder, ui.host.cwd())).to_string();
    let name = folder.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned());
    let (file, text) = match disk::skill_md(&folder) {
        _ if !folder.is_dir() => ("SKILL.md", Err(SkillTextError::NoFolder)),
        Ok(None) => ("SKILL.md", Err(SkillTextError::NoFile)),
        Ok(Some((file, bytes))) => (file, String::from_utf8(bytes).map_err(|_| SkillTextError::NotText)),
        Err(error) => match error.problem {
            SkillFolderProblem::Link => ("SKILL.md", Err(SkillTextError::Link)),
            _ => ("SKILL.md", Err(SkillTextError::Unreadable)),
        },
    };
    SkillLocation { shown, folder, name, file, text }
}

/// Returns the skills that paths name: a skill, its SKILL.md, or all skills below a folder.
pub fn find_skills(ui: &Ui, paths: &[PathBuf]) -> Result<Vec<SkillLocation>, CommandError> {
    let mut locations = Vec::new();
    for path in paths {
        let named = find_skill(ui, path)?;
        if named.text != Err(SkillTextError::NoFile) {
            locations.push(named);
            continue;
        }
        let below = collect(&named.folder);
        if below.is_empty() {
            locations.push(named);
        }
        locations.extend(below.into_iter().map(|folder| read(ui, folder)));
    }
    Ok(locations)
}

/// Returns all folders with a SKILL.md below a folder, in order, without following links.
fn collect(folder: &Path) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    let mut rest = below(folder);
    while let Some(path) = rest.pop() {
        let is_skill = ["SKILL.md", "skill.md"].iter().any(|name| entry_exists(&path.join(name)));
        if is_skill {
            folders.push(path);
        } else {
            rest.extend(below(&path));
        }
    }
    folders
}

/// Returns the folders in a folder, the last first.
fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    let mut below: Vec<PathBuf> = entries.filter(is_folder).map(|entry| entry.path()).collect();
    below.retain(|path| !SKIPPED_FOLDERS.iter().any(|name| path.ends_with(name)));
    below.sort_by(|one, other| other.cmp(one));
    below
}

/// True if an entry of any type exists: a non-file is a finding, and is not passed over.
fn entry_exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}
