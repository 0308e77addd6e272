//! Builds the view: a new root, in which there is only what is shown.
//!
//! The old root stays reachable below [`OLD`] until the end, so everything is found there by an
//! opened descriptor: what a name means cannot change between looking and showing.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::mount::{MountFlags, UnmountFlags};

use super::mount::{
    Access, NEW, OLD, PLAIN, aside, beneath, bind, by_descriptor, cover, devices, make, new, open,
    over, overlay, processes, remount, scratch, tmpfs, unlinked,
};
use super::places::{EMPTY_FILES, EMPTY_FOLDERS};
use super::view::{covered, visible};
use super::words::{Order, PRIVATE};
use super::{Guard, Layer, Sandbox, private, programs};

/// How much may be written if nothing is said, in bytes.
const SCRATCH: u64 = 2 << 30;

/// Something that could not be shown as it was to be.
pub(super) type Failed = String;

/// What a view enforces, and the only files that may be executed in it, if not all may.
pub(super) struct Entered {
    pub(super) guards: Vec<Guard>,
    pub(super) programs: Option<Vec<PathBuf>>,
    /// All that may be written, as far as it is there.
    pub(super) writable: Vec<PathBuf>,
}

/// Builds the view of a sandbox and enters it.
pub(super) fn enter(order: &Order) -> Result<Entered, Failed> {
    let view = View::begin(&order.sandbox)?;
    let guards = view.build()?;
    let programs = match &order.sandbox.programs {
        None => None,
        Some(names) => {
            let names: Vec<String> = names.iter().chain(order.argv.first()).cloned().collect();
            let around = (order.path.as_deref(), order.cwd.as_path());
            Some(programs::only(&view, &names, around)?)
        }
    };
    let writable = view.writable(guards.contains(&Guard::Scratch));
    view.seal().map_err(said("enter the new root"))?;
    Ok(Entered {
        guards,
        programs,
        writable,
    })
}

/// A view that is being built.
pub(super) struct View<'a> {
    sandbox: &'a Sandbox,
    old: OwnedFd,
    /// What of the system others cannot read.
    private: Vec<PathBuf>,
}

/// Says what was tried when something failed.
pub(super) fn said(tried: &str) -> impl Fn(io::Error) -> Failed + '_ {
    move |error| format!("the sandbox cannot {tried}: {error}")
}

impl<'a> View<'a> {
    /// Puts the old root aside.
    fn begin(sandbox: &'a Sandbox) -> Result<Self, Failed> {
        if sandbox.root == Path::new("/") {
            return Err("a workspace that is all of the file system cannot be confined".into());
        }
        let private = private::read(PRIVATE).map_err(said("read what it hides"))?;
        aside().map_err(said("put the root aside"))?;
        let scratch = sandbox.limits.scratch.unwrap_or(SCRATCH);
        let old = open(Path::new(OLD)).map_err(said("open the old root"))?;
        for nothing in ["/void", "/empty"] {
            over(Path::new(nothing), Path::new(nothing)).map_err(said("make something empty"))?;
        }
        tmpfs(Path::new(NEW), "mode=755,size=16m").map_err(said("make a new root"))?;
        tmpfs(Path::new("/scratch"), &format!("mode=755,size={scratch}"))
            .map_err(said("make room to write"))?;
        Ok(Self {
            sandbox,
            old,
            private,
        })
    }

    fn build(&self) -> Result<Vec<Guard>, Failed> {
        let mut guards = vec![Guard::Files];
        for (name, at) in [("tmp", "/tmp"), ("vartmp", "/var/tmp"), ("shm", "/dev/shm")] {
            scratch(name, Path::new(at)).map_err(said(at))?;
        }
        let mut shown: Vec<PathBuf> = Vec::new();
        let (system, rest): (Vec<PathBuf>, Vec<PathBuf>) =
            visible(self.sandbox).into_iter().partition(|path| {
                !self
                    .sandbox
                    .home
                    .as_ref()
                    .is_some_and(|home| path.starts_with(home))
            });
        self.show(system, &mut shown)?;
        if let Some(home) = &self.sandbox.home
            && home.is_absolute()
            && home.parent().is_some()
            && !covered(home, &shown)
            && !home.starts_with(&self.sandbox.root)
        {
            let home = self.canonical(home).unwrap_or_else(|| home.clone());
            scratch("home", &home).map_err(said("make an empty home"))?;
        }
        self.show(rest, &mut shown)?;
        if self.workspace()? {
            guards.push(Guard::Scratch);
        }
        devices().map_err(said("make the devices"))?;
        self.hide()?;
        if let Layer::Direct { files, .. } = &self.sandbox.layer {
            for file in files {
                let (source, place) = self.find(file).map_err(said("find a file to write"))?;
                bind(&source, &place, Access::Write)?;
            }
        }
        self.lock_hidden()?;
        if processes().map_err(said("show its processes"))? {
            guards.push(Guard::Count);
        }
        Ok(guards)
    }

