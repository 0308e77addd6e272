//! The tracked files of a workspace, and the repositories inside of it.

use std::{collections::BTreeSet, fs};

use super::git::{GitPlace, WorktreeGit};
use crate::work_error::WorkError;

/// The kind of an entry standing for a repository of its own: a submodule.
const REPOSITORY_MODE: &[u8] = b"160000";

/// An entry of an index.
struct IndexEntry<'a> {
    mode: &'a [u8],
    object: &'a [u8],
    path: &'a [u8],
}

/// Adds what the repository of the workspace tracks to an index: git ignores no file its index has, whatever the
/// patterns say. The next snapshot reads the files themselves, and removes those that are not there.
pub(super) async fn track(git: &WorktreeGit, place: GitPlace<'_>) -> Result<(), WorkError> {
    place.unlock();
    let (tracked, known) = (list(&git.own(), None).await?, list(git, Some(place)).await?);
    let tracked_paths: BTreeSet<&[u8]> = entries(&known).map(|entry| entry.path).collect();
    let input: String = entries(&tracked)
        .filter(|entry| entry.mode != REPOSITORY_MODE && !tracked_paths.contains(entry.path))
        .filter_map(|entry| entry.line())
        .collect();
    if input.is_empty() {
        return Ok(());
    }
    let answer = git.run_git(&["update-index", "-z", "--index-info"], Some(place), Some(input)).await?;
    answer.successful("update-index").map(drop)
}

/// Returns the folders of repositories of their own that have files, as far as an index knows them. Of such a folder git
/// keeps the commit alone.
pub(super) async fn filled_repositories(
    git: &WorktreeGit,
    place: GitPlace<'_>,
) -> Result<Vec<String>, WorkError> {
    let listing = list(git, Some(place)).await?;
    let repositories = entries(&listing).filter(|entry| entry.mode == REPOSITORY_MODE);
    let paths = repositories.map(|entry| String::from_utf8_lossy(entry.path).into_owned());
    let has_files = |path: &String| {
        let folder_entries = fs::read_dir(place.folder.join(path)).into_iter().flatten().flatten();
        // The sandbox may have made a place for its repository.
        folder_entries.map(|entry| entry.file_name()).any(|name| name != ".git")
    };
    Ok(paths.filter(has_files).collect())
}

async fn list(git: &WorktreeGit, place: Option<GitPlace<'_>>) -> Result<Vec<u8>, WorkError> {
    git.answer(&["ls-files", "--stage", "-z"], place).await
}

impl IndexEntry<'_> {
    /// Returns the line adding it; `None`: it cannot be merged, since its name is not UTF-8.
    fn line(&self) -> Option<String> {
        let text = |part| str::from_utf8(part).ok();
        Some(format!("{} {} 0\t{}\0", text(self.mode)?, text(self.object)?, text(self.path)?))
    }
}

/// Reads the output of `ls-files --stage -z`.
fn entries(list: &[u8]) -> impl Iterator<Item = IndexEntry<'_>> {
    list.split(|byte| *byte == 0).filter_map(|line| {
        let tab = line.iter().position(|byte| *byte == b'\t')?;
        let mut head = line[..tab].split(|byte| *byte == b' ');
        Some(IndexEntry { mode: head.next()?, object: head.next()?, path: &line[tab + 1..] })
    })
}

#[cfg(test)]
mod tests {
    use super::entries;

    #[test]
    fn the_entries_of_an_index_become_lines_that_add_them() {
        let list = b"100644 aa 0\ta b\n\t.js\x00100755 bb 2\tboth\x00160000 cc 0\tsub\x00100644 dd 0\t\xff\0";
        let lines: Vec<Option<String>> = entries(list).map(|entry| entry.line()).collect();
        let line = |text: &str| Some(text.to_owned());
        assert_eq!(
            lines,
            [
                line("100644 aa 0\ta b\n\t.js\0"),
                line("100755 bb 0\tboth\0"),
                line("160000 cc 0\tsub\0"),
                None
            ]
        );
    }
}
