use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// Renames a file or folder below a root to `NAME.refused`, or to one with a number, and returns its new path. No link is
/// followed on the way to it.
pub(crate) fn put_aside(root: &Path, file: &Path) -> Option<PathBuf> {
    let (parent, name) = (file.parent()?, file.file_name()?.to_str()?);
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(root, flags, Mode::empty()).ok()?;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let within = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let folder = rustix::fs::openat2(&root, within, flags, Mode::empty(), resolve).ok()?;
    let mut names = (0..100_u32).map(|number| match number {
        0 => format!("{name}.refused"),
        number => format!("{name}.refused-{number}"),
    });
    let is_free = |name: &String| rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).is_err();
    let aside = names.find(is_free)?;
    let rename = || rustix::fs::renameat(&folder, name, &folder, &aside);
    match rename() {
        // Whoever created the file may have taken the permission away.
        Err(Errno::ACCESS) => {
            let mode = rustix::fs::fstat(&folder).ok()?.st_mode | 0o700;
            rustix::fs::chmodat(&folder, ".", Mode::from_raw_mode(mode), AtFlags::empty()).ok()?;
            rename().ok()?;
        }
        renamed => renamed.ok()?,
    }
    Some(parent.join(aside))
}
