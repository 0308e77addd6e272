//! The files of a workspace that can be checked.

use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use walkdir::WalkDir;

use crate::{APPROVERS, CONFIG, CliExitCode, CommandError, Host, normalize_path, relative_path};
use wf_base::remedy::{Remedy, UserAction};
use wf_lang::GATES;
use wf_skill::SHELVES;

/// The files to check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpecFileSet {
    /// Plans and other specs.
    pub plans: Vec<PathBuf>,
    /// The SKILL.md of skills.
    pub skills: Vec<PathBuf>,
    /// Configurations, and lists of approvers.
    pub configs: Vec<PathBuf>,
    /// The number of Markdown files in folders without front matter.
    pub skipped: usize,
}

/// The folders of a workspace holding specs.
const SPECS: [&str; 3] = ["workflows", "goals", GATES];

/// Finds the files the paths name; without paths, those of the workspace.
pub fn collect(host: &Host, paths: &[&Path]) -> Result<SpecFileSet, CommandError> {
    let mut files = SpecFileSet::default();
    if paths.is_empty() {
        let root = host.workspace().root;
        if !is_auto_checked(&root) {
            let root = relative_path(&root, host.cwd());
            let message = format!("neither workflows/ nor {CONFIG} found in {root}");
            let error = CommandError::new(CliExitCode::Usage, message);
            return Err(error.hint(
                Remedy::from("name the files to check, or create a workspace with `")
                    .action(UserAction::InitWorkspace)
                    .text("`"),
            ));
        }
        for folder in SPECS {
            files.add_folder(&root.join(folder));
        }
        for shelf in SHELVES {
            files.add_shelf(&root.join(shelf));
        }
        let configs = [root.join(CONFIG), root.join(APPROVERS)].into_iter();
        files.configs.extend(configs.filter(|path| path.is_file()));
    }
    for path in paths {
        let path = normalize_path(&host.cwd().join(path));
        if path.is_dir() {
            files.add_folder(&path);
        } else if path.exists() {
            files.add_file(path);
        } else {
            let shown = relative_path(&path, host.cwd());
            return Err(CommandError::new(CliExitCode::Usage, format!("file not found: {shown}")));
        }
    }
    Ok(files)
}

impl SpecFileSet {
    /// Adds a named file, which is checked regardless of its name and content.
    fn add_file(&mut self, path: PathBuf) {
        if path.file_name().is_some_and(is_config) {
            self.configs.push(path);
        } else if path.file_name().is_some_and(is_skill) {
            self.skills.push(path);
        } else {
            self.plans.push(path);
        }
    }

    /// Adds the SKILL.md of each folder of a shelf: the other files there are the skill's own.
    fn add_shelf(&mut self, shelf: &Path) {
        let entries = WalkDir::new(shelf).min_depth(1).max_depth(2);
        let visible = |entry: &walkdir::DirEntry| {
            entry.depth() != 1 || !entry.file_name().as_encoded_bytes().starts_with(b".")
        };
        let entries = entries.sort_by_file_name().into_iter();
        for entry in entries.filter_entry(visible).flatten() {
            if entry.depth() == 2 && is_skill(entry.file_name()) {
                self.skills.push(entry.into_path());
            }
        }
    }

    /// Adds the Markdown files with front matter of a folder, without its subfolders.
    pub fn add_top_level(&mut self, folder: &Path) {
        let entries = WalkDir::new(folder).min_depth(1).max_depth(1).into_iter();
        let files = entries.flatten().filter(|entry| entry.file_type().is_file());
        for path in files.map(walkdir::DirEntry::into_path) {
            let is_plan = path.extension().is_some_and(|extension| extension == "md")
                && !path.file_name().is_some_and(is_skill);
            if is_plan && has_front_matter(&path) {
                self.plans.push(path);
            }
        }
    }

