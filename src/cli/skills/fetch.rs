//! Gets the files of a skill from where it comes from.

use super::git;
use crate::cli::{Exit, Failure, Ui, normal};
use crate::skill::{Bundle, Origin, bundled, disk};

/// The files of a skill, and what is written down of where they came from.
pub struct Fetched {
    /// The files.
    pub bundle: Bundle,
    /// Where they came from, as the lock writes it.
    pub source: String,
    /// The commit, if it was git.
    pub commit: Option<String>,
    /// The last part of where it came from: its name, if it says no other.
    pub folder: String,
}

/// Gets the files.
pub fn fetch(ui: &Ui, said: &str) -> Result<Fetched, Failure> {
    let origin = Origin::parse(said).map_err(|bad| {
        let message = format!("`{}` is no source of a skill: {bad}", said.escape_debug());
        Failure::new(Exit::Usage, message).hint("write FOLDER, git:URL#REV:FOLDER or bundled:NAME")
    })?;
    let source = origin.to_string();
    match &origin {
        Origin::Path(path) => {
            let folder = normal(&ui.env.cwd().join(path));
            let root = ui.workspace().root;
            Ok(Fetched {
                bundle: read(&folder)?,
                source: format!("path:{}", crate::cli::relative(&folder, &root)),
                commit: None,
                folder: folder
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned(),
            })
        }
        Origin::Git { url, rev, folder } => {
            let (bundle, commit) = git::fetch((url, rev.as_deref(), folder), ui.env.cwd())?;
            let last = folder.rsplit('/').next().filter(|last| !last.is_empty());
            let last = last.or_else(|| url.trim_end_matches(".git").rsplit('/').next());
            Ok(Fetched {
                bundle,
                source,
                commit: Some(commit),
                folder: last.unwrap_or_default().to_owned(),
            })
        }
        Origin::Bundled(name) => {
            let bundle = bundled::bundled(name).ok_or_else(|| {
                let message = format!("no skill `{}` comes with this wf", name.escape_debug());
                let names = bundled::names();
                let hint = if names.is_empty() {
                    "none does yet".to_owned()
                } else {
                    format!("there are: {}", names.join(", "))
                };
                Failure::new(Exit::Usage, message).hint(hint)
            })?;
            Ok(Fetched {
                bundle,
                source,
                commit: None,
                folder: name.clone(),
            })
        }
    }
}

/// Reads the folder of a skill.
pub fn read(folder: &std::path::Path) -> Result<Bundle, Failure> {
    disk::read(folder).map_err(|bad| {
        let failure = Failure::new(Exit::Usage, bad.to_string());
        failure.hint(bad.remedy())
    })
}
