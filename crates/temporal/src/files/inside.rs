//! The paths of files another host named.

use std::io;
use std::path::{Component, Path, PathBuf};

use crate::files::objects::ObjectError;

/// Returns the place of a path below a folder. A path leading out of the folder is refused: another host says what it
/// is, and must not choose files of this one.
pub(crate) fn place_inside(folder: &Path, path: &str) -> Result<PathBuf, ObjectError> {
    let mut parts = Path::new(path).components();
    if path.is_empty() || !parts.all(|part| matches!(part, Component::Normal(_))) {
        let cause = io::Error::new(io::ErrorKind::InvalidData, "the path leads out of its folder");
        return Err(ObjectError::File { path: path.to_owned(), cause });
    }
    Ok(folder.join(path))
}

#[cfg(test)]
mod tests {
    use super::place_inside;
    use std::path::Path;

    #[test]
    fn a_path_stays_in_its_folder() {
        let place = |path| place_inside(Path::new("/w"), path);
        assert_eq!(place("a/b").unwrap(), Path::new("/w/a/b"));
        for out in ["", "..", "../a", "a/../../b", "/etc/passwd", "./a"] {
            assert!(place(out).is_err(), "{out}");
        }
    }
}
