//! The files a check keeps as they were when the run began: a step that may change them changes nothing for the check.
//!
//! A check keeps a file that git tracked then, that its command names, and that is a product only since a pattern or a
//! folder covers it: `writes: ["**/*.py"]` is meant for the work, not for the test judging it. Named literally in
//! `writes`, the file is a product.
//!
//! A plan written during the run was not known when it began. Of a tracked file its checks name there is no copy, so it
//! must not change.
//!
//! **Invariant:** a copy is shown only after its content was compared with the digest recorded with the run.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustix::fs::OFlags;

use wf_base::digest::Sha256Digest;
use wf_core::machine::PinnedFile;
use wf_model::{Check, CheckProbe, JsonObject, Plan, expr::Template};

use super::declarations::{
    declared::{DeclaredProducts, checks, family},
    named,
};
use crate::{
    disk::{confined_dir::ConfinedDir, files::open_regular},
    processes::environment::KnownValues,
    sandbox::KeptCopy,
    work_error::WorkError,
};

/// The files kept for checks of a run.
#[derive(Clone, Debug, Default)]
pub struct KeptFiles {
    /// The files of which there is a copy, by path.
    files: Arc<BTreeMap<PathBuf, PinnedFile>>,
    /// The folder of the copies.
    folder: PathBuf,
    /// The files kept for checks.
    kept: Arc<BTreeSet<PathBuf>>,
    /// The files that git tracks, for checks not known yet.
    tracked: Arc<BTreeSet<PathBuf>>,
}

/// Returns the products named by checks of a plan, and of all plans it uses, and present now. Those of them that git
/// tracks are copied when the run begins, and kept unless they are declared literally.
pub fn files_to_keep(plan: &Arc<Plan>, root: &Path, params: &JsonObject) -> BTreeSet<PathBuf> {
    let declared = DeclaredProducts::new(plan, params);
    let mut paths = BTreeSet::new();
    for (at, plan) in family(plan).into_iter().enumerate() {
        let params = (at == 0).then_some(params);
        for check in checks(plan) {
            paths.extend(named::relied_paths(&rendered(check, params)));
        }
    }
    let is_file =
        |path: &PathBuf| fs::symlink_metadata(root.join(path)).is_ok_and(|metadata| metadata.is_file());
    paths.retain(|path| declared.has(path) && is_file(path));
    paths
}

/// Renders the words of a check, as far as its parameters say.
fn rendered(check: &Check, params: Option<&JsonObject>) -> Check {
    let values = KnownValues::of_params(params);
    let mut check = check.clone();
    if let Some(CheckProbe::Exec(words)) = &mut check.probe {
        let texts = words.iter().filter_map(|word| word.render(&values).ok());
        *words = texts.map(|text| Template::literal(&text)).collect();
    }
    check
}

impl KeptFiles {
    /// Copies files of a workspace as they are now, as far as git tracks them. One that cannot be copied is kept all the same:
    /// it may not change.
    pub fn copy(
        root: &Path,
        mut named: BTreeSet<PathBuf>,
        tracked: BTreeSet<PathBuf>,
        folder: PathBuf,
    ) -> Self {
        named.retain(|path| tracked.contains(path));
        let copied = named.iter().filter_map(|path| Some((path.clone(), copy(root, path, &folder)?)));
        let files = Arc::new(copied.collect());
        Self { files, folder, kept: Arc::new(named), tracked: Arc::new(tracked) }
    }

    /// Returns the files a run kept when it began.
    pub fn recorded(files: &[PinnedFile], folder: PathBuf) -> Self {
        let files: BTreeMap<_, _> =
            files.iter().map(|file| (PathBuf::from(&file.path), file.clone())).collect();
        let paths = files.keys().cloned().collect();
        Self { files: Arc::new(files), folder, kept: Arc::new(paths), tracked: Arc::default() }
    }

    /// Returns the same files for checks not known when they were copied: they keep all tracked files they name.
    #[must_use]
    pub(super) fn of_unknown_checks(self) -> Self {
        let paths = self.kept.union(&self.tracked).cloned().collect();
        Self { kept: Arc::new(paths), ..self }
    }

    /// Returns the same without some files: they may not change.
    #[must_use]
    pub(super) fn without(mut self, left: &BTreeSet<PathBuf>) -> Self {
        Arc::make_mut(&mut self.files).retain(|path, _| !left.contains(path));
        Arc::make_mut(&mut self.kept).retain(|path| !left.contains(path));
        Arc::make_mut(&mut self.tracked).retain(|path| !left.contains(path));
        self
    }

    /// Returns the files with a copy.
    pub(super) fn files(&self) -> Vec<PinnedFile> {
        self.files.values().cloned().collect()
    }

    /// True if a check naming a file keeps it.
    pub(super) fn covers(&self, path: &Path) -> bool {
        self.kept.contains(path)
    }

    /// True if there is a copy of a file.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.files.contains_key(path)
    }

    /// Returns the copies of files. Fails if one is not as it was recorded.
    pub(super) fn copies(&self, paths: &BTreeSet<PathBuf>) -> Result<Vec<KeptCopy>, WorkError> {
        let files = paths.iter().filter_map(|path| self.files.get_key_value(path));
        files
            .map(|(path, file)| {
                let copy = self.folder.join(path);
                let opened = open_regular(&copy, OFlags::RDONLY | OFlags::NOFOLLOW);
                match opened.and_then(|opened| Sha256Digest::of_reader(&opened)) {
                    Ok(digest) if digest == file.digest => {
                        Ok(KeptCopy { path: path.clone(), copy, is_original: true })
                    }
                    _ => {
                        let shown = path.display();
                        let reason = format!(
                            "the copy of `{shown}` that was made when the run began is not there any more"
                        );
                        Err(WorkError::environmental(reason))
                    }
                }
            })
            .collect()
    }
}

/// Copies one file; `None`: it is no regular file, or cannot be read.
fn copy(root: &Path, path: &Path, folder: &Path) -> Option<PinnedFile> {
    let is_file = ConfinedDir::open(root).and_then(|root| root.is_file(path));
    is_file.ok().filter(|is_file| *is_file)?;
    let mut file = open_regular(&root.join(path), OFlags::RDONLY | OFlags::NOFOLLOW).ok()?;
    let mode = file.metadata().ok()?.permissions().mode();
    let to = folder.join(path);
    fs::create_dir_all(to.parent()?).ok()?;
    drop(fs::remove_file(&to));
    let mut copy = fs::File::create_new(&to).ok()?;
    std::io::copy(&mut file, &mut copy).ok()?;
    copy.set_permissions(fs::Permissions::from_mode(mode)).ok()?;
    let modified = file.metadata().and_then(|metadata| metadata.modified());
    drop(modified.and_then(|time| copy.set_modified(time)));
    let digest = Sha256Digest::of_reader(&open_regular(&to, OFlags::RDONLY).ok()?).ok()?;
    let executable = mode & 0o111 != 0;
    Some(PinnedFile { path: path.to_str()?.to_owned(), link: false, executable, digest })
}
