//! The originals of a run: taken when it begins, and compared, read and copied for its checks.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
    fs,
    io::{self, Read as _, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::{Duration, SystemTime},
};

use rustix::fs::OFlags;

use wf_base::digest::Sha256Digest;

use super::{GitPart, git_part::GitStamp, index, outside};
use crate::{
    disk::{
        confined_dir::ConfinedDir,
        files::{FileStamp, open_regular},
    },
    manifest::WorkspaceManifest,
    sandbox::{KeptCopy, KeptGitFolder},
    work_error::WorkError,
};

/// The most files copied since git does not have them as they are.
const MAX_COPIES: usize = 256;

/// The largest such file, in bytes.
const MAX_COPY_BYTES: u64 = 1 << 20;

/// The most bytes of all such files.
const MAX_COPIED_BYTES: u64 = 8 << 20;

/// The largest file of the state of a repository, in bytes.
const MAX_STATE_BYTES: u64 = 64 << 20;

/// The most files, and the most bytes of them, that are shown to a check disturbed again and again.
const MAX_SHOWN: usize = 2_000;
const MAX_SHOWN_BYTES: u64 = 32 << 20;

/// The folders in an archive of what git's folders outside of the workspace say: that of the work tree, and the one that all
/// work trees of the repository share, if it is another one.
const OWN: &str = "git/own";
const COMMON: &str = "git/common";

/// The name of the index in an archive, if it is not in the workspace, and that of its time.
const INDEX: &str = "git/own/index";
const INDEX_TIME: &str = "index.time";

/// The git repository a workspace is in.
pub trait WorkspaceRepository: Debug + Send + Sync {
    /// Returns the file of the index, without links.
    fn index(&self) -> PathBuf;

    /// Returns the folder of the state of the work tree, and the one that all work trees of the repository share, which may be
    /// the same; without links.
    fn folders(&self) -> [PathBuf; 2];

    /// Returns the path of the workspace, relative to the top of the work tree.
    fn prefix(&self) -> PathBuf;

    /// Reads files by the names of their objects, in this order; `None`: there is no such object.
    fn blobs(&self, names: &[String]) -> Vec<Option<Vec<u8>>>;
}

/// The content of a workspace when a run began.
#[derive(Clone, Debug, Default)]
pub struct Originals {
    root: PathBuf,
    repository: Option<Arc<dyn WorkspaceRepository>>,
    /// The state of the repositories in the workspace, and of the one it is in.
    state: Arc<BTreeMap<PathBuf, Vec<u8>>>,
    /// The files that git did not have as they were. Nothing records them: a file of nobody's may hold a secret.
    copies: Arc<BTreeMap<PathBuf, Vec<u8>>>,
    /// The names of the objects of the files that git had as they were.
    objects: Arc<OnceLock<BTreeMap<PathBuf, String>>>,
    /// The signs that git can read what it could; `None`: unknown, as after a resume.
    stamp: Option<Arc<GitStamp>>,
}

impl Originals {
    /// Reads the data git cannot show again later; `None`: a repository changed since the workspace was listed.
    /// `is_left_out` is true for files and folders no check relies on: ignored files, products of steps.
    pub fn collect(
        root: &Path,
        start_manifest: &WorkspaceManifest,
        repository: Option<Arc<dyn WorkspaceRepository>>,
        is_left_out: &dyn Fn(&Path, bool) -> bool,
    ) -> Option<Self> {
        let mut is_torn = false;
        let is_other = |path: &Path, is_folder: bool| match GitPart::from_path(path) {
            Some(GitPart::State) => false,
            Some(GitPart::Working | GitPart::Trace) => true,
            Some(GitPart::Setting) | None => !is_folder,
        };
        let mut state = BTreeMap::new();
        for path in start_manifest.files_but(&is_other) {
            match read(root, start_manifest, &path, MAX_STATE_BYTES) {
                Some(bytes) => drop(state.insert(path, bytes)),
                None => is_torn = true,
            }
        }
        let stamp =
            repository.as_ref().map(|repository| Arc::new(GitStamp::read_stamp(&repository.folders())));
        let mut originals = Self { root: root.to_path_buf(), repository, stamp, ..Self::default() };
        // The branches first, as git writes the index before them: else a commit of just now would look as if it was undone.
        for (name, folder) in originals.git_folders() {
            state.extend(originals.read_folder(name, &folder));
        }
        if let Some(repository) = &originals.repository
            && let Err(index) = originals.index_path()
        {
            let file = repository.index();
            // The time first: a later one would let a changed file look as it is in the index.
            if let (Some(time), Ok(bytes)) = (modified(&file), fs::read(&file)) {
                state.insert(index, bytes);
                state.insert(INDEX_TIME.into(), time.to_string().into_bytes());
            }
        }
        originals.state = Arc::new(state);
        originals.copies = Arc::new(originals.uncommitted(start_manifest, is_left_out));
        (!is_torn).then_some(originals)
    }

