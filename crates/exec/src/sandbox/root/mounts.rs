//! Builds the view: a new root with nothing but the shown files.
//!
//! The old root stays reachable below [`OLD_ROOT`] until the end, and everything is found there through
//! an open descriptor: the target of a name cannot change between lookup and mount.

use std::{
    fs, io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Mode, OFlags, ResolveFlags},
    mount::{MountFlags, UnmountFlags},
};

use wf_model::DEFAULT_SCRATCH_BYTES;

use super::{
    grants::show_writable,
    mount::{
        MountAccess, NEW_ROOT, OLD_ROOT, PLAIN_MOUNT_FLAGS, aside, beneath, bind, by_descriptor, cover,
        devices, mount_over, new, open, open_without_links, overlay, processes, remount, scratch, tmpfs,
    },
    places::{EMPTY_FILES, EMPTY_FOLDERS},
    private, programs,
    view::{covered, visible},
};
use crate::{
    agent_tool,
    sandbox::{
        IsolationKind,
        error::SandboxError,
        messages::{PRIVATE_LIST_FD, SandboxOrder},
        spec::{SandboxSpec, WorkspaceLayer},
    },
};

/// The guards of a view, and the only executable files in it, if they are restricted.
pub(crate) struct SandboxView {
    pub(crate) isolation: Vec<IsolationKind>,
    pub(crate) programs: Option<Vec<PathBuf>>,
    /// All existing writable paths.
    pub(crate) writable: Vec<PathBuf>,
}

/// Builds the view of a sandbox and enters it.
pub(crate) fn enter(order: &SandboxOrder) -> Result<SandboxView, SandboxError> {
    let view = SandboxViewBuilder::begin(&order.sandbox)?;
    let isolation = view.build()?;
    let programs = match &order.sandbox.programs {
        None => None,
        Some(names) => {
            // A request about files executes nothing.
            let own = order.argv.first().filter(|_| !agent_tool::is_stage(&order.argv));
            let names: Vec<String> = names.iter().chain(own).cloned().collect();
            Some(programs::restrict_programs(&view, &names, order.path.as_deref(), &order.cwd)?)
        }
    };
    let writable = view.writable(isolation.contains(&IsolationKind::Scratch));
    view.seal().map_err(view_error("enter the new root"))?;
    Ok(SandboxView { isolation, programs, writable })
}

/// A view being built.
pub(super) struct SandboxViewBuilder<'a> {
    pub(super) sandbox: &'a SandboxSpec,
    old: OwnedFd,
    /// The files of the system that other users cannot read.
    private: Vec<PathBuf>,
}

/// Returns the size of the writable layers, in bytes.
pub(super) fn scratch_size(sandbox: &SandboxSpec) -> u64 {
    sandbox.limits.scratch.unwrap_or(DEFAULT_SCRATCH_BYTES)
}

/// Names the failed operation in an error.
pub(super) fn view_error(tried: &str) -> impl Fn(io::Error) -> SandboxError + '_ {
    move |cause| SandboxError::View { tried: tried.to_owned(), cause }
}

impl<'a> SandboxViewBuilder<'a> {
    /// Puts the old root aside.
    fn begin(sandbox: &'a SandboxSpec) -> Result<Self, SandboxError> {
        if sandbox.root == Path::new("/") {
            return Err(SandboxError::WholeWorkspace);
        }
        let private = fs::read(format!("/proc/self/fd/{PRIVATE_LIST_FD}"));
        let private = private::decoded(&private.map_err(view_error("read the hidden paths"))?);
        aside().map_err(view_error("put the root aside"))?;
        let scratch = scratch_size(sandbox);
        let old = open(Path::new(OLD_ROOT)).map_err(view_error("open the old root"))?;
        for nothing in ["/void", "/empty"] {
            mount_over(Path::new(nothing), Path::new(nothing)).map_err(view_error("create an empty file"))?;
        }
        tmpfs(Path::new(NEW_ROOT), "mode=755,size=16m").map_err(view_error("create a new root"))?;
        tmpfs(Path::new("/scratch"), &format!("mode=755,size={scratch}"))
            .map_err(view_error("create a writable layer"))?;
        Ok(Self { sandbox, old, private })
    }

