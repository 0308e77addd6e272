use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// How deep is looked.
const DEEPEST: usize = 6;

/// The files and folders below a folder that only their owner and his group may read; said of each,
/// whether it is a folder. What is empty already, and what a link leads to, is left out.
pub(super) fn below(folder: &Path) -> Vec<(PathBuf, bool)> {
    let mut found = Vec::new();
    look(folder, DEEPEST, &mut found);
    found
}

fn look(folder: &Path, deeper: usize, found: &mut Vec<(PathBuf, bool)>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        // Most of what is in `/etc` is links: their kind is known without asking for more.
        if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
            continue;
        }
        let Ok(data) = entry.metadata() else {
            continue;
        };
        let path = entry.path();
        if data.is_dir() {
            if data.mode() & 0o005 != 0o005 {
                found.push((path, true));
            } else if deeper > 0 {
                look(&path, deeper - 1, found);
            }
        } else if data.is_file() && data.mode() & 0o004 == 0 && data.len() > 0 {
            found.push((path, false));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn what_not_everybody_may_read_is_found() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("open/closed")).unwrap();
        for (path, mode) in [
            ("secret", 0o600),
            ("public", 0o644),
            ("open/secret", 0o640),
            ("open/closed/inside", 0o600),
        ] {
            let path = dir.path().join(path);
            fs::write(&path, "x").unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
        let closed = dir.path().join("open/closed");
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o750)).unwrap();
        let mut found = below(dir.path());
        found.sort();
        let at = |path: &str| dir.path().join(path);
        let expected = [
            (at("open/closed"), true),
            (at("open/secret"), false),
            (at("secret"), false),
        ];
        assert_eq!(found, expected);
    }
}
