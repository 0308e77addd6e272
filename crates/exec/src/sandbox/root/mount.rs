//! Single mounts, and lookups following no links where links must not lead.

use std::{
    ffi::{CString, OsString},
    fs, io,
    os::{
        fd::{AsFd, AsRawFd as _, OwnedFd},
        unix::{
            ffi::OsStringExt as _,
            fs::{MetadataExt as _, PermissionsExt as _},
        },
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{FileType, Mode, OFlags, ResolveFlags},
    mount::{MountFlags, MountPropagationFlags, UnmountFlags},
};

use wf_model::DEFAULT_PROCESS_LIMIT;

use super::places::DEVICES;
use crate::sandbox::{error::SandboxError, limits::numbers_are_own};

/// The place of the old root while a view is built.
pub(super) const OLD_ROOT: &str = "/old";

/// The place of the new root.
pub(super) const NEW_ROOT: &str = "/new";

/// The number of lowest process numbers, which are not reused after a wrap-around.
const RESERVED_PIDS: u64 = 300;

/// The flags of everything shown: no file grants rights, no device works.
pub(super) const PLAIN_MOUNT_FLAGS: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV);

/// The access to a mount.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MountAccess {
    Read,
    Write,
    /// Writable as before, but not executable.
    Inert,
}

/// Creates an empty root and moves the old one below it.
pub(super) fn aside() -> io::Result<()> {
    let alone = MountPropagationFlags::REC | MountPropagationFlags::PRIVATE;
    rustix::mount::mount_change("/", alone)?;
    let base = Path::new("/tmp");
    tmpfs(base, "mode=755,size=1m")?;
    for folder in ["old", "new", "low", "scratch", "stage", "void"] {
        fs::create_dir(base.join(folder))?;
    }
    for file in ["empty", "stage-file"] {
        fs::write(base.join(file), "")?;
    }
    rustix::process::pivot_root(base, base.join("old"))?;
    Ok(rustix::process::chdir("/")?)
}

/// Returns a path in the new root while it is not the root yet.
pub(super) fn new(path: &Path) -> PathBuf {
    Path::new(NEW_ROOT).join(path.strip_prefix("/").unwrap_or(path))
}

pub(super) fn open(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// Opens a path below a folder; nothing outside of it, not even through links.
pub(super) fn beneath(root: &impl AsFd, path: &str, flags: OFlags) -> io::Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    Ok(rustix::fs::openat2(root, path, flags | OFlags::CLOEXEC, Mode::empty(), resolve)?)
}

/// Opens a path below a root; no part of it may be a link.
pub(super) fn open_without_links(root: &impl AsFd, path: &Path) -> io::Result<OwnedFd> {
    let path = path.strip_prefix("/").unwrap_or(path);
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    Ok(rustix::fs::openat2(root, path, flags, Mode::empty(), resolve)?)
}

/// Makes a file or folder of the new root appear empty.
pub(super) fn cover(root: &OwnedFd, path: &Path) -> io::Result<()> {
    let place = open_without_links(root, path)?;
    let kind = FileType::from_raw_mode(rustix::fs::fstat(&place)?.st_mode);
    let nothing = if kind == FileType::Directory { "/void" } else { "/empty" };
    rustix::mount::mount_bind(nothing, by_descriptor(&place)).map_err(io::Error::from)
}

pub(super) fn tmpfs(at: &Path, options: &str) -> io::Result<()> {
    let options = CString::new(options)?;
    Ok(rustix::mount::mount("tmpfs", at, "tmpfs", PLAIN_MOUNT_FLAGS, options.as_c_str())?)
}

/// Mounts an empty file or folder over another.
pub(super) fn mount_over(nothing: &Path, at: &Path) -> io::Result<()> {
    rustix::mount::mount_bind(nothing, at)?;
    remount(at, MountAccess::Read, false)
}