    /// Shows paths as they are. Those that are not there are left out.
    fn show(&self, paths: Vec<PathBuf>, shown: &mut Vec<PathBuf>) -> Result<(), Failed> {
        let mut found = Vec::new();
        for path in paths {
            if let Ok((source, place)) = self.find(&path) {
                if place != path {
                    self.link(&path, &place);
                }
                found.push((source, place));
            }
        }
        found.sort_by_key(|(_, place)| place.components().count());
        for (source, place) in found {
            if place == Path::new("/") {
                return Err(
                    "a sandbox cannot show all of the file system: name folders in `read`".into(),
                );
            }
            if !covered(&place, shown) {
                bind(&source, &place, Access::Read)?;
                shown.push(place);
            }
        }
        Ok(())
    }

    /// Makes a link where the old root has one, if there is room for it.
    pub(super) fn link(&self, path: &Path, to: &Path) {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return;
        };
        let parent = self
            .canonical(parent)
            .unwrap_or_else(|| parent.to_path_buf());
        let at = new(&parent);
        if fs::create_dir_all(&at).is_ok() {
            let _ = std::os::unix::fs::symlink(to, at.join(name));
        }
    }

    /// The workspace. Says whether what is written to it is thrown away.
    fn workspace(&self) -> Result<bool, Failed> {
        let (root, place) = self
            .find(&self.sandbox.root)
            .map_err(said("find the workspace"))?;
        match &self.sandbox.layer {
            Layer::Scratch { whiteouts } => {
                match overlay(&root, &place, whiteouts) {
                    Ok(()) => return Ok(true),
                    Err(error) if !whiteouts.is_empty() => {
                        let paths = shown(whiteouts);
                        return Err(format!(
                            "the sandbox cannot hide what is new in the workspace ({error}): {paths}; name it in \
                             `writes` or `artifacts` of the step that makes it, or remove it"
                        ));
                    }
                    Err(_) => {}
                }
                bind(&root, &place, Access::Read)?;
                Ok(false)
            }
            Layer::Direct { write, control, .. } => {
                direct(&root, &place, (write, control))?;
                Ok(false)
            }
        }
    }

    /// Folders and files that seem to be empty.
    fn hide(&self) -> Result<(), Failed> {
        let nothing = |kind: &str| format!("hide {kind}");
        for path in &self.sandbox.hidden {
            let place = self.canonical(path).unwrap_or_else(|| path.clone());
            if new(&place).is_dir() {
                tmpfs(&new(&place), "mode=755,size=1m")
                    .map_err(said("hide the state and the keys"))?;
            }
        }
        for path in EMPTY_FILES {
            let at = new(Path::new(path));
            if fs::symlink_metadata(&at).is_ok_and(|found| found.is_file()) {
                over(Path::new("/empty"), &at).map_err(said(&nothing(path)))?;
            }
        }
        for path in EMPTY_FOLDERS {
            let at = new(Path::new(path));
            if fs::symlink_metadata(&at).is_ok_and(|found| found.is_dir()) {
                over(Path::new("/void"), &at).map_err(said(&nothing(path)))?;
            }
        }
        self.hide_unseen()
            .map_err(said("hide what was not approved"))?;
        self.hide_private()
            .map_err(said("hide private files of the system"))
    }

    /// What of the workspace is not to be seen.
    fn hide_unseen(&self) -> io::Result<()> {
        let Layer::Direct { unseen, .. } = &self.sandbox.layer else {
            return Ok(());
        };
        let workspace = self.canonical(&self.sandbox.root).unwrap_or_default();
        let root = open(Path::new(NEW))?;
        let mut unseen = unseen.iter();
        unseen.try_for_each(|path| cover(&root, &workspace.join(path)))
    }

    /// What of the system others cannot read.
    fn hide_private(&self) -> io::Result<()> {
        let sandbox = self.sandbox;
        let files: &[PathBuf] = match &sandbox.layer {
            Layer::Direct { files, .. } => files,
            Layer::Scratch { .. } => &[],
        };
        let granted = [&sandbox.root].into_iter().chain(&sandbox.granted);
        let granted = granted.chain(&sandbox.hidden);
        let granted: Vec<PathBuf> = granted
            .chain(files)
            .map(|path| self.canonical(path).unwrap_or_else(|| path.clone()))
            .collect();
        let private = self.private.clone();
        let root = open(Path::new(NEW))?;
        for one in private::but(&granted, private, &|path| new(path))? {
            // What is not shown, or gone by now, needs not be hidden.
            if unlinked(&root, &one).is_ok() {
                cover(&root, &one)?;
            }
        }
        Ok(())
    }

    fn lock_hidden(&self) -> Result<(), Failed> {
        for path in &self.sandbox.hidden {
            let place = self.canonical(path).unwrap_or_else(|| path.clone());
            if new(&place).is_dir() {
                remount(&new(&place), Access::Read, false)
                    .map_err(said("hide the state and the keys"))?;
            }
        }
        Ok(())
    }

    /// Opens a path of the old root, and says which path without links it means.
    pub(super) fn find(&self, path: &Path) -> io::Result<(OwnedFd, PathBuf)> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        let found = rustix::fs::openat2(&self.old, path, flags, Mode::empty(), resolve)?;
        let place = fs::read_link(by_descriptor(&found))?;
        let place = place.strip_prefix(OLD).map_err(io::Error::other)?;
        Ok((found, Path::new("/").join(place)))
    }

    pub(super) fn canonical(&self, path: &Path) -> Option<PathBuf> {
        self.find(path).ok().map(|(_, place)| place)
    }

    /// Lets nothing be executed that lies where a step can write, or in the workspace.
    pub(super) fn make_inert(&self) -> Result<(), Failed> {
        let failed = said("protect what may be written");
        let mut places: Vec<PathBuf> = ["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from).into();
        places.extend(
            self.sandbox
                .home
                .as_ref()
                .and_then(|home| self.canonical(home)),
        );
        for place in places {
            remount(&new(&place), Access::Inert, false).map_err(&failed)?;
        }
        let root = self.canonical(&self.sandbox.root).unwrap_or_default();
        remount(&new(&root), Access::Inert, true).map_err(failed)
    }

    /// Where something may be written. A scratch layer lies over the workspace, or does not.
    fn writable(&self, scratch: bool) -> Vec<PathBuf> {
        let root = self.canonical(&self.sandbox.root).unwrap_or_default();
        let mut places: Vec<PathBuf> = ["/tmp", "/var/tmp", "/dev"].map(PathBuf::from).into();
        places.extend(
            self.sandbox
                .home
                .as_ref()
                .filter(|home| home.parent().is_some())
                .map(|home| self.canonical(home).unwrap_or_else(|| home.clone())),
        );
        match &self.sandbox.layer {
            Layer::Scratch { .. } if scratch => places.push(root),
            Layer::Scratch { .. } => {}
            Layer::Direct { write, files, .. } => {
                places.extend(write.iter().map(|path| root.join(path)));
                places.extend(files.iter().filter_map(|file| self.canonical(file)));
            }
        }
        places
    }

    /// Makes the new root the only one.
    fn seal(self) -> io::Result<()> {
        drop(self.old);
        rustix::process::chdir(NEW)?;
        rustix::process::pivot_root(".", ".")?;
        rustix::mount::unmount(".", UnmountFlags::DETACH)?;
        rustix::process::chdir("/")?;
        rustix::mount::mount_remount("/", PLAIN | MountFlags::RDONLY, c"")?;
        Ok(())
    }
}

