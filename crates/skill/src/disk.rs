//! The folder of a skill on the disk.

use std::{
    fs::File,
    io::Read,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{CWD, Dir, FileType, Mode, OFlags, fstat, openat},
    io::Errno,
};

use super::bundle::{BundleFile, SkillBundle};

mod alone;

pub use alone::{file, skill_md};

/// The maximum number of files in a skill's folder.
pub const MAX_FILES: usize = 1_000;
/// The maximum nesting depth of its folders.
pub const MAX_DEPTH: usize = 8;
/// The maximum size of a file, in bytes.
pub const MAX_FILE: u64 = 10 << 20;
/// The maximum size of all files together, in bytes.
pub const MAX_ALL: u64 = 50 << 20;
/// The maximum size of `SKILL.md`, in bytes.
pub const MAX_SKILL_MD: u64 = 1 << 20;

/// Folders that are not part of a skill: they change although the skill does not.
pub const LEFT_OUT: [&str; 2] = [".git", "__pycache__"];

/// The reason why the folder of a skill cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", place.display())]
pub struct SkillFolderError {
    /// The offending file or folder.
    pub place: PathBuf,
    pub problem: SkillFolderProblem,
}

/// The problem with a file or folder of a skill.
#[derive(Debug, thiserror::Error)]
pub enum SkillFolderProblem {
    /// It does not exist.
    #[error("no such folder")]
    Missing,
    /// The folder of the skill is a file.
    #[error("this is not a folder")]
    NoFolder,
    #[error("this is a symlink, which could lead out of the skill")]
    Link,
    /// It is a pipe, a socket or a device.
    #[error("this is not a regular file")]
    Special,
    /// Its name cannot be written in a lock file.
    #[error("its name is not UTF-8, or contains a control character")]
    Name,
    /// The path is not that of a file in the folder.
    #[error("this is not the path of a file in the skill's folder")]
    Outside,
    /// There are too many files.
    #[error("the skill has more than {MAX_FILES} files")]
    TooMany,
    /// It is nested too deeply.
    #[error("folders are nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
    #[error("the file is larger than {} MiB", .0 >> 20)]
    TooLarge(u64),
    /// All files together are too large.
    #[error("the files of the skill together are larger than {} MiB", MAX_ALL >> 20)]
    AllTooLarge,
    /// A system error.
    #[error("it cannot be read: {0}")]
    System(Errno),
}

impl SkillFolderError {
    pub fn remedy(&self) -> &'static str {
        match self.problem {
            SkillFolderProblem::Missing | SkillFolderProblem::NoFolder => {
                "give the folder that contains SKILL.md"
            }
            SkillFolderProblem::Link => "replace it with the file itself",
            SkillFolderProblem::Special => "remove it from the skill's folder",
            SkillFolderProblem::Name => "rename it",
            SkillFolderProblem::Outside => "give a file in the skill's folder",
            SkillFolderProblem::TooMany | SkillFolderProblem::TooDeep => {
                "remove files that the skill does not need"
            }
            SkillFolderProblem::TooLarge(_) | SkillFolderProblem::AllTooLarge => {
                "remove it if the skill does not need it, or have a script download it"
            }
            SkillFolderProblem::System(_) => "check its permissions",
        }
    }
}

/// Reads the folder of a skill. Every folder and file is opened relative to its checked parent
/// folder, and never through a link, so nothing outside of the skill is read, even if the
/// folder changes meanwhile.
///
/// **Bounds:** [`MAX_FILES`], [`MAX_DEPTH`], [`MAX_FILE`], [`MAX_ALL`], [`MAX_SKILL_MD`].
/// `.git` and `__pycache__` are left out.
pub fn read(folder: &Path) -> Result<SkillBundle, SkillFolderError> {
    all(folder, true)
}

/// Lists the files of a skill's folder without their content, within the same bounds of number and
/// depth: a caller listing a skill reads none of its files.
pub fn names(folder: &Path) -> Result<Vec<String>, SkillFolderError> {
    Ok(all(folder, false)?.files.into_keys().collect())
}

