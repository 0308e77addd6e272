use std::path::{Component, Path, PathBuf};

/// Returns a path relative to the top of a repository, as CI systems name files. `folder` is the one that the path is relative
/// to, below the top.
pub fn from_top(folder: &Path, path: &str) -> String {
    let mut whole = PathBuf::new();
    for part in folder.join(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if whole.file_name().is_some_and(|name| name != "..") => drop(whole.pop()),
            other => whole.push(other),
        }
    }
    whole.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::from_top;
    use std::path::Path;

    #[test]
    fn a_path_is_that_from_the_top() {
        for (folder, path, expected) in [
            ("", "plans/a.md", "plans/a.md"),
            ("svc", "plans/a.md", "svc/plans/a.md"),
            ("svc/deep", "../a.md", "svc/a.md"),
            ("svc", "../../a.md", "../a.md"),
            ("svc", "/elsewhere/a.md", "/elsewhere/a.md"),
        ] {
            assert_eq!(from_top(Path::new(folder), path), expected);
        }
    }
}
