//! Single mounts, and looking things up without following links where they must not lead.

use std::ffi::{CString, OsString};
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags};

use super::limits::{PROCESSES, numbers_are_own};
use super::places::DEVICES;

/// Where the old root is while a view is built.
pub(super) const OLD: &str = "/old";

/// Where the new root grows.
pub(super) const NEW: &str = "/new";

/// The numbers that no process gets again once they were all used.
const RESERVED: u64 = 300;

/// What everything is that is shown: no file of it gives rights, no device of it works.
pub(super) const PLAIN: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV);

/// How something is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
    /// It may be written as before, and nothing in it executed.
    Inert,
}

/// Makes an empty root and puts the old one below it.
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

/// A path of the new root, as long as that is not the root.
pub(super) fn new(path: &Path) -> PathBuf {
    Path::new(NEW).join(path.strip_prefix("/").unwrap_or(path))
}

pub(super) fn open(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// Opens what a path means below a folder; nothing outside of it, links and all.
pub(super) fn beneath(root: &impl AsFd, path: &str, flags: OFlags) -> io::Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    Ok(rustix::fs::openat2(
        root,
        path,
        flags | OFlags::CLOEXEC,
        Mode::empty(),
        resolve,
    )?)
}

/// Opens a path below a root in which no part is a link.
pub(super) fn unlinked(root: &impl AsFd, path: &Path) -> io::Result<OwnedFd> {
    let path = path.strip_prefix("/").unwrap_or(path);
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    Ok(rustix::fs::openat2(
        root,
        path,
        flags,
        Mode::empty(),
        resolve,
    )?)
}

/// Lets a file or folder of the new root seem to be empty.
pub(super) fn cover(root: &OwnedFd, path: &Path) -> io::Result<()> {
    let place = unlinked(root, path)?;
    let kind = FileType::from_raw_mode(rustix::fs::fstat(&place)?.st_mode);
    let nothing = if kind == FileType::Directory {
        "/void"
    } else {
        "/empty"
    };
    rustix::mount::mount_bind(nothing, by_descriptor(&place)).map_err(io::Error::from)
}

/// Makes a folder below another, with those on the way.
pub(super) fn make(root: &impl AsFd, path: &str) -> io::Result<()> {
    let mut folder = beneath(root, ".", OFlags::RDONLY | OFlags::DIRECTORY)?;
    for part in Path::new(path).components() {
        let part = part.as_os_str().to_string_lossy();
        match rustix::fs::mkdirat(&folder, &*part, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        folder = beneath(&folder, &part, OFlags::RDONLY | OFlags::DIRECTORY)?;
    }
    Ok(())
}

pub(super) fn tmpfs(at: &Path, options: &str) -> io::Result<()> {
    let options = CString::new(options)?;
    Ok(rustix::mount::mount(
        "tmpfs",
        at,
        "tmpfs",
        PLAIN,
        options.as_c_str(),
    )?)
}

/// Puts something that is empty over something that is not.
pub(super) fn over(nothing: &Path, at: &Path) -> io::Result<()> {
    rustix::mount::mount_bind(nothing, at)?;
    remount(at, Access::Read, false)
}

/// Gives a mount, and perhaps those below it, the flags of what is shown. Those that it has
/// already stay: the system lets nobody take them off.
pub(super) fn remount(at: &Path, access: Access, below: bool) -> io::Result<()> {
    // The name of a place need not be text, whoever mounted something there.
    let table = fs::read(format!("{OLD}/proc/self/mountinfo"))?;
    for line in table.split(|byte| *byte == b'\n') {
        let Some((place, flags)) = mounted(line) else {
            continue;
        };
        if place == at || below && place.starts_with(at) {
            let locked = match access {
                Access::Read => MountFlags::RDONLY,
                Access::Write => MountFlags::empty(),
                Access::Inert => MountFlags::NOEXEC,
            };
            rustix::mount::mount_remount(&place, MountFlags::BIND | PLAIN | locked | flags, c"")?;
        }
    }
    Ok(())
}

/// The place and the flags of a mount, as a line of the system's table tells them.
pub(super) fn mounted(line: &[u8]) -> Option<(PathBuf, MountFlags)> {
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
    Some((
        OsString::from_vec(place).into(),
        flags.fold(MountFlags::empty(), MountFlags::union),
    ))
}

/// Blanks and the like are written as a backslash and three octal digits.
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
        let from = Path::new(OLD).join("dev").join(device);
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

/// A folder that may be written and is thrown away.
pub(super) fn scratch(name: &str, at: &Path) -> io::Result<()> {
    let from = Path::new("/scratch").join(name);
    fs::create_dir(&from)?;
    let mode = if name == "home" { 0o700 } else { 0o1777 };
    fs::set_permissions(&from, fs::Permissions::from_mode(mode))?;
    fs::create_dir_all(new(at))?;
    rustix::mount::mount_bind(&from, new(at))?;
    remount(&new(at), Access::Write, false)
}

/// A path that leads to what is open, whatever its name means by now.
pub(super) fn by_descriptor(open: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("{OLD}/proc/self/fd/{}", open.as_raw_fd()))
}