    fn build(&self) -> Result<Vec<IsolationKind>, SandboxError> {
        let mut isolation = vec![IsolationKind::Files];
        for (name, at) in [("tmp", "/tmp"), ("vartmp", "/var/tmp"), ("shm", "/dev/shm")] {
            scratch(name, Path::new(at)).map_err(view_error(at))?;
        }
        let mut shown: Vec<PathBuf> = Vec::new();
        let (system, rest): (Vec<PathBuf>, Vec<PathBuf>) = visible(self.sandbox)
            .into_iter()
            .partition(|path| !self.sandbox.home.as_ref().is_some_and(|home| path.starts_with(home)));
        self.show(system, &mut shown)?;
        if let Some(home) = &self.sandbox.home
            && home.is_absolute()
            && home.parent().is_some()
            && !covered(home, &shown)
            && !home.starts_with(&self.sandbox.root)
        {
            scratch("home", &self.place(home)).map_err(view_error("create an empty home"))?;
            self.show(rest, &mut shown)?;
            self.write_git_settings(&self.place(home))?;
        } else {
            self.show(rest, &mut shown)?;
        }
        // A work tree can be in the folder of its repository.
        self.show_git_folders()?;
        if self.workspace()? {
            isolation.push(IsolationKind::Scratch);
        }
        devices().map_err(view_error("create the devices"))?;
        self.hide()?;
        for file in self.sandbox.writable_elsewhere() {
            let (source, place) = self.find(file).map_err(view_error("find a writable file"))?;
            bind(&source, &place, MountAccess::Write)?;
        }
        self.lock_hidden()?;
        if processes().map_err(view_error("mount /proc"))? {
            isolation.push(IsolationKind::Count);
        }
        Ok(isolation)
    }

    /// Shows paths as they are. Missing ones are skipped.
    fn show(&self, paths: Vec<PathBuf>, shown: &mut Vec<PathBuf>) -> Result<(), SandboxError> {
        let mut links = Vec::new();
        for path in paths {
            if let Ok((source, place)) = self.find(&path) {
                if place != path {
                    self.link(&path, &place);
                }
                links.push((source, place));
            }
        }
        links.sort_by_key(|(_, place)| place.components().count());
        for (source, place) in links {
            if place == Path::new("/") {
                return Err(SandboxError::WholeFileSystem);
            }
            if !covered(&place, shown) {
                bind(&source, &place, MountAccess::Read)?;
                shown.push(place);
            }
        }
        Ok(())
    }