    /// Restores the record.
    pub fn recorded(bytes: &[u8]) -> Self {
        Self { state: Arc::new(unpack_archive(bytes).unwrap_or_default()), ..Self::default() }
    }

    /// Returns the same for a workspace, and the repository it is in.
    #[must_use]
    pub fn of_workspace(self, root: &Path, repository: Option<Arc<dyn WorkspaceRepository>>) -> Self {
        Self { root: root.to_path_buf(), repository, ..self }
    }

    /// Returns the same without the copies of some files.
    #[must_use]
    pub fn without(mut self, left: &BTreeSet<PathBuf>) -> Self {
        Arc::make_mut(&mut self.copies).retain(|path, _| !left.contains(path));
        self.objects = Arc::default();
        self
    }

    /// Returns the record; empty: nothing.
    pub fn to_bytes(&self) -> Vec<u8> {
        if self.state.is_empty() { Vec::new() } else { pack_archive(&self.state).unwrap_or_default() }
    }

    /// Returns the path of the index of the repository in the workspace, or its name in an archive.
    fn index_path(&self) -> Result<PathBuf, PathBuf> {
        let file = self.repository.as_ref().map(|repository| repository.index()).unwrap_or_default();
        file.strip_prefix(self.plain_root()).map(Path::to_path_buf).map_err(|_| PathBuf::from(INDEX))
    }

    fn plain_root(&self) -> PathBuf {
        self.root.canonicalize().unwrap_or_else(|_| self.root.clone())
    }

    /// Returns the folders of git that are outside of the workspace, with their names in an archive.
    fn git_folders(&self) -> Vec<(&'static str, PathBuf)> {
        let Some([own, common]) = self.repository.as_ref().map(|repository| repository.folders()) else {
            return Vec::new();
        };
        let common = (common != own).then_some((COMMON, common));
        let root = self.plain_root();
        let folders = std::iter::once((OWN, own)).chain(common);
        folders.filter(|(_, folder)| !folder.starts_with(&root)).collect()
    }

    /// Reads such a folder but for the index, by the names in an archive.
    fn read_folder(&self, name: &str, folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
        let common = self.repository.as_ref().map(|repository| repository.folders()[1].clone());
        let files = outside::read_outside(folder, common.as_deref() == Some(folder)).into_iter();
        files.map(|(path, bytes)| (Path::new(name).join(path), bytes)).collect()
    }

    /// Writes what git's folders outside of the workspace said when the run began into a folder, for a sandbox showing
    /// it.
    pub(crate) fn write_git_folders(&self, copies: &Path) -> Result<Vec<KeptGitFolder>, WorkError> {
        let time =
            self.state.get(Path::new(INDEX_TIME)).and_then(|text| str::from_utf8(text).ok()?.parse().ok());
        let stamp = FileStamp { mode: 0o644, modified: time.unwrap_or_default(), ..FileStamp::default() };
        let mut written = Vec::new();
        for (name, folder) in self.git_folders() {
            let copy = copies.join(name);
            // One that could not be read is shown as it is.
            if !self.state.contains_key(&Path::new(name).join("HEAD")) {
                continue;
            }
            let mut files = self.state.iter().filter(|(path, _)| path.starts_with(name));
            let stored = fs::create_dir_all(copy.join("refs"))
                .and_then(|()| files.try_for_each(|(path, bytes)| store(&copies.join(path), bytes, stamp)));
            stored.map_err(|error| {
                let copy = copy.display();
                WorkError::environmental(format!("cannot write what git said into {copy}: {error}"))
            })?;
            written.push(KeptGitFolder { folder, copy });
        }
        Ok(written)
    }

    /// True if git's folders outside of the workspace do not say any more what they said when the run began.
    pub(crate) fn has_git_moved(&self) -> bool {
        self.git_folders().iter().any(|(name, folder)| {
            let recorded = self.state.iter().filter(|(path, _)| path.starts_with(name));
            let is_index = |path: &Path| path == Path::new(INDEX);
            let current = self.read_folder(name, folder);
            !recorded.filter(|(path, _)| !is_index(path)).eq(current.iter())
        })
    }

    /// True if there was a commit when the run began, and git may not be able to read it any more: its objects or settings are
    /// not the same files, or that is unknown.
    pub(crate) fn may_have_lost_commits(&self) -> bool {
        let Some(repository) = &self.repository else {
            return false;
        };
        let folders = repository.folders();
        let is_same = || self.stamp.as_deref() == Some(&GitStamp::read_stamp(&folders));
        self.had_commit(&folders) && !is_same()
    }

