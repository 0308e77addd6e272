use std::fs::{self, DirEntry};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::Ui;
use wf_base::units::plural;
use wf_base::untrusted::untrusted;
use wf_core::agent::authoring::SkillSummary;
use wf_skill::{
    DiscoveredSkill, OmittedFolders, SkillDiscovery, SkillFolderReader, SkillSearchFolder, discover, disk,
    shelves,
};

/// The shelves on the disk.
pub struct SkillShelves {
    root: PathBuf,
    home: PathBuf,
}

impl SkillShelves {
    /// The folder of a shelf.
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
            Err(error) => Some(Err(format!("{}; {}", error.reason, error.remedy()))),
        }
    }
}

/// Returns the skills of the workspace and of the user, and the folder of each. Omissions are reported.
pub fn find(ui: &Ui) -> (SkillDiscovery, impl Fn(&DiscoveredSkill) -> PathBuf + use<>) {
    let root = ui.host.workspace().root;
    let home = ui.host.var("HOME").map(PathBuf::from);
    let mut all = shelves();
    let home = home.filter(|home| *home != root && home.is_absolute());
    all.retain(|shelf| !shelf.is_users || home.is_some());
    let home = home.unwrap_or_default();
    let own = SkillShelves { root, home };
    let found = discover(&all, &own);
    for part in &found.left_out {
        ui.print_message(&sentence_of(part));
    }
    (found, move |one: &DiscoveredSkill| own.path(&one.shelf).join(&one.folder))
}

/// Returns the skills that the plans of the workspace may use, for a model that writes plans.
pub fn usable_skills(ui: &Ui) -> Vec<SkillSummary> {
    let (all, _) = find(ui);
    let own = all.found.into_iter().filter(|one| one.shadowed_by.is_none() && !one.shelf.is_users);
    let usable = own.filter_map(|one| {
        let description = line(&one.skill.ok()?.description);
        Some(SkillSummary { name: one.name, description })
    });
    usable.collect()
}

/// The parts of shelves that were left out, as JSON.
pub fn left_out_json(found: &SkillDiscovery) -> Vec<Value> {
    let part =
        |part: &OmittedFolders| json!({"shelf": part.shelf, "folders": part.folders, "reason": part.reason});
    found.left_out.iter().map(part).collect()
}

fn sentence_of(part: &OmittedFolders) -> String {
    let shelf = untrusted(&part.shelf).to_string();
    let of_it = match part.folders {
        Some(folders) => format!("{} of {shelf}", plural(folders, "folder")),
        None => shelf,
    };
    let verb = if part.folders.unwrap_or(1) == 1 { "is" } else { "are" };
    format!("{of_it} {verb} left out: {}\n", untrusted(&part.reason))
}

/// Warns of skills that do not load, whatever the answer of the command is.
pub fn warn_of_broken(ui: &Ui, found: &SkillDiscovery) {
    for one in found.found.iter().filter(|one| one.shadowed_by.is_none()) {
        if let Err(findings) = &one.skill {
            let reason: Vec<String> =
                findings.iter().map(|finding| untrusted(&finding.message).to_string()).collect();
            ui.print_message_line(&format!(
                "{} does not load: {}",
                untrusted(&one.shown()),
                reason.join("; ")
            ));
        }
    }
}

/// A text on one line, safe to display.
pub fn line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    untrusted(&words.join(" ")).to_string()
}

/// The first sentence of a description, on one line, cut if it is too long.
pub fn sentence(text: &str) -> String {
    const LONGEST: usize = 100;
    let line = line(text);
    let end = line.find(". ").map_or(line.len(), |dot| dot + 1);
    let first = line.get(..end).unwrap_or(&line);
    if first.chars().count() <= LONGEST {
        return first.to_owned();
    }
    let cut: String = first.chars().take(LONGEST - 1).collect();
    cut.trim_end().to_owned() + "…"
}
