//! The versions of worktrees, in a git repository in the folder of a run. Hosts carry the names and the content of
//! versions to each other, and nothing else of the repository: people let git read it where they follow the run, and
//! another host must not say what git does there.

use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
};

use wf_base::name::RunId;

/// The repository in the folder of a run.
const REPOSITORY: &str = "worktrees.git";

/// The folder in it with the names of versions.
const NAMES: &str = "refs/wf";

/// The folder in it with their content, packed.
const PACKS: &str = "objects/pack";

/// The files without which git takes a folder for none of its repositories.
const OWN_FILES: [(&str, &str); 2] = [
    ("HEAD", "ref: refs/heads/main\n"),
    ("config", "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n"),
];

/// The kind of a file that another host names in the folder of all runs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CarriedFile {
    /// It has to do with no version.
    Other,
    /// It is a version, or a part of one, in the repository at this path.
    Version(PathBuf),
    /// It would say what git does in the repository.
    Setting,
}

impl CarriedFile {
    /// Returns the kind of a file by its path in the folder of all runs.
    pub(crate) fn from_path(path: &str) -> Self {
        let path = Path::new(path);
        let mut parts = path.components();
        let (run, repository) = (parts.next(), parts.next());
        let (Some(run), true) = (run, repository.is_some_and(|part| part.as_os_str() == REPOSITORY)) else {
            return Self::Other;
        };
        let file = parts.as_path();
        if file.starts_with(NAMES) || is_pack(file) {
            Self::Version(Path::new(&run).join(REPOSITORY))
        } else {
            Self::Setting
        }
    }

    /// True if it belongs to the versions of a run.
    pub(crate) fn is_version_of(&self, run: &RunId) -> bool {
        matches!(self, Self::Version(repository) if repository.parent() == Some(Path::new(run.as_str())))
    }
}

fn is_pack(file: &Path) -> bool {
    let name = file.file_name().and_then(OsStr::to_str).unwrap_or_default();
    file.parent() == Some(Path::new(PACKS)) && name.starts_with("pack-")
}

/// Makes a repository for versions, unless it is there.
pub(crate) fn make_repository(repository: &Path) -> io::Result<()> {
    fs::create_dir_all(repository)?;
    for (name, text) in OWN_FILES {
        let file = repository.join(name);
        if !file.exists() {
            fs::write(file, text)?;
        }
    }
    Ok(())
}

/// Returns the folders of names and of packs in the repository of the folder of a run.
pub(crate) fn version_folders(run: &Path) -> [PathBuf; 2] {
    let repository = run.join(REPOSITORY);
    [NAMES, PACKS].map(|folder| repository.join(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_packs_are_versions_and_the_rest_of_a_repository_is_refused() {
        let run = RunId::from_bytes([7; 16]);
        for path in ["refs/wf/a/1/base", "objects/pack/pack-1.idx"] {
            let file = CarriedFile::from_path(&format!("{run}/worktrees.git/{path}"));
            assert!(file.is_version_of(&run), "{path}: {file:?}");
            assert!(!file.is_version_of(&RunId::from_bytes([8; 16])));
        }
        let settings =
            ["config", "hooks/post-checkout", "objects/info/alternates", "objects/pack/more/pack-1"];
        for path in settings.into_iter().chain(["refs/heads/main", "HEAD", ""]) {
            for between in ["/worktrees.git/", "//worktrees.git/", "/worktrees.git//"] {
                assert_eq!(
                    CarriedFile::from_path(&format!("{run}{between}{path}")),
                    CarriedFile::Setting,
                    "{path}"
                );
            }
        }
        assert_eq!(CarriedFile::from_path(&format!("{run}/calls/worktrees.git/config")), CarriedFile::Other);
    }
}