/// Sets the flags of a mount, and optionally of those below it. Existing flags stay: the system
/// does not permit their removal.
pub(super) fn remount(at: &Path, access: MountAccess, below: bool) -> io::Result<()> {
    // The path of a mount need not be valid text.
    let table = fs::read(format!("{OLD_ROOT}/proc/self/mountinfo"))?;
    for line in table.split(|byte| *byte == b'\n') {
        let Some((place, flags)) = parse_mount(line) else {
            continue;
        };
        if place == at || below && place.starts_with(at) {
            let locked = match access {
                MountAccess::Read => MountFlags::RDONLY,
                MountAccess::Write => MountFlags::empty(),
                MountAccess::Inert => MountFlags::NOEXEC,
            };
            rustix::mount::mount_remount(&place, MountFlags::BIND | PLAIN_MOUNT_FLAGS | locked | flags, c"")?;
        }
    }
    Ok(())
}

/// Returns the path and the flags of a mount from a line of the system's table.
pub(super) fn parse_mount(line: &[u8]) -> Option<(PathBuf, MountFlags)> {
    let mut fields = line.split(|byte| *byte == b' ').skip(4);
    let place = unescaped(fields.next()?);
    let flags = fields.next()?.split(|byte| *byte == b',');
    let flags = flags.map(|option| match option {
        b"ro" => MountFlags::RDONLY,
        b"nosuid" => MountFlags::NOSUID,
        b"nodev" => MountFlags::NODEV,
        b"noexec" => MountFlags::NOEXEC,
        b"noatime" => MountFlags::NOATIME,
        b"nodiratime" => MountFlags::NODIRATIME,
        b"relatime" => MountFlags::RELATIME,
        _ => MountFlags::empty(),
    });
    Some((OsString::from_vec(place).into(), flags.fold(MountFlags::empty(), MountFlags::union)))
}

/// Decodes blanks and the like, which are written as a backslash and three octal digits.
pub(super) fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut parts = text.split(|byte| *byte == b'\\');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.get(..3).and_then(|digits| str::from_utf8(digits).ok());
        if let Some(code) = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            plain.push(code);
            plain.extend(&part[3..]);
        } else {
            plain.push(b'\\');
            plain.extend(part);
        }
    }
    plain
}

pub(super) fn devices() -> io::Result<()> {
    let dev = new(Path::new("/dev"));
    for device in DEVICES {
        let at = dev.join(device);
        fs::write(&at, "")?;
        let from = Path::new(OLD_ROOT).join("dev").join(device);
        if rustix::mount::mount_bind(&from, &at).is_err() {
            fs::remove_file(&at)?;
        }
    }
    for (name, to) in [
        ("fd", "/proc/self/fd"),
        ("stdin", "fd/0"),
        ("stdout", "fd/1"),
        ("stderr", "fd/2"),
        ("ptmx", "pts/ptmx"),
    ] {
        std::os::unix::fs::symlink(to, dev.join(name))?;
    }
    fs::create_dir(dev.join("pts"))?;
    let terminals = c"newinstance,ptmxmode=0666,mode=620";
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    let _ = rustix::mount::mount("devpts", dev.join("pts"), "devpts", flags, terminals);
    Ok(())
}

/// Mounts a writable folder with a discarded content.
pub(super) fn scratch(name: &str, at: &Path) -> io::Result<()> {
    let from = Path::new("/scratch").join(name);
    fs::create_dir(&from)?;
    let mode = if name == "home" { 0o700 } else { 0o1777 };
    fs::set_permissions(&from, fs::Permissions::from_mode(mode))?;
    fs::create_dir_all(new(at))?;
    rustix::mount::mount_bind(&from, new(at))?;
    remount(&new(at), MountAccess::Write, false)
}

/// Returns a path to an open file that does not depend on its current name.
pub(super) fn by_descriptor(open: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("{OLD_ROOT}/proc/self/fd/{}", open.as_raw_fd()))
}

/// Mounts the workspace below a scratch layer, without some of its paths.
pub(super) fn overlay(root: &OwnedFd, place: &Path, whiteouts: &[PathBuf]) -> io::Result<()> {
    let at = new(place);
    fs::create_dir_all(&at)?;
    rustix::mount::mount_bind_recursive(by_descriptor(root), "/low")?;
    let mode = fs::metadata("/low")?.mode();
    for folder in ["/scratch/up", "/scratch/work"] {
        fs::create_dir(folder)?;
    }
    fs::set_permissions("/scratch/up", fs::Permissions::from_mode(mode & 0o777))?;
    for path in whiteouts {
        white_out(root, path)?;
    }
    let layers = c"lowerdir=/low,upperdir=/scratch/up,workdir=/scratch/work,userxattr";
    rustix::mount::mount("overlay", &at, "overlay", PLAIN_MOUNT_FLAGS, layers)?;
    // Some file systems permit an overlay but no files in it, for example another overlay.
    let trial = at.join(".wf-scratch-trial");
    fs::write(&trial, "").and_then(|()| fs::remove_file(&trial)).or_else(|error| {
        rustix::mount::unmount(&at, UnmountFlags::DETACH)?;
        Err(error)
    })
}

