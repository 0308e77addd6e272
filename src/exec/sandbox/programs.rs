//! The view of a sandbox in which only some programs may be executed.
//!
//! The folders of programs hold nothing else; what may be written cannot be executed; and Landlock
//! refuses to execute whatever is not among them. Each of these alone could be got round: a loader
//! executes any file that it can map.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use super::mount::{Access, bind, new, remount, tmpfs};
use super::mounts::{Failed, View, said};
use super::places::BINS;

/// Where what loads programs lies.
const LOADERS: [&str; 4] = ["/lib", "/lib64", "/usr/lib", "/usr/lib64"];

/// A program that may be executed.
struct Program {
    /// Where it is looked up.
    name: PathBuf,
    /// Where it is, links followed.
    place: PathBuf,
    file: OwnedFd,
}

/// Takes everything out of the view that could be executed, but for these programs, and gives the
/// files that may.
pub(super) fn only(
    view: &View<'_>,
    names: &[String],
    (path, cwd): (Option<&str>, &Path),
) -> Result<Vec<PathBuf>, Failed> {
    let folders: Vec<PathBuf> = folders(path)
        .iter()
        .filter_map(|folder| view.canonical(folder))
        .collect();
    let mut programs = Vec::new();
    for name in names {
        programs.push(find(view, name, path, cwd)?);
    }
    for loader in loaders(view) {
        programs.push(found(view, &loader).ok_or("`allow.exec`: a loader is gone")?);
    }
    for folder in &folders {
        if new(folder).is_dir() {
            tmpfs(&new(folder), "mode=755,size=1m").map_err(said("hide programs"))?;
        }
    }
    view.make_inert()?;
    for program in &programs {
        bind(&program.file, &program.place, Access::Read)?;
        if program.name != program.place {
            view.link(&program.name, &program.place);
        }
    }
    for folder in folders {
        if new(&folder).is_dir() {
            remount(&new(&folder), Access::Read, false).map_err(said("hide programs"))?;
        }
    }
    Ok(programs.into_iter().map(|program| program.place).collect())
}

fn find(view: &View<'_>, name: &str, path: Option<&str>, cwd: &Path) -> Result<Program, Failed> {
    let candidates: Vec<PathBuf> = if name.contains('/') {
        vec![cwd.join(name)]
    } else {
        folders(path)
            .iter()
            .map(|folder| folder.join(name))
            .collect()
    };
    let mut found = candidates
        .iter()
        .filter_map(|candidate| found(view, candidate));
    found
        .next()
        .ok_or_else(|| format!("`allow.exec`: there is no program `{name}`"))
}

fn found(view: &View<'_>, name: &Path) -> Option<Program> {
    let (file, place) = view.find(name).ok()?;
    let kind = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(&file).ok()?.st_mode);
    (kind == rustix::fs::FileType::RegularFile).then(|| Program {
        name: name.to_path_buf(),
        place,
        file,
    })
}

/// Every program that shares libraries is executed through one of these.
fn loaders(view: &View<'_>) -> Vec<PathBuf> {
    let folders = LOADERS
        .iter()
        .filter_map(|folder| view.canonical(Path::new(folder)));
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

/// The folders in which programs lie.
fn folders(path: Option<&str>) -> Vec<PathBuf> {
    let named = path.unwrap_or_default().split(':').map(PathBuf::from);
    named
        .chain(BINS.iter().map(PathBuf::from))
        .filter(|folder| folder.is_absolute())
        .collect()
}
