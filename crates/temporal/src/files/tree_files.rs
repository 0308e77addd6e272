//! The files of a folder, as entries of a tree.

use std::{
    fs::{self, Metadata, Permissions},
    io::{self, Write as _},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
    path::{Path, PathBuf},
};

use walkdir::{DirEntry, WalkDir};

use wf_base::digest::Sha256Digest;

use crate::files::{
    objects::{ObjectError, Objects},
    tree::{Tree, TreeEntry},
};

/// The repository of a workspace, which is not carried.
const REPOSITORY: &str = ".git";

/// The marks of a file that change with it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// Returns the marks in the data of a file.
    pub(crate) fn from_metadata(meta: &Metadata) -> Self {
        Self {
            inode: meta.ino(),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }
}

/// Stores files of a folder as a tree; `None`: all of them, except some folders.
pub async fn store_tree(
    root: &Path,
    files: Option<Vec<PathBuf>>,
    excluded: &[PathBuf],
    objects: &Objects,
) -> Result<Sha256Digest, ObjectError> {
    let paths: Vec<String> = match files {
        Some(files) => files.iter().map(|path| text(path)).collect::<Result<_, _>>()?,
        None => walk(root, excluded).map(|file| Ok(file?.0)).collect::<Result<_, ObjectError>>()?,
    };
    let mut tree = Tree::default();
    for path in paths {
        let place = root.join(&path);
        if !excluded.iter().any(|folder| place.starts_with(folder))
            && let Some(entry) = store_entry(&place, objects).await?
        {
            tree.0.insert(path, entry);
        }
    }
    objects.put_json(&tree).await
}

/// Stores a file, and returns its entry; `None`: there is none, or it is neither a file nor a link.
pub(crate) async fn store_entry(place: &Path, objects: &Objects) -> Result<Option<TreeEntry>, ObjectError> {
    let Some((entry, content)) = read(place)? else { return Ok(None) };
    if let Some(content) = content {
        objects.put_bytes(content).await?;
    }
    Ok(Some(entry))
}

/// Returns the entry of a file; `None`: there is none, or it is neither a file nor a link.
pub(crate) fn read_entry(place: &Path) -> Result<Option<TreeEntry>, ObjectError> {
    Ok(read(place)?.map(|(entry, _)| entry))
}

/// An entry, and the content of a file.
type EntryContent = (TreeEntry, Option<Vec<u8>>);

fn read(place: &Path) -> Result<Option<EntryContent>, ObjectError> {
    let meta = match fs::symlink_metadata(place) {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(unable(place, cause)),
    };
    if meta.is_symlink() {
        let target = fs::read_link(place).map_err(|cause| unable(place, cause))?;
        return Ok(Some((TreeEntry::Link { target: text(&target)? }, None)));
    }
    if !meta.is_file() {
        return Ok(None);
    }
    let content = match fs::read(place) {
        Ok(content) => content,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(unable(place, cause)),
    };
    let (digest, mode) = (Sha256Digest::of_bytes(&content), meta.permissions().mode() & 0o7777);
    Ok(Some((TreeEntry::File { digest, mode }, Some(content))))
}

/// Returns the files and links of a folder.
pub(crate) fn walk(
    root: &Path,
    excluded: &[PathBuf],
) -> impl Iterator<Item = Result<(String, Stamp), ObjectError>> {
    let is_wanted = |entry: &DirEntry| {
        entry.file_name() != REPOSITORY && !excluded.iter().any(|folder| entry.path() == folder)
    };
    let entries = WalkDir::new(root).into_iter().filter_entry(is_wanted);
    entries.filter_map(move |entry| {
        let meta = entry.and_then(|entry| Ok((entry.metadata()?, entry)));
        match meta {
            Ok((meta, _)) if meta.is_dir() => None,
            Ok((meta, entry)) => {
                let path = entry.path().strip_prefix(root).unwrap_or(entry.path());
                Some(text(path).map(|path| (path, Stamp::from_metadata(&meta))))
            }
            // Removed while the folder is walked.
            Err(error) if error.io_error().is_some_and(|error| error.kind() == io::ErrorKind::NotFound) => {
                None
            }
            Err(error) => {
                let place = error.path().unwrap_or(root).to_owned();
                Some(Err(unable(&place, error.into())))
            }
        }
    })
}

/// Puts a file in its place at once, so nobody sees half of it.
pub(crate) fn place_entry(place: &Path, entry: &TreeEntry, content: Option<&[u8]>) -> io::Result<()> {
    let folder = place.parent().unwrap_or(place);
    fs::create_dir_all(folder)?;
    match entry {
        TreeEntry::File { mode, .. } => {
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            file.write_all(content.unwrap_or_default())?;
            file.as_file().set_permissions(Permissions::from_mode(*mode))?;
            file.persist(place)?;
        }
        TreeEntry::Link { target } => match fs::remove_file(place) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => symlink(target, place)?,
        },
    }
    Ok(())
}

/// Removes a file, unless it is gone.
pub(crate) fn remove(place: &Path) -> Result<(), ObjectError> {
    match fs::remove_file(place) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unable(place, error)),
        _ => Ok(()),
    }
}

fn text(path: &Path) -> Result<String, ObjectError> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        let cause = io::Error::new(io::ErrorKind::InvalidData, "its path is not UTF-8; rename it");
        unable(path, cause)
    })
}

/// Returns the error of an access to a file.
pub(crate) fn unable(place: &Path, cause: io::Error) -> ObjectError {
    ObjectError::File { path: place.display().to_string(), cause }
}