    /// Creates a link where the old root has one, if possible.
    pub(super) fn link(&self, path: &Path, to: &Path) {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return;
        };
        let at = new(&self.place(parent));
        if fs::create_dir_all(&at).is_ok() {
            let _ = std::os::unix::fs::symlink(to, at.join(name));
        }
    }

    /// Shows the workspace. Returns true if writes to it are discarded.
    fn workspace(&self) -> Result<bool, SandboxError> {
        let (root, place) = self.find(&self.sandbox.root).map_err(view_error("find the workspace"))?;
        let Some(worktree) = &self.sandbox.worktree else {
            return self.show_workspace(&root, &place);
        };
        let (folder, _) = self.find(worktree).map_err(view_error("find the worktree"))?;
        let is_scratch = self.show_workspace(&folder, &place)?;
        // Programs read the history of the workspace, and cannot change it.
        if let Ok(repository) = beneath(&root, ".git", OFlags::PATH) {
            bind(&repository, &place.join(".git"), MountAccess::Read)?;
        }
        Ok(is_scratch)
    }

    /// Shows a folder as the workspace, at its place.
    fn show_workspace(&self, root: &OwnedFd, place: &Path) -> Result<bool, SandboxError> {
        match &self.sandbox.layer {
            WorkspaceLayer::Scratch { whiteouts } => {
                let is_there = |path: &&PathBuf| {
                    let folder = beneath(root, &path.to_string_lossy(), OFlags::PATH | OFlags::NOFOLLOW);
                    // A worktree has no ignored files, and none that came after it was made.
                    self.sandbox.worktree.is_none() || folder.is_ok()
                };
                let whiteouts: Vec<PathBuf> = whiteouts.iter().filter(is_there).cloned().collect();
                match overlay(root, place, &whiteouts) {
                    Ok(()) => return self.show_kept(place).map(|()| true),
                    Err(cause) if !whiteouts.is_empty() => {
                        return Err(SandboxError::Unhidable { paths: whiteouts, cause });
                    }
                    Err(_) => {}
                }
                if let Some(kept) = self.sandbox.copies.iter().find(|kept| kept.is_original) {
                    return Err(SandboxError::NoLayers(kept.path.clone()));
                }
                bind(root, place, MountAccess::Read)?;
                Ok(false)
            }
            WorkspaceLayer::Direct { write, control, .. } => {
                if !self.layer_kept(root, place)? {
                    bind(root, place, MountAccess::Read)?;
                }
                show_writable(root, place, write, control)?;
                Ok(false)
            }
        }
    }

    /// Makes hidden folders and files appear empty.
    fn hide(&self) -> Result<(), SandboxError> {
        for path in &self.sandbox.hidden {
            let place = new(&self.place(path));
            if place.is_dir() {
                let failed = view_error("hide the state and the keys");
                tmpfs(&place, "mode=755,size=1m").map_err(&failed)?;
                // Outputs are written there, and git does not list them: so it is outside.
                if path.starts_with(&self.sandbox.root) {
                    fs::write(place.join(".gitignore"), "*\n").map_err(&failed)?;
                }
            }
        }
        for path in EMPTY_FILES.iter().chain(&EMPTY_FOLDERS) {
            let at = new(Path::new(path));
            let nothing = match fs::symlink_metadata(&at) {
                Ok(metadata) if metadata.is_file() => "/empty",
                Ok(metadata) if metadata.is_dir() => "/void",
                _ => continue,
            };
            mount_over(Path::new(nothing), &at).map_err(view_error(&format!("hide {path}")))?;
        }
        self.hide_unseen().map_err(view_error("hide unapproved files"))?;
        self.hide_private().map_err(view_error("hide private files of the system"))
    }

    /// Hides the unseen paths of the workspace.
    fn hide_unseen(&self) -> io::Result<()> {
        let WorkspaceLayer::Direct { unseen, .. } = &self.sandbox.layer else {
            return Ok(());
        };
        let workspace = self.canonical(&self.sandbox.root).unwrap_or_default();
        let root = open(Path::new(NEW_ROOT))?;
        let mut unseen = unseen.iter();
        // A worktree has no ignored files.
        let in_worktree = self.sandbox.worktree.is_some();
        unseen.try_for_each(|path| match cover(&root, &workspace.join(path)) {
            Err(error) if in_worktree && error.kind() == io::ErrorKind::NotFound => Ok(()),
            covered => covered,
        })
    }

    /// Hides the files of the system that other users cannot read.
    fn hide_private(&self) -> io::Result<()> {
        let sandbox = self.sandbox;
        // A path in the workspace grants nothing else: a step may have put a link there.
        let elsewhere = sandbox.granted.iter().filter(|path| !path.starts_with(&sandbox.root));
        let granted = [&sandbox.root].into_iter().chain(elsewhere);
        let granted = granted.chain(&sandbox.hidden);
        let granted: Vec<PathBuf> =
            granted.chain(sandbox.writable_elsewhere()).map(|path| self.place(path)).collect();
        let private = self.private.clone();
        let root = open(Path::new(NEW_ROOT))?;
        for one in private::but(&granted, private, &|path| new(path))? {
            // A path that is not shown, or gone by now, need not be hidden.
            if open_without_links(&root, &one).is_ok() {
                cover(&root, &one)?;
            }
        }
        Ok(())
    }

    fn lock_hidden(&self) -> Result<(), SandboxError> {
        for path in &self.sandbox.hidden {
            let place = new(&self.place(path));
            if place.is_dir() {
                remount(&place, MountAccess::Read, false)
                    .map_err(view_error("hide the state and the keys"))?;
            }
        }
        Ok(())
    }

    /// Opens a path of the old root and returns its path without links.
    pub(super) fn find(&self, path: &Path) -> io::Result<(OwnedFd, PathBuf)> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        let file = rustix::fs::openat2(&self.old, path, flags, Mode::empty(), resolve)?;
        let place = fs::read_link(by_descriptor(&file))?;
        let place = place.strip_prefix(OLD_ROOT).map_err(io::Error::other)?;
        Ok((file, Path::new("/").join(place)))
    }

    pub(super) fn canonical(&self, path: &Path) -> Option<PathBuf> {
        self.find(path).ok().map(|(_, place)| place)
    }

    /// Returns a path without links, as far as it exists.
    fn place(&self, path: &Path) -> PathBuf {
        self.canonical(path).unwrap_or_else(|| path.to_path_buf())
    }

    /// Removes execute permission from everything a step can write, and from the workspace.
    pub(super) fn make_inert(&self) -> Result<(), SandboxError> {
        let failed = view_error("protect writable paths");
        let mut places: Vec<PathBuf> = ["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from).into();
        places.extend(self.sandbox.home.as_ref().and_then(|home| self.canonical(home)));
        for place in places {
            remount(&new(&place), MountAccess::Inert, false).map_err(&failed)?;
        }
        let root = self.canonical(&self.sandbox.root).unwrap_or_default();
        remount(&new(&root), MountAccess::Inert, true).map_err(failed)
    }

    /// Returns the writable paths. `scratch`: the workspace has a scratch layer.
    fn writable(&self, scratch: bool) -> Vec<PathBuf> {
        let root = self.canonical(&self.sandbox.root).unwrap_or_default();
        let mut places: Vec<PathBuf> = ["/tmp", "/var/tmp", "/dev"].map(PathBuf::from).into();
        let home = self.sandbox.home.iter().filter(|home| home.parent().is_some());
        places.extend(home.map(|home| self.place(home)));
        match &self.sandbox.layer {
            WorkspaceLayer::Scratch { .. } if scratch => places.push(root),
            WorkspaceLayer::Scratch { .. } => {}
            WorkspaceLayer::Direct { write, .. } => places.extend(write.iter().map(|path| root.join(path))),
        }
        places.extend(self.sandbox.writable_elsewhere().filter_map(|file| self.canonical(file)));
        places
    }

    /// Makes the new root the only one.
    fn seal(self) -> io::Result<()> {
        drop(self.old);
        rustix::process::chdir(NEW_ROOT)?;
        rustix::process::pivot_root(".", ".")?;
        rustix::mount::unmount(".", UnmountFlags::DETACH)?;
        rustix::process::chdir("/")?;
        rustix::mount::mount_remount("/", PLAIN_MOUNT_FLAGS | MountFlags::RDONLY, c"")?;
        Ok(())
    }
}
