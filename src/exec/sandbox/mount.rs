//! Single mounts, and looking things up without following links where they must not lead.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::mount::{MountFlags, MountPropagationFlags};

/// Where the old root is while a view is built.
pub(super) const OLD: &str = "/old";

/// Where the new root grows.
pub(super) const NEW: &str = "/new";

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
    rustix::process::pivot_root(base, &base.join("old"))?;
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
    let table = fs::read_to_string(format!("{OLD}/proc/self/mountinfo"))?;
    for line in table.lines() {
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
pub(super) fn mounted(line: &str) -> Option<(PathBuf, MountFlags)> {
    let mut fields = line.split(' ').skip(4);
    let place = unescaped(fields.next()?);
    let flags = fields.next()?.split(',').map(|option| match option {
        "ro" => MountFlags::RDONLY,
        "nosuid" => MountFlags::NOSUID,
        "nodev" => MountFlags::NODEV,
        "noexec" => MountFlags::NOEXEC,
        "noatime" => MountFlags::NOATIME,
        "nodiratime" => MountFlags::NODIRATIME,
        "relatime" => MountFlags::RELATIME,
        _ => MountFlags::empty(),
    });
    Some((
        place.into(),
        flags.fold(MountFlags::empty(), MountFlags::union),
    ))
}

/// Blanks and the like are written as a backslash and three octal digits.
pub(super) fn unescaped(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part
            .get(..3)
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) => {
                plain.push(char::from(code));
                plain.push_str(&part[3..]);
            }
            None => {
                plain.push('\\');
                plain.push_str(part);
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_read_from_the_table() {
        let line = "36 35 98:0 /mnt1 /new/my\\040folder ro,noexec,relatime master:1 - ext3 /dev/root rw,errors=continue";
        let (place, flags) = mounted(line).expect("a mount");
        assert_eq!(place, Path::new("/new/my folder"));
        assert_eq!(
            flags,
            MountFlags::RDONLY | MountFlags::NOEXEC | MountFlags::RELATIME
        );
        assert_eq!(mounted("too short"), None);
        assert_eq!(unescaped("a\\134b\\x"), "a\\b\\x");
    }
}