/// The workspace below a layer that takes all that is written, without some of its paths.
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
    rustix::mount::mount("overlay", &at, "overlay", PLAIN, layers)?;
    // An overlay can be made where files of it cannot be, for example on another overlay.
    let trial = at.join(".wf-scratch-trial");
    fs::write(&trial, "")
        .and_then(|()| fs::remove_file(&trial))
        .or_else(|error| {
            rustix::mount::unmount(&at, UnmountFlags::DETACH)?;
            Err(error)
        })
}

/// Lets a path of the workspace seem not to be there: a device 0/0 in the upper layer, in folders that are
/// as those below.
fn white_out(root: &OwnedFd, path: &Path) -> io::Result<()> {
    let up = Path::new("/scratch/up");
    let folders: Vec<&Path> = path.ancestors().skip(1).collect();
    let above = folders
        .into_iter()
        .rev()
        .filter(|folder| folder.parent().is_some());
    for folder in above {
        let at = up.join(folder);
        if fs::symlink_metadata(&at).is_err() {
            let below = unlinked(root, folder)?;
            let stat = rustix::fs::fstat(&below)?;
            fs::create_dir(&at)?;
            fs::set_permissions(&at, fs::Permissions::from_mode(stat.st_mode & 0o7777))?;
        }
    }
    let kind = rustix::fs::FileType::CharacterDevice;
    Ok(rustix::fs::mknodat(
        rustix::fs::CWD,
        up.join(path),
        kind,
        Mode::empty(),
        0,
    )?)
}

/// Shows something that is open at a place of the new root.
pub(super) fn bind(source: &OwnedFd, place: &Path, access: Access) -> Result<(), String> {
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
        // It becomes what it shall be where nobody else gets, and is moved to a place that is open: a
        // step that swaps its folders for links must not choose where it comes to lie.
        let stage = Path::new(if folder { "/stage" } else { "/stage-file" });
        rustix::mount::mount_bind_recursive(by_descriptor(source), stage)?;
        remount(stage, access, true)?;
        let target = unlinked(&open(Path::new(NEW))?, place)?;
        Ok(rustix::mount::mount_move(stage, by_descriptor(&target))?)
    };
    shown().map_err(|error| format!("the sandbox cannot show {}: {error}", place.display()))
}

/// The processes of the sandbox. Says whether their number is limited from here: newer systems give
/// each namespace of processes a highest number of its own. A control group would do so everywhere,
/// but to enter one takes longer than all else that a sandbox needs.
pub(super) fn processes() -> io::Result<bool> {
    let at = new(Path::new("/proc"));
    fs::create_dir_all(&at)?;
    let quiet = PLAIN | MountFlags::NOEXEC;
    // Where the system shows only a part of its own, it lets nobody see all: then there is none.
    if rustix::mount::mount("proc", &at, "proc", quiet, None).is_err() {
        return Ok(false);
    }
    let limit = at.join("sys/kernel/pid_max");
    let most = u64::from(PROCESSES) + RESERVED;
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
        let (place, flags) = mounted(line).expect("a mount");
        assert_eq!(place, Path::new("/new/my folder"));
        assert_eq!(
            flags,
            MountFlags::RDONLY | MountFlags::NOEXEC | MountFlags::RELATIME
        );
        assert_eq!(mounted(b"too short"), None);
        assert_eq!(unescaped(b"a\\134b\\x\xff"), b"a\\b\\x\xff");
    }
}
