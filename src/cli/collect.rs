use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use super::workspace::{APPROVERS, CONFIG};
use super::{Exit, Failure, Ui, normal, relative};
use crate::skill::SHELVES;
use crate::spec::GATES;

/// The files that are to be checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Plans and other specs.
    pub plans: Vec<PathBuf>,
    /// The SKILL.md of skills.
    pub skills: Vec<PathBuf>,
    /// Configurations, and lists of approvers.
    pub configs: Vec<PathBuf>,
    /// How many Markdown files of folders have no front matter.
    pub skipped: usize,
}

/// The folders of a workspace that hold specs.
const SPECS: [&str; 3] = ["workflows", "goals", GATES];

/// Finds the files that paths mean; without any, those of the workspace.
pub fn collect(ui: &Ui, paths: &[&Path]) -> Result<Collected, Failure> {
    let mut found = Collected::default();
    if paths.is_empty() {
        let root = ui.workspace().root;
        if !is_begun(&root) {
            let root = relative(&root, ui.env.cwd());
            let message = format!("{root} has neither workflows/ nor {CONFIG}");
            let failure = Failure::new(Exit::Usage, message);
            return Err(failure.hint("name what to check, or begin with `wf init`"));
        }
        for folder in SPECS {
            found.folder(&root.join(folder));
        }
        for shelf in SHELVES {
            found.shelf(&root.join(shelf));
        }
        let configs = [root.join(CONFIG), root.join(APPROVERS)].into_iter();
        found.configs.extend(configs.filter(|path| path.is_file()));
    }
    for path in paths {
        let path = normal(&ui.env.cwd().join(path));
        if path.is_dir() {
            found.folder(&path);
        } else if path.exists() {
            found.file(path);
        } else {
            let shown = relative(&path, ui.env.cwd());
            return Err(Failure::new(
                Exit::Usage,
                format!("there is no file {shown}"),
            ));
        }
    }
    Ok(found)
}

impl Collected {
    /// A file that was named is checked, whatever it looks like.
    fn file(&mut self, path: PathBuf) {
        if path.file_name().is_some_and(is_config) {
            self.configs.push(path);
        } else if path.file_name().is_some_and(is_skill) {
            self.skills.push(path);
        } else {
            self.plans.push(path);
        }
    }

    /// Of a shelf, the SKILL.md of each of its folders: what else is there is the skill's own.
    fn shelf(&mut self, shelf: &Path) {
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

    /// Of a folder alone, without those in it, the Markdown files with front matter.
    pub fn top(&mut self, folder: &Path) {
        let entries = WalkDir::new(folder).min_depth(1).max_depth(1).into_iter();
        let files = entries
            .flatten()
            .filter(|entry| entry.file_type().is_file());
        for path in files.map(walkdir::DirEntry::into_path) {
            let is_plan = path.extension().is_some_and(|extension| extension == "md")
                && !path.file_name().is_some_and(is_skill);
            if is_plan && has_front_matter(&path) {
                self.plans.push(path);
            }
        }
    }

    /// Of a folder, the configurations and the Markdown files with front matter.
    pub fn folder(&mut self, folder: &Path) {
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

/// Whether a folder has anything that is checked when nothing is named.
fn is_begun(root: &Path) -> bool {
    let mut folders = SPECS.iter().chain(&SHELVES);
    folders.any(|dir| root.join(dir).is_dir()) || root.join(CONFIG).is_file()
}

fn is_config(name: &std::ffi::OsStr) -> bool {
    name == CONFIG || name == APPROVERS
}

/// Whether a file is what makes its folder a skill.
fn is_skill(name: &std::ffi::OsStr) -> bool {
    name == "SKILL.md" || name == "skill.md"
}

/// Folders in which others' files are put.
fn is_vendored(entry: &walkdir::DirEntry) -> bool {
    let name = entry.file_name();
    entry.file_type().is_dir() && (name == "target" || name == "node_modules")
}

/// Whether a file begins as a spec does; one that cannot be read is left to the loader.
fn has_front_matter(path: &Path) -> bool {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(16).read_to_end(&mut start));
    let text = start.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&start);
    read.is_err() || text.starts_with(b"---\n") || text.starts_with(b"---\r\n")
}

#[cfg(test)]
mod tests {
    use super::Collected;

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
        write(".hidden/d.md", "---\n---\n");
        write("target/e.md", "---\n---\n");
        write("sub/wf.yaml", "");
        write("skills/s/SKILL.md", "no front matter");
        write("notes.txt", "---\n");
        let mut found = Collected::default();
        found.folder(dir.path());
        let expected = Collected {
            plans: vec![dir.path().join("a/c.md"), dir.path().join("b.md")],
            skills: vec![dir.path().join("skills/s/SKILL.md")],
            configs: vec![dir.path().join("sub/wf.yaml")],
            skipped: 1,
        };
        assert_eq!(found, expected);
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
        let mut found = Collected::default();
        found.shelf(dir.path());
        found.shelf(&dir.path().join("none"));
        let skills = ["a/SKILL.md", "b/SKILL.md"].map(|path| dir.path().join(path));
        let expected = Collected {
            skills: skills.to_vec(),
            ..Collected::default()
        };
        assert_eq!(found, expected);
    }
}