    /// True if the branch of the work tree had a commit, or there was one without a branch.
    fn had_commit(&self, folders: &[PathBuf; 2]) -> bool {
        let [own, common] = folders.each_ref().map(|folder| self.name_of(folder));
        let text = |path: PathBuf| Some(String::from_utf8_lossy(self.state.get(&path)?).into_owned());
        let Some(head) = text(own.join("HEAD")) else {
            return false;
        };
        let Some(branch) = head.trim_end().strip_prefix("ref: ").map(str::to_owned) else {
            return true;
        };
        let is_packed = |packed: String| packed.lines().any(|line| line.ends_with(&format!(" {branch}")));
        [own, common].into_iter().any(|folder| {
            self.state.contains_key(&folder.join(&branch))
                || text(folder.join("packed-refs")).is_some_and(is_packed)
        })
    }

    /// Returns the path of a folder of git in the workspace, or its name in an archive.
    fn name_of(&self, folder: &Path) -> PathBuf {
        let outside = self.git_folders().into_iter().find(|(_, outside)| outside == folder);
        let name = outside.map(|(name, _)| PathBuf::from(name));
        name.unwrap_or_else(|| folder.strip_prefix(self.plain_root()).unwrap_or(folder).to_path_buf())
    }

    /// Reads the files that git does not have as they are, as far as they are few and small.
    fn uncommitted(
        &self,
        start_manifest: &WorkspaceManifest,
        is_left_out: &dyn Fn(&Path, bool) -> bool,
    ) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut copies = BTreeMap::new();
        if self.repository.is_none() {
            return copies;
        }
        let objects = self.objects(start_manifest);
        let is_known = |path: &Path, is_folder: bool| match GitPart::from_path(path) {
            // Branches and remotes are among the settings.
            Some(GitPart::Working | GitPart::Trace) => true,
            Some(_) => !is_folder && !path.ends_with("config"),
            None => objects.contains_key(path) || is_left_out(path, is_folder),
        };
        let others = start_manifest.files_but(&is_known);
        let mut room = MAX_COPIED_BYTES;
        for path in others.into_iter().take(MAX_COPIES) {
            if let Some(bytes) = read(&self.root, start_manifest, &path, MAX_COPY_BYTES.min(room)) {
                room -= bytes.len() as u64;
                copies.insert(path, bytes);
            }
        }
        copies
    }

    /// Returns the names of the objects of the files that git had as they were at the start.
    fn objects(&self, start_manifest: &WorkspaceManifest) -> &BTreeMap<PathBuf, String> {
        self.objects.get_or_init(|| {
            let index_path = self.index_path().unwrap_or_else(|name| name);
            let (Some(repository), Some(bytes)) = (&self.repository, self.state.get(&index_path)) else {
                return BTreeMap::new();
            };
            let recorded = || str::from_utf8(self.state.get(Path::new(INDEX_TIME))?).ok()?.parse().ok();
            let written = start_manifest.stamp(&index_path).map(|stamp| stamp.modified).or_else(recorded);
            let prefix = repository.prefix();
            let entries = index::entries(bytes).into_iter().filter_map(|entry| {
                let path = entry.path.strip_prefix(&prefix).ok()?.to_path_buf();
                let is_same = start_manifest
                    .stamp(&path)
                    .is_some_and(|file| entry.has(file, written.unwrap_or_default()));
                is_same.then_some((path, entry.object))
            });
            entries.collect()
        })
    }

    /// Returns what files had in them when the run began, as far as that is known.
    pub(crate) fn contents(
        &self,
        start_manifest: &WorkspaceManifest,
        paths: &BTreeSet<PathBuf>,
    ) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut contents = BTreeMap::new();
        let mut requests = Vec::new();
        for path in paths {
            if let Some(bytes) = self.copies.get(path).or_else(|| self.state_of(path)) {
                contents.insert(path.clone(), bytes.clone());
            } else if let Some(object) = self.objects(start_manifest).get(path) {
                requests.push((path, object.clone()));
            }
        }
        let Some(repository) = self.repository.as_ref().filter(|_| !requests.is_empty()) else {
            return contents;
        };
        let names: Vec<String> = requests.iter().map(|(_, name)| name.clone()).collect();
        for ((path, name), bytes) in requests.into_iter().zip(repository.blobs(&names)) {
            let size = start_manifest.stamp(path).map(|stamp| stamp.size);
            // A filter makes another file of the object than the one that was there, and an object can be forged.
            let is_it =
                |bytes: &Vec<u8>| Some(bytes.len() as u64) == size && index::object_name(bytes) == name;
            contents.extend(bytes.filter(is_it).map(|bytes| (path.clone(), bytes)));
        }
        contents
    }

    fn state_of(&self, path: &Path) -> Option<&Vec<u8>> {
        self.state.get(path).filter(|_| GitPart::is_state(path))
    }

    /// Returns the files of the state of repositories.
    pub(crate) fn state_files(&self) -> impl Iterator<Item = &PathBuf> {
        self.state.keys().filter(|path| GitPart::is_state(path))
    }

    /// Returns the files that can be shown as they were; none if they are too many.
    pub(crate) fn all_paths(&self, start_manifest: &WorkspaceManifest) -> BTreeSet<PathBuf> {
        let files: BTreeSet<PathBuf> =
            self.objects(start_manifest).keys().chain(self.copies.keys()).cloned().collect();
        let bytes: u64 =
            files.iter().filter_map(|path| start_manifest.stamp(path)).map(|stamp| stamp.size).sum();
        if files.len() > MAX_SHOWN || bytes > MAX_SHOWN_BYTES { BTreeSet::new() } else { files }
    }

    /// Writes contents into a folder, for a sandbox showing them in place of the present files.
    pub(crate) fn copies(
        folder: &Path,
        start_manifest: &WorkspaceManifest,
        contents: &BTreeMap<PathBuf, Vec<u8>>,
    ) -> Result<Vec<KeptCopy>, WorkError> {
        let write = |(path, bytes): (&PathBuf, &Vec<u8>)| {
            let stamp = start_manifest.stamp(path).unwrap_or_default();
            let name = Sha256Digest::of_bytes(path.as_os_str().as_encoded_bytes()).to_string();
            let copy = folder.join(name.replace(':', "-"));
            store(&copy, bytes, stamp).map(|()| KeptCopy { path: path.clone(), copy, is_original: true })
        };
        let copies = contents.iter().map(write).collect::<io::Result<_>>();
        copies.map_err(|error| {
            let folder = folder.display();
            WorkError::environmental(format!("cannot write files as they were into {folder}: {error}"))
        })
    }
}

