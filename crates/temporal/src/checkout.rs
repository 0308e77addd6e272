//! A tree as files of a folder, on this host.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::{self, Metadata, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use walkdir::{DirEntry, WalkDir};
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
    /// The last change that was taken from it, and its source.
    taken: (ChangeSource, TreeChange),
    /// The differences that were found and not taken, because the look at the rest failed.
    found: TreeChange,
    /// The number of the looks at its files, shared with those who do not hold it.
    looks: Looks,
}

/// The number of the looks that were begun at the files of a copy.
#[derive(Clone, Default)]
pub struct Looks(Arc<AtomicU64>);

impl Looks {
    /// Returns the number of looks so far. The next one sees whatever was done before this is asked.
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

struct KnownFile {
    entry: TreeEntry,
    stamp: Stamp,
    /// The number of the last look that saw it.
    seen: u64,
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
            taken: (ChangeSource { copy, sequence: 0 }, TreeChange::default()),
            found: TreeChange::default(),
            looks: Looks::default(),
        };
        for (path, entry) in entries {
            checkout.write(&path, Some(entry), objects).await?;
        }
        Ok(checkout)
    }

    /// Returns the number of the looks at its files.
    pub fn looks(&self) -> Looks {
        self.looks.clone()
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
        self.known.insert(path.to_owned(), KnownFile { entry, stamp, seen: 0 });
        Ok(())
    }

    /// Returns the differences that work has made which ended after a number of looks, with their source, and stores their
    /// content. Work that ended before the same look shares what that finds: whoever reports it first, it counts once.
    pub async fn take_change(
        &mut self,
        ended_after: u64,
        objects: &Objects,
    ) -> Result<(ChangeSource, TreeChange), ObjectError> {
        if self.taken.0.sequence != ended_after + 1 {
            let sequence = self.looks.0.fetch_add(1, Ordering::SeqCst) + 1;
            self.look(sequence, objects).await?;
            let copy = self.taken.0.copy.clone();
            self.taken = (ChangeSource { copy, sequence }, std::mem::take(&mut self.found));
        }
        Ok(self.taken.clone())
    }

    /// Finds the differences since the last look.
    async fn look(&mut self, number: u64, objects: &Objects) -> Result<(), ObjectError> {
        let mut touched = Vec::new();
        for file in walk(&self.root, &[]) {
            let (path, stamp) = file?;
            let known = self.known.get_mut(&path);
            let is_as_known = known.is_some_and(|known| {
                known.seen = number;
                known.stamp == stamp
            });
            if !is_as_known {
                touched.push((path, stamp));
            }
        }
        for (path, known) in self.known.extract_if(.., |_, known| known.seen != number) {
            note(&mut self.found, path, Some(known.entry), None);
        }
        for (path, stamp) in touched {
            // It may be gone by now: then it is no difference of this work, or the next look finds it.
            let Some(entry) = store_entry(&self.root.join(&path), objects).await? else { continue };
            let known = KnownFile { entry: entry.clone(), stamp, seen: number };
            let before = self.known.insert(path.clone(), known).map(|known| known.entry);
            if before.as_ref() != Some(&entry) {
                note(&mut self.found, path, before, Some(entry));
            }
        }
        Ok(())
    }
}

/// Adds a difference to those found so far.
fn note(found: &mut TreeChange, path: String, before: Option<TreeEntry>, after: Option<TreeEntry>) {
    match found.0.entry(path) {
        Entry::Occupied(mut known) => known.get_mut().after = after,
        Entry::Vacant(place) => drop(place.insert(PathChange { before, after })),
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
fn walk(root: &Path, excluded: &[PathBuf]) -> impl Iterator<Item = Result<(String, Stamp), ObjectError>> {
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
                Some(text(path).map(|path| (path, Stamp::of(&meta))))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A copy of an empty workspace, and an object store.
    async fn copy(folder: &Path) -> (Checkout, Objects) {
        let objects = Objects::open(&format!("file://{}", folder.join("objects").display())).unwrap();
        let base = objects.put_json(&Tree::default()).await.unwrap();
        let copy = Checkout::create(&folder.join("copy"), &base, "here".into(), &objects).await.unwrap();
        (copy, objects)
    }

    fn paths(change: &TreeChange) -> Vec<&str> {
        change.0.keys().map(String::as_str).collect()
    }

    #[tokio::test]
    async fn what_work_made_is_found_once() {
        let folder = tempfile::tempdir().unwrap();
        let (mut copy, objects) = copy(folder.path()).await;
        let file = |name: &str| folder.path().join("copy").join(name);
        fs::write(file("a"), "one").unwrap();
        fs::write(file("b"), "one").unwrap();
        let (_, change) = copy.take_change(0, &objects).await.unwrap();
        assert_eq!(paths(&change), ["a", "b"]);
        fs::write(file("a"), "other").unwrap();
        fs::remove_file(file("b")).unwrap();
        let (_, change) = copy.take_change(1, &objects).await.unwrap();
        assert_eq!(paths(&change), ["a", "b"]);
        let after = change.0.values().map(|change| change.after.is_some()).collect::<Vec<_>>();
        assert_eq!(after, [true, false]);
        assert_eq!(copy.take_change(2, &objects).await.unwrap().1, TreeChange::default());
    }

    #[tokio::test]
    async fn work_that_ended_before_a_look_shares_it_and_later_work_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let (mut copy, objects) = copy(folder.path()).await;
        let ended_after = copy.looks().count();
        fs::write(folder.path().join("copy/a"), "one").unwrap();
        let first = copy.take_change(ended_after, &objects).await.unwrap();
        fs::write(folder.path().join("copy/b"), "one").unwrap();
        assert_eq!(copy.take_change(ended_after, &objects).await.unwrap(), first);
        let later = copy.looks().count();
        assert_eq!(paths(&copy.take_change(later, &objects).await.unwrap().1), ["b"]);
    }

    #[tokio::test]
    async fn a_look_that_fails_loses_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (mut copy, objects) = copy(folder.path()).await;
        for name in ["a", "b"] {
            fs::write(folder.path().join("copy").join(name), name).unwrap();
        }
        // The content of `b` cannot be stored: there is a folder in its place.
        let name = Sha256Digest::of_bytes(b"b").to_string();
        let place = folder.path().join("objects/sha256").join(&name[..2]).join(name);
        fs::create_dir_all(place.join("in the way")).unwrap();
        assert!(copy.take_change(0, &objects).await.is_err());
        fs::remove_dir_all(&place).unwrap();
        let (_, change) = copy.take_change(copy.looks().count(), &objects).await.unwrap();
        assert_eq!(paths(&change), ["a", "b"]);
    }
}