    /// Adds the configurations and the Markdown files with front matter of a folder.
    pub fn add_folder(&mut self, folder: &Path) {
        let hidden = |name: &std::ffi::OsStr| name.as_encoded_bytes().starts_with(b".");
        let visible = |entry: &walkdir::DirEntry| {
            entry.depth() == 0 || !(hidden(entry.file_name()) || is_vendored(entry))
        };
        let entries = WalkDir::new(folder).sort_by_file_name().into_iter();
        for entry in entries.filter_entry(visible).flatten() {
            let path = entry.path();
            if !entry.file_type().is_file() {
                continue;
            }
            if is_config(entry.file_name()) {
                self.configs.push(path.to_path_buf());
            } else if is_skill(entry.file_name()) {
                self.skills.push(path.to_path_buf());
            } else if path.extension().is_some_and(|extension| extension == "md") {
                if has_front_matter(path) {
                    self.plans.push(path.to_path_buf());
                } else {
                    self.skipped += 1;
                }
            }
        }
    }
}

/// True if a folder has files to check by default.
fn is_auto_checked(root: &Path) -> bool {
    let mut folders = SPECS.iter().chain(&SHELVES);
    folders.any(|dir| root.join(dir).is_dir()) || root.join(CONFIG).is_file()
}

fn is_config(name: &std::ffi::OsStr) -> bool {
    name == CONFIG || name == APPROVERS
}

/// True if a file makes its folder a skill.
fn is_skill(name: &std::ffi::OsStr) -> bool {
    name == "SKILL.md" || name == "skill.md"
}

/// True for folders holding third-party files.
fn is_vendored(entry: &walkdir::DirEntry) -> bool {
    let name = entry.file_name();
    entry.file_type().is_dir() && (name == "target" || name == "node_modules")
}

/// True if a file begins as a spec does, or in its place with a mark of git about a conflict; one that cannot be read is
/// left to the loader.
fn has_front_matter(path: &Path) -> bool {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(16).read_to_end(&mut start));
    let text = start.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&start);
    let begins = |start: &[u8]| text.starts_with(start);
    read.is_err() || begins(b"---\n") || begins(b"---\r\n") || begins(b"<<<<<<< ")
}

#[cfg(test)]
mod tests {
    use super::SpecFileSet;

    #[test]
    fn of_a_folder_only_specs_are_taken() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("b.md", "---\nkind: plan\n---\n");
        write("a/c.md", "\u{feff}---\r\nkind: plan\r\n---\r\n");
        write("README.md", "# Read me\n");
        write("d.md", "<<<<<<< HEAD\n---\nkind: plan\n---\n");
        write(".hidden/d.md", "---\n---\n");
        write("target/e.md", "---\n---\n");
        write("sub/wf.yaml", "");
        write("skills/s/SKILL.md", "no front matter");
        write("notes.txt", "---\n");
        let mut files = SpecFileSet::default();
        files.add_folder(dir.path());
        let expected = SpecFileSet {
            plans: vec![dir.path().join("a/c.md"), dir.path().join("b.md"), dir.path().join("d.md")],
            skills: vec![dir.path().join("skills/s/SKILL.md")],
            configs: vec![dir.path().join("sub/wf.yaml")],
            skipped: 1,
        };
        assert_eq!(files, expected);
    }

    #[test]
    fn of_a_shelf_only_skills_are_taken() {
        let dir = tempfile::tempdir().unwrap();
        for path in [
            "b/SKILL.md",
            "a/SKILL.md",
            "a/assets/plan.md",
            "a/deeper/SKILL.md",
            ".a.new/SKILL.md",
            "SKILL.md",
        ] {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "---\n---\n").unwrap();
        }
        let mut files = SpecFileSet::default();
        files.add_shelf(dir.path());
        files.add_shelf(&dir.path().join("none"));
        let skills = ["a/SKILL.md", "b/SKILL.md"].map(|path| dir.path().join(path));
        let expected = SpecFileSet { skills: skills.to_vec(), ..SpecFileSet::default() };
        assert_eq!(files, expected);
    }
}
