//! What predicates of gates may know of the files of the workspace: found so that nothing leads
//! out of it, and read only for their size.

use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, fstat};

use super::beneath::{Beneath, Missed};
use crate::gate::predicate::{FileFact, FileFacts};

/// The files of a workspace.
#[derive(Clone, Debug)]
pub struct Facts {
    root: PathBuf,
}

impl Facts {
    /// The files below a root.
    pub fn new(root: &Path) -> Self {
        Self {
            root: root.to_path_buf(),
        }
    }

    fn found(&self, path: &Path) -> Result<FileFact, Missed> {
        let found = Beneath::open(&self.root)?.find(path)?;
        let stat = fstat(&found)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Ok(FileFact::Absent);
        }
        let place = std::fs::read_link(format!("/proc/self/fd/{}", found.as_raw_fd()));
        let real = self.root.canonicalize();
        let place = place.ok().zip(real.ok()).and_then(|(place, root)| {
            let below = place.strip_prefix(root).ok()?;
            below.to_str().map(str::to_owned)
        });
        let size = u64::try_from(stat.st_size).unwrap_or_default();
        Ok(place.map_or(FileFact::Outside, |place| FileFact::File { size, place }))
    }
}

impl FileFacts for Facts {
    fn look(&self, path: &str) -> FileFact {
        match self.found(Path::new(path)) {
            Ok(fact) => fact,
            Err(Missed::Absent) => FileFact::Absent,
            Err(Missed::Outside) => FileFact::Outside,
            Err(Missed::Failed(error)) => FileFact::Unknown(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn files_are_what_they_are_when_links_are_followed() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("in")).unwrap();
        fs::write(dir.path().join("in/a"), "four").unwrap();
        symlink("in/a", dir.path().join("link")).unwrap();
        symlink("/etc/passwd", dir.path().join("out")).unwrap();
        let facts = Facts::new(dir.path());
        let file = FileFact::File {
            size: 4,
            place: "in/a".into(),
        };
        assert_eq!(facts.look("in/a"), file);
        assert_eq!(facts.look("link"), file);
        assert_eq!(facts.look("in"), FileFact::Absent);
        assert_eq!(facts.look("none"), FileFact::Absent);
        assert_eq!(facts.look("out"), FileFact::Outside);
        assert_eq!(facts.look("../x"), FileFact::Outside);
    }
}
