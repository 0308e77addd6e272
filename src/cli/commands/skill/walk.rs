use std::fs;
use std::path::{Path, PathBuf};

use crate::cli::{Exit, Failure, Ui, normal, relative};
use crate::skill::disk::Refusal;
use crate::skill::{NoText, SHELVES, disk};
use crate::untrusted::untrusted;

/// Folders in which no skill is looked for.
const LEFT_OUT: [&str; 4] = [".git", "node_modules", "target", "__pycache__"];

/// One skill, or what was named as one.
pub struct Place {
    /// The path, as it is shown.
    pub shown: String,
    /// Its folder.
    pub folder: PathBuf,
    /// The folder's own name.
    pub name: String,
    /// The name of its file.
    pub file: &'static str,
    /// What the file holds, or why there is nothing to read.
    pub text: Result<String, NoText>,
}

/// The folder of a skill of the workspace whose name was given in place of a path.
fn named(ui: &Ui, given: &Path) -> Option<String> {
    let name = given.to_str().filter(|name| !name.contains('/'))?;
    let root = ui.workspace().root;
    let mut folders = SHELVES.iter().map(|shelf| root.join(shelf).join(name));
    let found = folders.find(|folder| folder.is_dir())?;
    Some(untrusted(&relative(&found, ui.env.cwd())).to_string())
}

/// The place that a path means. A path that does not exist is a failure.
pub fn place(ui: &Ui, path: &Path) -> Result<Place, Failure> {
    let given = path;
    let path = normal(&ui.env.cwd().join(path));
    if !path.exists() {
        let message = format!(
            "Path does not exist: {}",
            untrusted(&given.display().to_string())
        );
        let failure = Failure::new(Exit::Usage, message);
        return Err(match named(ui, given) {
            Some(folder) => failure.hint(format!("name its folder: {folder}")),
            None => failure,
        });
    }
    let is_skill_md = path
        .file_name()
        .is_some_and(|name| name.eq_ignore_ascii_case("skill.md"));
    let folder = match path.parent() {
        Some(parent) if is_skill_md && path.is_file() => parent.to_path_buf(),
        _ => path,
    };
    Ok(read(ui, folder))
}

fn read(ui: &Ui, folder: PathBuf) -> Place {
    let shown = untrusted(&relative(&folder, ui.env.cwd())).to_string();
    let name = folder
        .file_name()
        .map_or(String::new(), |name| name.to_string_lossy().into_owned());
    let (file, text) = match disk::skill_md(&folder) {
        _ if !folder.is_dir() => ("SKILL.md", Err(NoText::NoFolder)),
        Ok(None) => ("SKILL.md", Err(NoText::NoFile)),
        Ok(Some((file, bytes))) => (file, String::from_utf8(bytes).map_err(|_| NoText::NotText)),
        Err(error) => match error.why {
            Refusal::Link => ("SKILL.md", Err(NoText::Link)),
            _ => ("SKILL.md", Err(NoText::Unreadable)),
        },
    };
    Place {
        shown,
        folder,
        name,
        file,
        text,
    }
}

/// The skills that paths mean: a skill, its SKILL.md, or all skills below a folder.
pub fn places(ui: &Ui, paths: &[PathBuf]) -> Result<Vec<Place>, Failure> {
    let mut all = Vec::new();
    for path in paths {
        let named = place(ui, path)?;
        if named.text != Err(NoText::NoFile) {
            all.push(named);
            continue;
        }
        let below = collect(&named.folder);
        if below.is_empty() {
            all.push(named);
        }
        all.extend(below.into_iter().map(|folder| read(ui, folder)));
    }
    Ok(all)
}

/// All folders with a SKILL.md below a folder, in order, without following links.
fn collect(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut rest = below(folder);
    while let Some(path) = rest.pop() {
        let is_skill = ["SKILL.md", "skill.md"]
            .iter()
            .any(|name| is_there(&path.join(name)));
        if is_skill {
            found.push(path);
        } else {
            rest.extend(below(&path));
        }
    }
    found
}

/// The folders in a folder, the last first.
fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    let mut below: Vec<PathBuf> = entries
        .filter(is_folder)
        .map(|entry| entry.path())
        .collect();
    below.retain(|path| !LEFT_OUT.iter().any(|name| path.ends_with(name)));
    below.sort_by(|one, other| other.cmp(one));
    below
}

/// Whether a name is taken, by whatever: what is no file is a finding, and no reason to pass over.
fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}