/// The workspace itself, as far as it may be written: what contains others first, so that each part
/// is as it is named most closely.
fn direct(
    root: &OwnedFd,
    place: &Path,
    (write, control): (&[String], &[String]),
) -> Result<(), Failed> {
    bind(root, place, Access::Read)?;
    let mut parts = Vec::new();
    for path in write {
        let source = beneath(root, path, OFlags::PATH)
            .or_else(|_| make(root, path).and_then(|()| beneath(root, path, OFlags::PATH)))
            .map_err(said(&format!("let `{path}` be written")))?;
        let at = meant(&source)?;
        let below = at.strip_prefix(place).unwrap_or(&at);
        if let Some(file) = control.iter().find(|file| below.starts_with(file)) {
            return Err(format!(
                "the sandbox lets `{path}` not be written: it leads to `{file}`, which decides over wf"
            ));
        }
        parts.push((at, source, Access::Write));
    }
    for file in control {
        // What is not there cannot be shown; whoever makes it is told afterwards.
        if let Ok(source) = beneath(root, file, OFlags::PATH) {
            parts.push((meant(&source)?, source, Access::Read));
        }
    }
    parts.sort_by_key(|(at, ..)| at.components().count());
    for (at, source, access) in parts {
        bind(&source, &at, access)?;
    }
    Ok(())
}

/// The first of some paths.
fn shown(paths: &[PathBuf]) -> String {
    let first = paths.iter().take(3).map(|path| path.display().to_string());
    first.collect::<Vec<_>>().join(", ")
}

/// The path without links that something open has.
fn meant(source: &OwnedFd) -> Result<PathBuf, Failed> {
    let found = fs::read_link(by_descriptor(source)).map_err(said("look"))?;
    let at = found.strip_prefix(OLD).unwrap_or(&found);
    Ok(Path::new("/").join(at))
}