fn all(folder: &Path, with_content: bool) -> Result<SkillBundle, SkillFolderError> {
    let mut reading = BundleReader { root: folder, bundle: SkillBundle::default(), bytes: 0, with_content };
    let refuse = |errno| SkillFolderError {
        place: folder.to_path_buf(),
        problem: match errno {
            Errno::NOENT => SkillFolderProblem::Missing,
            Errno::NOTDIR => SkillFolderProblem::NoFolder,
            errno => refusal_of_errno(errno),
        },
    };
    let opened = match openat(CWD, folder, FOLDER, Mode::empty()) {
        Err(Errno::NOTDIR) if folder.is_symlink() => Err(Errno::LOOP),
        opened => opened,
    };
    reading.folder(opened.map_err(refuse)?.as_fd(), "", 1)?;
    Ok(reading.bundle)
}

const FILE: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);
const FOLDER: OFlags = FILE.union(OFlags::DIRECTORY);

struct BundleReader<'a> {
    root: &'a Path,
    bundle: SkillBundle,
    bytes: u64,
    with_content: bool,
}

impl BundleReader<'_> {
    fn error(&self, path: &str, problem: SkillFolderProblem) -> SkillFolderError {
        let place = self.root.join(path);
        SkillFolderError { place, problem }
    }

    fn folder(&mut self, here: BorrowedFd<'_>, path: &str, depth: usize) -> Result<(), SkillFolderError> {
        if depth > MAX_DEPTH {
            return Err(self.error(path, SkillFolderProblem::TooDeep));
        }
        let system = |errno| self.error(path, SkillFolderProblem::System(errno));
        let mut names = Vec::new();
        for entry in Dir::read_from(here).map_err(system)? {
            let entry = entry.map_err(system)?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(name.to_vec());
            }
            // A folder of folders has no files, and must be bounded too.
            if names.len() > MAX_FILES {
                return Err(self.error(path, SkillFolderProblem::TooMany));
            }
        }
        names.sort();
        for name in names {
            self.entry(here, path, &name, depth)?;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        here: BorrowedFd<'_>,
        folder: &str,
        name: &[u8],
        depth: usize,
    ) -> Result<(), SkillFolderError> {
        let shown = String::from_utf8_lossy(name);
        let join = |name: &str| match folder {
            "" => name.to_owned(),
            folder => format!("{folder}/{name}"),
        };
        let name = match std::str::from_utf8(name) {
            Ok(name) if !name.contains(|c: char| c.is_control()) => name,
            _ => return Err(self.error(&join(&shown), SkillFolderProblem::Name)),
        };
        let path = join(name);
        let opened = openat(here, name, FILE, Mode::empty());
        let opened = opened.map_err(|errno| self.error(&path, refusal_of_errno(errno)))?;
        let about = fstat(&opened).map_err(|errno| self.error(&path, SkillFolderProblem::System(errno)))?;
        match FileType::from_raw_mode(about.st_mode) {
            FileType::Directory if LEFT_OUT.contains(&name) => Ok(()),
            FileType::Directory => self.folder(opened.as_fd(), &path, depth + 1),
            FileType::RegularFile => self.file(opened, path, about.st_mode & 0o100 != 0),
            _ => Err(self.error(&path, SkillFolderProblem::Special)),
        }
    }

    fn file(&mut self, opened: OwnedFd, path: String, is_executable: bool) -> Result<(), SkillFolderError> {
        if self.bundle.files.len() >= MAX_FILES {
            return Err(self.error(&path, SkillFolderProblem::TooMany));
        }
        let is_skill = path.eq_ignore_ascii_case("SKILL.md");
        let most = if is_skill { MAX_SKILL_MD } else { MAX_FILE };
        let mut bytes = Vec::new();
        let take = if self.with_content { most + 1 } else { 0 };
        let read = File::from(opened).take(take).read_to_end(&mut bytes);
        if let Err(error) = read {
            let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
            return Err(self.error(&path, SkillFolderProblem::System(errno)));
        }
        let length = bytes.len() as u64;
        if length > most {
            return Err(self.error(&path, SkillFolderProblem::TooLarge(most)));
        }
        self.bytes += length;
        if self.bytes > MAX_ALL {
            return Err(self.error(&path, SkillFolderProblem::AllTooLarge));
        }
        let file = BundleFile { bytes, is_executable };
        self.bundle.files.insert(path, file);
        Ok(())
    }
}

