//! The view of a sandbox with restricted programs.
//!
//! The folders of programs contain nothing else; writable files cannot be executed; and Landlock refuses to execute all
//! other files. Each of these alone could be circumvented: a loader executes any file it can map.

use std::{
    fs,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use super::{
    mount::{MountAccess, bind, new, remount, tmpfs},
    mounts::{SandboxViewBuilder, view_error},
    places::PROGRAM_FOLDERS,
};
use crate::sandbox::error::SandboxError;

/// The folders of program loaders.
const LOADER_FOLDERS: [&str; 4] = ["/lib", "/lib64", "/usr/lib", "/usr/lib64"];

/// An executable program.
struct AllowedProgram {
    /// The path of its lookup.
    name: PathBuf,
    /// The path with links resolved.
    place: PathBuf,
    file: OwnedFd,
}

/// Removes all executables from the view except these programs, and returns the files that may be
/// executed.
pub(super) fn restrict_programs(
    view: &SandboxViewBuilder<'_>,
    names: &[String],
    path: Option<&str>,
    cwd: &Path,
) -> Result<Vec<PathBuf>, SandboxError> {
    let folders: Vec<PathBuf> = folders(path).iter().filter_map(|folder| view.canonical(folder)).collect();
    let mut programs = Vec::new();
    for name in names {
        programs.push(find(view, name, path, cwd)?);
    }
    for loader in loaders(view) {
        programs.push(find_program(view, &loader).ok_or(SandboxError::NoLoader)?);
    }
    for folder in &folders {
        if new(folder).is_dir() {
            tmpfs(&new(folder), "mode=755,size=1m").map_err(view_error("hide programs"))?;
        }
    }
    view.make_inert()?;
    for program in &programs {
        bind(&program.file, &program.place, MountAccess::Read)?;
        if program.name != program.place {
            view.link(&program.name, &program.place);
        }
    }
    for folder in folders {
        if new(&folder).is_dir() {
            remount(&new(&folder), MountAccess::Read, false).map_err(view_error("hide programs"))?;
        }
    }
    Ok(programs.into_iter().map(|program| program.place).collect())
}

fn find(
    view: &SandboxViewBuilder<'_>,
    name: &str,
    path: Option<&str>,
    cwd: &Path,
) -> Result<AllowedProgram, SandboxError> {
    let candidates: Vec<PathBuf> = if name.contains('/') {
        vec![cwd.join(name)]
    } else {
        folders(path).iter().map(|folder| folder.join(name)).collect()
    };
    let mut programs = candidates.iter().filter_map(|candidate| find_program(view, candidate));
    programs.next().ok_or_else(|| SandboxError::NoProgram(name.to_owned()))
}

fn find_program(view: &SandboxViewBuilder<'_>, name: &Path) -> Option<AllowedProgram> {
    let (mut file, place) = view.find(name).ok()?;
    if let Some(copy) = view.copy_of(&place) {
        file = view.find(copy).ok()?.0;
    }
    let kind = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(&file).ok()?.st_mode);
    (kind == rustix::fs::FileType::RegularFile).then(|| AllowedProgram {
        name: name.to_path_buf(),
        place,
        file,
    })
}

/// Returns the loaders: every dynamically linked program is executed through one of them.
fn loaders(view: &SandboxViewBuilder<'_>) -> Vec<PathBuf> {
    let folders = LOADER_FOLDERS.iter().filter_map(|folder| view.canonical(Path::new(folder)));
    let mut loaders = Vec::new();
    for folder in folders {
        for entry in fs::read_dir(new(&folder)).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with("ld-") {
                let place = view.canonical(&folder.join(entry.file_name()));
                loaders.extend(place);
            }
        }
    }
    loaders.sort();
    loaders.dedup();
    loaders
}

fn folders(path: Option<&str>) -> Vec<PathBuf> {
    let named = path.unwrap_or_default().split(':').map(PathBuf::from);
    named.chain(PROGRAM_FOLDERS.iter().map(PathBuf::from)).filter(|folder| folder.is_absolute()).collect()
}
