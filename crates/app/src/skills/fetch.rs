//! Fetches the files of a skill from its source.

use super::git;
use crate::{CliExitCode, CommandError, Host, normalize_path};
use wf_skill::{SkillBundle, SkillOrigin, bundled, disk};

/// The files of a skill, and the record of their source.
pub struct FetchedSkill {
    /// The files.
    pub bundle: SkillBundle,
    /// The source, as the lock writes it.
    pub source: String,
    /// The commit, if it was git.
    pub commit: Option<String>,
    /// The last part of the source: the default name.
    pub folder: String,
}

/// Fetches the files.
pub fn fetch_skill(host: &Host, typed_source: &str) -> Result<FetchedSkill, CommandError> {
    let origin = SkillOrigin::parse(typed_source).map_err(|error| {
        let message = format!("invalid skill source `{}`: {error}", typed_source.escape_debug());
        CommandError::new(CliExitCode::Usage, message).hint("use FOLDER, git:URL#REV:FOLDER or bundled:NAME")
    })?;
    let source = origin.to_string();
    match &origin {
        SkillOrigin::Path(path) => {
            let folder = normalize_path(&host.cwd().join(path));
            let root = host.workspace().root;
            Ok(FetchedSkill {
                bundle: read_folder(&folder)?,
                source: format!("path:{}", crate::relative_path(&folder, &root)),
                commit: None,
                folder: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            })
        }
        SkillOrigin::Git { url, rev, folder } => {
            let (bundle, commit) = git::fetch(host, url, rev.as_deref(), folder)?;
            let last = folder.rsplit('/').next().filter(|last| !last.is_empty());
            let last = last.or_else(|| url.trim_end_matches(".git").rsplit('/').next());
            Ok(FetchedSkill {
                bundle,
                source,
                commit: Some(commit),
                folder: last.unwrap_or_default().to_owned(),
            })
        }
        SkillOrigin::Bundled(name) => {
            let bundle = bundled::bundled(name).ok_or_else(|| {
                let message = format!("no bundled skill is called `{}`", name.escape_debug());
                let names = bundled::names();
                let hint = if names.is_empty() {
                    "there are no bundled skills yet".to_owned()
                } else {
                    format!("the bundled skills are {}", names.join(", "))
                };
                CommandError::new(CliExitCode::Usage, message).hint(hint)
            })?;
            Ok(FetchedSkill { bundle, source, commit: None, folder: name.clone() })
        }
    }
}

pub fn read_folder(folder: &std::path::Path) -> Result<SkillBundle, CommandError> {
    disk::read(folder).map_err(|bad| {
        let error = CommandError::new(CliExitCode::Usage, bad.to_string());
        error.hint(bad.remedy())
    })
}
