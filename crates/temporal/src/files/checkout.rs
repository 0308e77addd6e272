//! A tree as files of a folder, on this host.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use wf_base::digest::Sha256Digest;

use crate::files::{
    findings::Finding,
    objects::{ObjectError, Objects},
    parcel::{Parcel, RunFile},
    tree::{PathChange, Tree, TreeChange, TreeEntry, TreeNode, TreeRef, place_inside},
    tree_files::{Stamp, place_entry, remove, store_entry, unable, walk},
};

/// A folder with the files of a tree.
pub struct Checkout {
    root: PathBuf,
    /// Its files, as far as known.
    known_files: BTreeMap<String, KnownFile>,
    /// The last change it has.
    applied: Option<Sha256Digest>,
    /// Its name: no other copy of any host has it.
    name: String,
    /// Its last finding, as it is sent.
    last: Option<Parcel>,
    /// The next finding, so far.
    next_finding: Finding,
    /// The number of the last look that saw all files.
    looked: u64,
    /// The number of the looks at its files, shared with those who do not hold it.
    looks: Looks,
}

/// The number of the looks begun at the files of a copy.
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

impl Checkout {
    /// Writes the files a run started with into a new folder.
    pub async fn create(
        root: &Path,
        base: &Sha256Digest,
        name: String,
        objects: &Objects,
    ) -> Result<Self, ObjectError> {
        let Tree(entries) = objects.get_json(base).await?;
        fs::create_dir_all(root).map_err(|cause| unable(root, cause))?;
        let mut checkout = Self {
            root: root.to_owned(),
            known_files: BTreeMap::new(),
            applied: None,
            name,
            last: None,
            next_finding: Finding { number: 1, ..Finding::default() },
            looked: 0,
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

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Makes the changes it lacks.
    pub async fn update(&mut self, tree: &TreeRef, objects: &Objects) -> Result<(), ObjectError> {
        let (mut next, mut lacking) = (tree.last, Vec::new());
        while let Some(digest) = next
            && next != self.applied
        {
            let node: TreeNode = objects.get_json(&digest).await?;
            next = node.before;
            // A change that was found here is there, and may have been followed by another one.
            if node.copy.as_ref() != Some(&self.name) {
                lacking.push(node.change);
            }
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
        self.applied = tree.last;
        Ok(())
    }

    /// Writes one path, unless it is as it should be.
    async fn write(
        &mut self,
        path: &str,
        entry: Option<TreeEntry>,
        objects: &Objects,
    ) -> Result<(), ObjectError> {
        if self.known_files.get(path).map(|known_file| &known_file.entry) == entry.as_ref() {
            return Ok(());
        }
        let place = place_inside(&self.root, path)?;
        self.find_before_write(path, &place, objects).await?;
        let Some(entry) = entry else {
            self.known_files.remove(path);
            return remove(&place);
        };
        let content = match &entry {
            TreeEntry::File { digest, .. } => Some(objects.get_bytes(digest).await?),
            TreeEntry::Link { .. } => None,
        };
        let written = place_entry(&place, &entry, content.as_deref().map(Vec::as_slice));
        let stamp =
            written.and_then(|()| fs::symlink_metadata(&place)).map(|meta| Stamp::from_metadata(&meta));
        let stamp = stamp.map_err(|cause| unable(&place, cause))?;
        self.known_files.insert(path.to_owned(), KnownFile { entry, stamp, seen: 0 });
        Ok(())
    }

    /// Finds the difference that work has made in a path and that no look has seen yet: it is about to be overwritten,
    /// and its maker has to learn so.
    async fn find_before_write(
        &mut self,
        path: &str,
        place: &Path,
        objects: &Objects,
    ) -> Result<(), ObjectError> {
        let stamp = fs::symlink_metadata(place).ok().map(|meta| Stamp::from_metadata(&meta));
        if stamp == self.known_files.get(path).map(|known_file| known_file.stamp) {
            return Ok(());
        }
        let (before, after) = (
            self.known_files.get(path).map(|known_file| known_file.entry.clone()),
            store_entry(place, objects).await?,
        );
        if before == after {
            return Ok(());
        }
        self.note(path.to_owned(), PathChange { before, after });
        // What is found from here on follows what is about to be written.
        self.seal(objects).await
    }

    /// Returns the last finding, which brings those before it: it has what was made by work that ended after a number of
    /// looks, and the given files of runs.
    pub async fn find(
        &mut self,
        ended_after: u64,
        files: Vec<RunFile>,
        objects: &Objects,
    ) -> Result<Option<Parcel>, ObjectError> {
        self.next_finding.files.extend(files);
        if self.looked <= ended_after {
            let number = self.looks.0.fetch_add(1, Ordering::SeqCst) + 1;
            self.look(number, objects).await?;
            self.looked = number;
        }
        self.seal(objects).await?;
        Ok(self.last.clone())
    }

    /// Stores the next finding, if there is something in it.
    async fn seal(&mut self, objects: &Objects) -> Result<(), ObjectError> {
        if self.next_finding.change.is_empty() && self.next_finding.files.is_empty() {
            return Ok(());
        }
        // Those that follow refer to it, so it is stored even if it is small enough to be sent.
        let digest = objects.put_json(&self.next_finding).await?;
        self.last = Some(Parcel::of_stored(&self.next_finding, digest));
        self.next_finding =
            Finding { before: Some(digest), number: self.next_finding.number + 1, ..Finding::default() };
        Ok(())
    }

    /// Adds a difference to the next finding.
    fn note(&mut self, path: String, change: PathChange) {
        // What a look found that failed belongs to the work before that look.
        self.next_finding.look = self.looked + 1;
        match self.next_finding.change.0.entry(path) {
            Entry::Occupied(mut known) => known.get_mut().after = change.after,
            Entry::Vacant(place) => drop(place.insert(change)),
        }
    }

    /// Finds the differences since the last look.
    async fn look(&mut self, number: u64, objects: &Objects) -> Result<(), ObjectError> {
        let mut touched = Vec::new();
        for file in walk(&self.root, &[]) {
            let (path, stamp) = file?;
            let known_file = self.known_files.get_mut(&path);
            let is_as_known = known_file.is_some_and(|known| {
                known.seen = number;
                known.stamp == stamp
            });
            if !is_as_known {
                touched.push((path, stamp));
            }
        }
        let gone: Vec<_> = self.known_files.extract_if(.., |_, known| known.seen != number).collect();
        for (path, known) in gone {
            self.note(path, PathChange { before: Some(known.entry), after: None });
        }
        for (path, stamp) in touched {
            // It may be gone by now: then it is no difference of this work, or the next look finds it.
            let Some(entry) = store_entry(&self.root.join(&path), objects).await? else { continue };
            let known_file = KnownFile { entry: entry.clone(), stamp, seen: number };
            let before = self.known_files.insert(path.clone(), known_file).map(|known| known.entry);
            if before.as_ref() != Some(&entry) {
                self.note(path, PathChange { before, after: Some(entry) });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::findings::Finding;

    /// A copy of an empty workspace, and an object store.
    struct Copy {
        folder: tempfile::TempDir,
        checkout: Checkout,
        objects: Objects,
    }

    impl Copy {
        async fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let address = format!("file://{}", folder.path().join("objects").display());
            let objects = Objects::open(&address).unwrap();
            let base = objects.put_json(&Tree::default()).await.unwrap();
            let root = folder.path().join("copy");
            let checkout = Checkout::create(&root, &base, "here".into(), &objects).await.unwrap();
            Self { folder, checkout, objects }
        }

        fn write(&self, name: &str, content: &str) {
            fs::write(self.checkout.root.join(name), content).unwrap();
        }

        fn read(&self, name: &str) -> String {
            fs::read_to_string(self.checkout.root.join(name)).unwrap()
        }

        async fn find(&mut self, ended_after: u64) -> Option<Finding> {
            let last = self.checkout.find(ended_after, Vec::new(), &self.objects).await.unwrap();
            match last {
                Some(last) => Some(last.open(&self.objects).await.unwrap()),
                None => None,
            }
        }

        /// Makes a change that was found in a copy.
        async fn update(&mut self, copy: &str, before: Option<Sha256Digest>, content: &str) -> Sha256Digest {
            let digest = self.objects.put_bytes(content.into()).await.unwrap();
            let after = Some(TreeEntry::File { digest, mode: 0o644 });
            let change = TreeChange(BTreeMap::from([("a".to_owned(), PathChange { before: None, after })]));
            let node = TreeNode { before, copy: Some(copy.to_owned()), change };
            let last = self.objects.put_json(&node).await.unwrap();
            let to = TreeRef { base: digest, last: Some(last) };
            self.checkout.update(&to, &self.objects).await.unwrap();
            last
        }
    }

    fn paths(finding: &Finding) -> Vec<&str> {
        finding.change.0.keys().map(String::as_str).collect()
    }

    #[tokio::test]
    async fn what_work_made_is_found_once() {
        let mut copy = Copy::new().await;
        assert_eq!(copy.find(0).await, None);
        copy.write("a", "one");
        copy.write("b", "one");
        let first = copy.find(1).await.unwrap();
        assert_eq!((first.number, first.look, paths(&first)), (1, 2, vec!["a", "b"]));
        copy.write("a", "other");
        fs::remove_file(copy.checkout.root.join("b")).unwrap();
        let second = copy.find(2).await.unwrap();
        assert_eq!((second.number, paths(&second)), (2, vec!["a", "b"]));
        let after = second.change.0.values().map(|change| change.after.is_some()).collect::<Vec<_>>();
        assert_eq!(after, [true, false]);
        let before: Finding = copy.objects.get_json(&second.before.unwrap()).await.unwrap();
        assert_eq!(before, first);
        // Nothing new: the last finding brings the others all the same.
        assert_eq!(copy.find(3).await, Some(second));
    }

    #[tokio::test]
    async fn work_that_ended_before_a_look_shares_it_and_later_work_does_not() {
        let mut copy = Copy::new().await;
        let ended_after = copy.checkout.looks().count();
        copy.write("a", "one");
        let first = copy.find(ended_after).await;
        copy.write("b", "one");
        assert_eq!(copy.find(ended_after).await, first);
        let later = copy.checkout.looks().count();
        assert_eq!(paths(&copy.find(later).await.unwrap()), ["b"]);
    }

    #[tokio::test]
    async fn a_report_that_was_overtaken_brings_what_others_found() {
        let mut copy = Copy::new().await;
        copy.write("a", "one");
        let slow = copy.checkout.looks().count();
        copy.find(slow).await;
        copy.find(copy.checkout.looks().count()).await;
        assert_eq!(paths(&copy.find(slow).await.unwrap()), ["a"]);
    }

    #[tokio::test]
    async fn a_look_that_fails_loses_nothing() {
        let mut copy = Copy::new().await;
        copy.write("a", "a");
        copy.write("b", "b");
        // The content of `b` cannot be stored: there is a folder in its place.
        let name = Sha256Digest::of_bytes(b"b").to_string();
        let place = copy.folder.path().join("objects/sha256").join(&name[..2]).join(name);
        fs::create_dir_all(place.join("in the way")).unwrap();
        let call = RunFile { path: "run/calls/1".into(), digest: Sha256Digest::of_bytes(b"call") };
        assert!(copy.checkout.find(0, vec![call.clone()], &copy.objects).await.is_err());
        fs::remove_dir_all(&place).unwrap();
        let found = copy.find(copy.checkout.looks().count()).await.unwrap();
        assert_eq!((found.look, paths(&found)), (1, vec!["a", "b"]));
        assert_eq!(found.files, [call]);
    }

    #[tokio::test]
    async fn a_change_that_was_found_here_is_not_made_again() {
        let mut copy = Copy::new().await;
        copy.write("a", "one");
        copy.find(0).await;
        copy.write("a", "two");
        copy.find(1).await;
        // The tree has the first one so far.
        let last = copy.update("here", None, "one").await;
        assert_eq!(copy.read("a"), "two");
        copy.update("elsewhere", Some(last), "three").await;
        assert_eq!(copy.read("a"), "three");
    }

    #[tokio::test]
    async fn what_another_host_overwrites_is_found_first() {
        let mut copy = Copy::new().await;
        copy.write("a", "mine");
        copy.update("elsewhere", None, "its").await;
        assert_eq!(copy.read("a"), "its");
        copy.write("a", "more");
        let second = copy.find(0).await.unwrap();
        let before = second.change.0["a"].before.clone();
        assert!(
            matches!(before, Some(TreeEntry::File { digest, .. }) if digest == Sha256Digest::of_bytes(b"its"))
        );
        let first: Finding = copy.objects.get_json(&second.before.unwrap()).await.unwrap();
        assert_eq!((first.look, paths(&first)), (1, vec!["a"]));
    }
}