/// Reads a file of a workspace if it is still as listed; `None`: it is not, is no regular file, too large, or cannot be read.
fn read(root: &Path, start_manifest: &WorkspaceManifest, path: &Path, limit: u64) -> Option<Vec<u8>> {
    let listed = start_manifest.stamp(path)?;
    let is_file = ConfinedDir::open(root).and_then(|root| root.is_file(path));
    is_file.ok().filter(|is_file| *is_file && listed.size <= limit)?;
    let mut file = open_regular(&root.join(path), OFlags::RDONLY | OFlags::NOFOLLOW).ok()?;
    let mut bytes = Vec::with_capacity(usize::try_from(listed.size).ok()?);
    file.read_to_end(&mut bytes).ok()?;
    (FileStamp::from(rustix::fs::fstat(&file).ok()?) == listed).then_some(bytes)
}

/// Writes a file with a mode and a time; others may write the same at once.
fn store(file: &Path, bytes: &[u8], stamp: FileStamp) -> io::Result<()> {
    if fs::read(file).is_ok_and(|content| content == bytes) {
        return Ok(());
    }
    let folder = file.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder)?;
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(bytes)?;
    new.as_file().set_permissions(fs::Permissions::from_mode(stamp.mode & 0o777))?;
    let nanos = u64::try_from(stamp.modified).unwrap_or_default();
    new.as_file().set_modified(SystemTime::UNIX_EPOCH + Duration::from_nanos(nanos))?;
    new.persist(file).map(drop).map_err(io::Error::from)
}

/// Returns when a file was written, in nanoseconds since 1970.
fn modified(file: &Path) -> Option<i64> {
    rustix::fs::stat(file).ok().map(|stat| FileStamp::from(stat).modified)
}

/// Packs files, by their paths, into an archive that `tar` reads.
pub(super) fn pack_archive(files: &BTreeMap<PathBuf, Vec<u8>>) -> io::Result<Vec<u8>> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len().try_into().map_err(io::Error::other)?);
        header.set_mode(0o644);
        header.set_cksum();
        builder.append_data(&mut header, path, bytes.as_slice())?;
    }
    builder.into_inner()
}

/// Reads the files of an archive.
pub(super) fn unpack_archive(bytes: &[u8]) -> io::Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut files = BTreeMap::new();
    for entry in tar::Archive::new(bytes).entries()? {
        let mut entry = entry?;
        let mut content = Vec::new();
        entry.read_to_end(&mut content)?;
        files.insert(entry.path()?.into_owned(), content);
    }
    Ok(files)
}