/// Opening a link without following it fails with `ELOOP`, and a socket with `ENXIO`.
fn refusal_of_errno(errno: Errno) -> SkillFolderProblem {
    match errno {
        Errno::LOOP => SkillFolderProblem::Link,
        Errno::NXIO => SkillFolderProblem::Special,
        errno => SkillFolderProblem::System(errno),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::{
        fs,
        os::unix::fs::{PermissionsExt as _, symlink},
        path::Path,
    };

    use super::read;

    pub(super) fn made() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("s/scripts")).unwrap();
        fs::write(dir.path().join("s/SKILL.md"), "x").unwrap();
        fs::write(dir.path().join("s/scripts/a.sh"), "y").unwrap();
        dir
    }

    fn refusal(folder: &Path) -> String {
        let error = read(folder).unwrap_err();
        assert!(!error.remedy().is_empty());
        error.problem.to_string()
    }

    #[test]
    fn a_folder_is_read_with_modes_and_without_what_is_left_out() {
        let dir = made();
        let folder = dir.path().join("s");
        for left_out in [".git", "scripts/__pycache__"] {
            fs::create_dir_all(folder.join(left_out)).unwrap();
            fs::write(folder.join(left_out).join("x"), "x").unwrap();
        }
        let script = folder.join("scripts/a.sh");
        fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
        let bundle = read(&folder).unwrap();
        let modes = bundle.files.iter().map(|(path, file)| (path.as_str(), file.is_executable));
        let found: Vec<_> = modes.collect();
        assert_eq!(found, [("SKILL.md", false), ("scripts/a.sh", true)]);
    }

    #[test]
    fn links_and_special_files_are_refused() {
        let dir = made();
        let folder = dir.path().join("s");
        symlink("s", dir.path().join("link")).unwrap();
        assert!(refusal(&dir.path().join("link")).contains("link"));
        assert!(refusal(&dir.path().join("none")).contains("no such folder"));
        assert!(refusal(&folder.join("SKILL.md")).contains("not a folder"));
        let bad = folder.join("bad");
        for to in ["SKILL.md", "scripts", "/etc/passwd", "nowhere"] {
            symlink(to, &bad).unwrap();
            assert!(refusal(&folder).contains("link"), "{to}");
            fs::remove_file(&bad).unwrap();
        }
        let mode = rustix::fs::Mode::RWXU;
        rustix::fs::mknodat(rustix::fs::CWD, &bad, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert!(refusal(&folder).contains("not a regular file"));
        fs::remove_file(&bad).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(&bad).unwrap();
        assert!(refusal(&folder).contains("not a regular file"));
    }

    #[test]
    fn names_and_sizes_have_bounds() {
        let dir = made();
        let folder = dir.path().join("s");
        fs::write(folder.join("a\nb"), "").unwrap();
        assert!(refusal(&folder).contains("name"));
        fs::remove_file(folder.join("a\nb")).unwrap();
        let big = fs::File::create(folder.join("big")).unwrap();
        big.set_len(super::MAX_FILE + 1).unwrap();
        assert!(refusal(&folder).contains("larger than 10 MiB"));
        fs::remove_file(folder.join("big")).unwrap();
        fs::create_dir_all(folder.join("1/2/3/4/5/6/7/8")).unwrap();
        assert!(refusal(&folder).contains("more than 8 levels deep"));
        fs::remove_dir_all(folder.join("1")).unwrap();
        for at in 0..super::MAX_FILES {
            fs::write(folder.join(format!("scripts/{at}")), "").unwrap();
        }
        assert!(refusal(&folder).contains("more than 1000 files"));
    }
}
