use std::{
    fs::{self, Permissions},
    io::{ErrorKind, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use crate::{CliExitCode, CommandError, Host, normalize_path, relative_path, require_utf8, specs::plans};
use wf_base::remedy::{Remedy, UserAction};

/// A plan on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanFile {
    /// Its absolute path.
    pub path: PathBuf,
    pub text: String,
}

impl PlanFile {
    /// Reads a plan by its path, or by its id in the workspace. It may have errors.
    pub fn read(host: &Host, name: &Path) -> Result<Self, CommandError> {
        let mut path = normalize_path(&host.cwd().join(name));
        if !path.is_file()
            && let Some(plan_path) = plans::find_by_id(host, name.as_os_str())?
        {
            path = plan_path;
        }
        require_utf8(&path)?;
        let shown = relative_path(&path, host.cwd());
        match fs::metadata(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(plans::unknown_plan(host, &shown));
            }
            Ok(about) if !about.is_file() => {
                return Err(CommandError::new(CliExitCode::Usage, format!("{shown} is not a file")));
            }
            Ok(about) if about.len() > wf_core::agent::authoring::PLAN_LIMIT as u64 => {
                let most = wf_core::agent::authoring::PLAN_LIMIT / 1024;
                let message = format!("{shown} is too large for a model: it has more than {most} KiB");
                return Err(CommandError::new(CliExitCode::Usage, message));
            }
            _ => {}
        }
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Self { path, text }),
            Err(error) => Err(CommandError::new(CliExitCode::Usage, format!("cannot read {shown}: {error}"))),
        }
    }
}

/// Writes a new plan, at once and whole. An existing file is replaced only if `force` is set.
pub fn create_plan(host: &Host, path: &Path, text: &str, force: bool) -> Result<(), CommandError> {
    let file = staged(path, text, None).map_err(|error| write_error(host, path, &error))?;
    let persisted = if force { file.persist(path) } else { file.persist_noclobber(path) };
    match persisted {
        Ok(_) => Ok(()),
        Err(failed) if failed.error.kind() == ErrorKind::AlreadyExists => Err(exists(host, path)),
        Err(failed) => Err(write_error(host, path, &failed.error)),
    }
}

/// Fails if a plan is there already.
pub fn require_new(host: &Host, path: &Path) -> Result<(), CommandError> {
    if path.symlink_metadata().is_ok() { Err(exists(host, path)) } else { Ok(()) }
}

/// Reports an existing file.
pub(super) fn exists(host: &Host, path: &Path) -> CommandError {
    let shown = relative_path(path, host.cwd());
    let error = CommandError::new(CliExitCode::Usage, format!("{shown} exists already"));
    let remedy = Remedy::from("--force replaces it; `").action(UserAction::RevisePlan(shown));
    error.hint(remedy.text("` changes it"))
}

/// Replaces a plan by another version. Fails if it was changed since it was read.
pub fn replace_plan(host: &Host, old_file: &PlanFile, text: &str) -> Result<(), CommandError> {
    let PlanFile { path, text: read } = old_file;
    if fs::read_to_string(path).ok().as_ref() != Some(read) {
        let shown = relative_path(path, host.cwd());
        let message = format!("{shown} was changed meanwhile; nothing was written");
        return Err(CommandError::new(CliExitCode::Usage, message).hint("run the command again"));
    }
    // The target of a link is replaced, not the link.
    let target = fs::canonicalize(path).map_err(|error| write_error(host, path, &error))?;
    let mode = fs::metadata(&target).map(|about| about.permissions());
    let mode = mode.map_err(|error| write_error(host, path, &error))?;
    let file = staged(&target, text, Some(mode)).map_err(|error| write_error(host, path, &error))?;
    file.persist(&target).map(drop).map_err(|failed| write_error(host, path, &failed.error))
}

/// Writes a text beside its future file.
fn staged(path: &Path, text: &str, mode: Option<Permissions>) -> std::io::Result<tempfile::NamedTempFile> {
    let dir = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(dir)?;
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(text.as_bytes())?;
    file.as_file().set_permissions(mode.unwrap_or_else(|| Permissions::from_mode(0o644)))?;
    file.as_file().sync_all()?;
    Ok(file)
}

fn write_error(host: &Host, path: &Path, error: &std::io::Error) -> CommandError {
    let shown = relative_path(path, host.cwd());
    CommandError::new(CliExitCode::Usage, format!("cannot write {shown}: {error}"))
}
