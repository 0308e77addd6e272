//! A tree as files of a folder, on this host.

use std::collections::BTreeMap;
use std::fs::{self, Metadata, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use walkdir::WalkDir;
use wf_base::digest::Sha256Digest;

use crate::inside::place_inside;
use crate::objects::{ObjectError, Objects};
use crate::tree::{ChangeSource, PathChange, Tree, TreeChange, TreeEntry, TreeNode, TreeRef};

/// The repository of a workspace, which is not carried.
const REPOSITORY: &str = ".git";

/// A folder with the files of a tree.
pub struct Checkout {
    root: PathBuf,
    /// Its files, as far as known.
    known: BTreeMap<String, KnownFile>,
    /// The last change that it has.
    applied: Option<Sha256Digest>,
    /// The last change that was taken from it.
    taken: ChangeSource,
}

struct KnownFile {
    entry: TreeEntry,
    stamp: Stamp,
}

/// The marks of a file that change with it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(meta: &Metadata) -> Self {
        Self {
            inode: meta.ino(),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }
}

impl Checkout {
    /// Writes the files that a run started with into a new folder.
    pub async fn create(
        root: &Path,
        base: &Sha256Digest,
        copy: String,
        objects: &Objects,
    ) -> Result<Self, ObjectError> {
        let Tree(entries) = objects.get_json(base).await?;
        fs::create_dir_all(root).map_err(|cause| unable(root, cause))?;
        let mut checkout = Self {
            root: root.to_owned(),
            known: BTreeMap::new(),
            applied: None,
            taken: ChangeSource { copy, sequence: 0 },
        };
        for (path, entry) in entries {
            checkout.write(&path, Some(entry), objects).await?;
        }
        Ok(checkout)
    }

    /// Makes the changes that it lacks.
    pub async fn update(&mut self, to: &TreeRef, objects: &Objects) -> Result<(), ObjectError> {
        let (mut next, mut lacking) = (to.last, Vec::new());
        while let Some(digest) = next
            && next != self.applied
        {
            let node: TreeNode = objects.get_json(&digest).await?;
            next = node.before;
            lacking.push(node.change);
        }
        // Work that was ordered earlier may come later: what it lacks then, it has.
        if next != self.applied {
            return Ok(());
        }
        for TreeChange(change) in lacking.into_iter().rev() {
            for (path, PathChange { after, .. }) in change {
                self.write(&path, after, objects).await?;
            }
        }
        self.applied = to.last;
        Ok(())
    }

    /// Writes one path, unless it is as it should be.
    async fn write(
        &mut self,
        path: &str,
        entry: Option<TreeEntry>,
        objects: &Objects,
    ) -> Result<(), ObjectError> {
        if self.known.get(path).map(|known| &known.entry) == entry.as_ref() {
            return Ok(());
        }
        let place = place_inside(&self.root, path)?;
        let Some(entry) = entry else {
            self.known.remove(path);
            return remove(&place);
        };
        let content = match &entry {
            TreeEntry::File { digest, .. } => Some(objects.get(digest).await?),
            TreeEntry::Link { .. } => None,
        };
        let written = place_entry(&place, &entry, content.as_deref().map(Vec::as_slice));
        let stamp = written.and_then(|()| fs::symlink_metadata(&place)).map(|meta| Stamp::of(&meta));
        let stamp = stamp.map_err(|cause| unable(&place, cause))?;
        self.known.insert(path.to_owned(), KnownFile { entry, stamp });
        Ok(())
    }

    /// Returns the differences that work has made since, with their source, and stores their content.
    pub async fn take_change(
        &mut self,
        objects: &Objects,
    ) -> Result<(ChangeSource, TreeChange), ObjectError> {
        let mut change = TreeChange::default();
        let found = scan(&self.root, &[])?;
        let gone: Vec<String> =
            self.known.keys().filter(|path| !found.contains_key(*path)).cloned().collect();
        for (path, stamp) in found {
            let known = self.known.get(&path);
            if known.is_some_and(|known| known.stamp == stamp) {
                continue;
            }
            let before = known.map(|known| known.entry.clone());
            // It may be gone by now: then it is no difference of this work, or the next one finds it.
            let Some(entry) = store_entry(&self.root.join(&path), objects).await? else { continue };
            if before.as_ref() != Some(&entry) {
                change.0.insert(path.clone(), PathChange { before, after: Some(entry.clone()) });
            }
            self.known.insert(path, KnownFile { entry, stamp });
        }
        for path in gone {
            let before = self.known.remove(&path).map(|known| known.entry);
            change.0.insert(path, PathChange { before, after: None });
        }
        self.taken.sequence += 1;
        Ok((self.taken.clone(), change))
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
        None => scan(root, excluded)?.into_keys().collect(),
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
async fn store_entry(place: &Path, objects: &Objects) -> Result<Option<TreeEntry>, ObjectError> {
    let Some((entry, content)) = read(place)? else { return Ok(None) };
    if let Some(content) = content {
        objects.put(content).await?;
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
fn scan(root: &Path, excluded: &[PathBuf]) -> Result<BTreeMap<String, Stamp>, ObjectError> {
    let is_wanted = |entry: &walkdir::DirEntry| {
        entry.file_name() != REPOSITORY && !excluded.iter().any(|folder| entry.path() == folder)
    };
    let mut found = BTreeMap::new();
    for entry in WalkDir::new(root).into_iter().filter_entry(is_wanted) {
        let meta = entry.and_then(|entry| Ok((entry.metadata()?, entry)));
        let (meta, entry) = match meta {
            Ok(both) => both,
            // Removed while the folder is walked.
            Err(error) if error.io_error().is_some_and(|error| error.kind() == io::ErrorKind::NotFound) => {
                continue;
            }
            Err(error) => {
                let place = error.path().unwrap_or(root).to_owned();
                return Err(unable(&place, error.into()));
            }
        };
        if !meta.is_dir() {
            let path = entry.path().strip_prefix(root).unwrap_or(entry.path());
            found.insert(text(path)?, Stamp::of(&meta));
        }
    }
    Ok(found)
}

/// Puts a file in its place at once, so that nobody sees half of it.
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

fn remove(place: &Path) -> Result<(), ObjectError> {
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

fn unable(place: &Path, cause: io::Error) -> ObjectError {
    ObjectError::File { path: place.display().to_string(), cause }
}
