use std::fs;
use std::path::{Path, PathBuf};

use crate::cli::{Exit, Failure, Ui, normal, relative};
use crate::report::consent::visible;
use crate::skill::{NoText, disk};

/// How deep skills are looked for below a folder.
const MAX_DEPTH: usize = 6;

/// How many folders are looked at.
const MAX_FOLDERS: usize = 2_000;

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

/// The place that a path means. A path that does not exist, and a SKILL.md that is there and
/// cannot be read, are failures.
pub fn place(ui: &Ui, path: &Path) -> Result<Place, Failure> {
    let given = path;
    let path = normal(&ui.env.cwd().join(path));
    if !path.exists() {
        let message = format!(
            "Path does not exist: {}",
            visible(&given.display().to_string())
        );
        return Err(Failure::new(Exit::Usage, message));
    }
    let is_skill_md = path
        .file_name()
        .is_some_and(|name| name.eq_ignore_ascii_case("skill.md"));
    let folder = match path.parent() {
        Some(parent) if is_skill_md && path.is_file() => parent.to_path_buf(),
        _ => path,
    };
    read(ui, folder)
}

fn read(ui: &Ui, folder: PathBuf) -> Result<Place, Failure> {
    let shown = visible(&relative(&folder, ui.env.cwd()));
    let name = folder
        .file_name()
        .map_or(String::new(), |name| name.to_string_lossy().into_owned());
    let (file, text) = if folder.is_dir() {
        let read = disk::skill_md(&folder).map_err(|error| {
            let message = visible(&error.to_string());
            Failure::new(Exit::Invalid, message).hint(error.remedy())
        })?;
        match read {
            None => ("SKILL.md", Err(NoText::NoFile)),
            Some((file, bytes)) => (file, String::from_utf8(bytes).map_err(|_| NoText::NotText)),
        }
    } else {
        ("SKILL.md", Err(NoText::NoFolder))
    };
    Ok(Place {
        shown,
        folder,
        name,
        file,
        text,
    })
}

/// The skills that paths mean: a skill, its SKILL.md, or all skills below a folder. The second is
/// whether some folders were not looked at.
pub fn places(ui: &Ui, paths: &[PathBuf]) -> Result<(Vec<Place>, bool), Failure> {
    let mut all = Vec::new();
    let mut budget = MAX_FOLDERS;
    let mut is_cut = false;
    for path in paths {
        let named = place(ui, path)?;
        if named.text != Err(NoText::NoFile) {
            all.push(named);
            continue;
        }
        let mut below = Vec::new();
        is_cut |= collect(&named.folder, (MAX_DEPTH, &mut budget), &mut below);
        if below.is_empty() {
            all.push(named);
        }
        for folder in below {
            all.push(read(ui, folder)?);
        }
    }
    Ok((all, is_cut))
}

/// Collects folders with a SKILL.md below a folder, in order, without following links; whether
/// some were not looked at.
fn collect(folder: &Path, (depth, budget): (usize, &mut usize), found: &mut Vec<PathBuf>) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    let mut below: Vec<PathBuf> = entries
        .filter(is_folder)
        .map(|entry| entry.path())
        .collect();
    below.retain(|path| !LEFT_OUT.iter().any(|name| path.ends_with(name)));
    below.sort();
    let mut is_cut = false;
    for path in below {
        if *budget == 0 || depth == 0 {
            return true;
        }
        *budget -= 1;
        if ["SKILL.md", "skill.md"]
            .iter()
            .any(|name| path.join(name).is_file())
        {
            found.push(path);
        } else {
            is_cut |= collect(&path, (depth - 1, budget), found);
        }
    }
    is_cut
}