/// Hides a path of the workspace: a device 0/0 in the upper layer, in folders with the attributes
/// of those below.
fn white_out(root: &OwnedFd, path: &Path) -> io::Result<()> {
    let up = Path::new("/scratch/up");
    let folders: Vec<&Path> = path.ancestors().skip(1).collect();
    let above = folders.into_iter().rev().filter(|folder| folder.parent().is_some());
    for folder in above {
        let at = up.join(folder);
        if fs::symlink_metadata(&at).is_err() {
            let below = open_without_links(root, folder)?;
            let stat = rustix::fs::fstat(&below)?;
            fs::create_dir(&at)?;
            fs::set_permissions(&at, fs::Permissions::from_mode(stat.st_mode & 0o7777))?;
        }
    }
    let kind = rustix::fs::FileType::CharacterDevice;
    Ok(rustix::fs::mknodat(rustix::fs::CWD, up.join(path), kind, Mode::empty(), 0)?)
}

/// Mounts an open file or folder at a place of the new root.
pub(super) fn bind(source: &OwnedFd, place: &Path, access: MountAccess) -> Result<(), SandboxError> {
    let shown = || -> io::Result<()> {
        let at = new(place);
        let folder = rustix::fs::fstat(source)?.st_mode & 0o170_000 == 0o040_000;
        if fs::symlink_metadata(&at).is_err() {
            if folder {
                fs::create_dir_all(&at)?;
            } else {
                at.parent().map_or(Ok(()), fs::create_dir_all)?;
                fs::write(&at, "")?;
            }
        }
        // The mount is prepared in a private place and moved to an opened target: a step that swaps
        // its folders for links must not choose its destination.
        let stage = Path::new(if folder { "/stage" } else { "/stage-file" });
        rustix::mount::mount_bind_recursive(by_descriptor(source), stage)?;
        remount(stage, access, true)?;
        let target = open_without_links(&open(Path::new(NEW_ROOT))?, place)?;
        Ok(rustix::mount::mount_move(stage, by_descriptor(&target))?)
    };
    shown().map_err(|cause| SandboxError::View { tried: format!("show {}", place.display()), cause })
}

/// Mounts the processes of the sandbox. Returns true if their number is limited here: newer systems give each process
/// namespace its own maximum. A control group would work everywhere, but entering one takes longer than everything else
/// a sandbox needs.
pub(super) fn processes() -> io::Result<bool> {
    let at = new(Path::new("/proc"));
    fs::create_dir_all(&at)?;
    let quiet = PLAIN_MOUNT_FLAGS | MountFlags::NOEXEC;
    // A system that shows only a part of its own `/proc` permits no complete one: then there is none.
    if rustix::mount::mount("proc", &at, "proc", quiet, None).is_err() {
        return Ok(false);
    }
    let limit = at.join("sys/kernel/pid_max");
    let most = u64::from(DEFAULT_PROCESS_LIMIT) + RESERVED_PIDS;
    let limited = numbers_are_own() && fs::write(limit, most.to_string()).is_ok();
    rustix::mount::mount_remount(&at, MountFlags::BIND | quiet | MountFlags::RDONLY, c"")?;
    Ok(limited)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_read_from_the_table() {
        let line = b"36 35 98:0 /mnt1 /new/my\\040folder ro,noexec,relatime master:1 - ext3 /dev/root rw,errors=continue";
        let (place, flags) = parse_mount(line).expect("a mount");
        assert_eq!(place, Path::new("/new/my folder"));
        assert_eq!(flags, MountFlags::RDONLY | MountFlags::NOEXEC | MountFlags::RELATIME);
        assert_eq!(parse_mount(b"too short"), None);
        assert_eq!(unescaped(b"a\\134b\\x\xff"), b"a\\b\\x\xff");
    }
}
