//! Folders of the workspace, opened and removed without following links.

use std::{
    ffi::OsStr,
    io,
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
};

use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags},
    io::Errno,
};

/// Returns the name of a file, and the path of its folder.
pub(super) fn parent_name(path: &str) -> (&str, &str) {
    path.rsplit_once('/').map_or((path, ""), |(folder, name)| (name, folder))
}

/// Returns the folders a path is in, the innermost first, without the workspace itself.
pub(super) fn folders_of(path: &str) -> impl Iterator<Item = &str> {
    let paths = std::iter::successors(Some(path), |path| Some(parent_name(path).1));
    paths.skip(1).take_while(|folder| !folder.is_empty())
}

/// Opens the folder of a file, without following links; `create`: makes it, if it is not there.
pub(super) fn parent(top: &OwnedFd, path: &str, create: bool) -> Result<(OwnedFd, String), Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let (name, above) = parent_name(path);
    let mut folder = rustix::fs::openat(top, ".", flags, Mode::empty())?;
    for part in above.split('/').filter(|part| !part.is_empty()) {
        if create {
            match rustix::fs::mkdirat(&folder, part, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
        }
        folder = rustix::fs::openat(&folder, part, flags, Mode::empty())?;
    }
    Ok((folder, name.to_owned()))
}

/// Returns a file below a folder, unless that goes itself; `None`: there is none, or no folder at the path.
pub(super) fn find_other_file(
    top: &OwnedFd,
    path: &str,
    goes: &impl Fn(&str) -> bool,
) -> io::Result<Option<String>> {
    let (folder, name) = match parent(top, path, false) {
        Ok(file) => file,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let Some(entries) = entries_of(&folder, OsStr::new(&name))? else {
        return Ok(None);
    };
    for (entry, kind) in entries {
        let below = format!("{path}/{}", String::from_utf8_lossy(entry.as_bytes()));
        let other = match kind {
            FileType::Directory => find_other_file(top, &below, goes)?,
            _ => Some(below).filter(|below| !goes(below)),
        };
        if other.is_some() {
            return Ok(other);
        }
    }
    Ok(None)
}

/// Removes a folder where there are only folders; a file at its place stays.
pub(super) fn remove_folders(folder: &OwnedFd, name: &OsStr) -> io::Result<()> {
    let Some(entries) = entries_of(folder, name)? else {
        return Ok(());
    };
    if !entries.is_empty() {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let own = rustix::fs::openat(folder, name, flags, Mode::empty())?;
        for (entry, _) in entries {
            remove_folders(&own, &entry)?;
        }
    }
    Ok(rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR)?)
}

/// Removes the folders of a file that was removed, as far as nothing is left in them.
pub(super) fn remove_emptied(top: &OwnedFd, path: &str) {
    for folder in folders_of(path) {
        // It is left if it cannot be removed: nothing is lost by that.
        let removed = parent(top, folder, false)
            .and_then(|(above, name)| rustix::fs::unlinkat(&above, &*name, AtFlags::REMOVEDIR));
        if !matches!(removed, Ok(()) | Err(Errno::NOENT | Errno::NOTDIR)) {
            return;
        }
    }
}

/// Returns the names in a folder, with their kinds; `None`: there is no folder of that name.
fn entries_of(folder: &OwnedFd, name: &OsStr) -> io::Result<Option<Vec<(std::ffi::OsString, FileType)>>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let own = match rustix::fs::openat(folder, name, flags, Mode::empty()) {
        Ok(own) => own,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mut entries = Vec::new();
    for entry in Dir::read_from(&own)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name != "." && name != ".." {
            let stat = rustix::fs::statat(&own, name, AtFlags::SYMLINK_NOFOLLOW)?;
            entries.push((name.to_owned(), FileType::from_raw_mode(stat.st_mode)));
        }
    }
    Ok(Some(entries))
}

#[cfg(test)]
mod tests {
    use super::folders_of;

    #[test]
    fn a_path_is_in_all_folders_above_it() {
        assert_eq!(folders_of("a/b/c").collect::<Vec<_>>(), ["a/b", "a"]);
        assert_eq!(folders_of("a").count(), 0);
    }
}
