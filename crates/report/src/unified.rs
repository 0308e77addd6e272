//! Diffs for people to read and for programs to apply.

use std::time::Duration;

use similar::TextDiff;

/// The number of unchanged lines around a change.
const CONTEXT: usize = 3;

/// The time after which a shorter diff is not looked for.
const MAX_SEARCH: Duration = Duration::from_millis(500);

/// Returns a unified diff of two versions of a file, as `git apply` and `patch` take it; empty if they are identical.
pub fn unified_diff(path: &str, old: &str, new: &str) -> String {
    let diff = TextDiff::configure().timeout(MAX_SEARCH).diff_lines(old, new);
    let (before, after) = (format!("a/{path}"), format!("b/{path}"));
    diff.unified_diff().context_radius(CONTEXT).header(&before, &after).to_string()
}

#[cfg(test)]
mod tests {
    use super::unified_diff;

    #[test]
    fn a_diff_is_what_git_prints() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\n";
        let new = "a\nB\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\n";
        let expected = "--- a/x.md\n+++ b/x.md\n@@ -1,5 +1,5 @@\n a\n-b\n+B\n c\n d\n e\n@@ -10,3 +10,4 @@\n j\n k\n l\n+m\n";
        assert_eq!(unified_diff("x.md", old, new), expected);
        assert_eq!(unified_diff("x.md", old, old), "");
    }

    #[test]
    fn ends_are_shown() {
        assert_eq!(unified_diff("x", "", "a\n"), "--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+a\n");
        assert_eq!(
            unified_diff("x", "a", "a\n"),
            "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"
        );
    }

    #[test]
    fn huge_texts_end() {
        let (old, new) = ("a\n".repeat(30_000), "b\n".repeat(30_000));
        assert_eq!(unified_diff("x", &old, &new).lines().count(), 60_003);
    }

    /// All texts of at most three of these characters: as many lines as are shown around a change.
    fn texts() -> Vec<String> {
        let mut all = vec![String::new()];
        let mut last = all.clone();
        for _ in 0..3 {
            last = last.iter().flat_map(|text| ["a", "b", "\n"].map(|c| format!("{text}{c}"))).collect();
            all.extend(last.iter().cloned());
        }
        all
    }

    /// Returns one of the versions in a diff of short texts: that of the lines with this mark.
    fn version(diff: &str, mark: char) -> String {
        let mut text = String::new();
        let mut is_own = false;
        for line in diff.split_inclusive('\n').skip(3) {
            if line.starts_with('\\') {
                if is_own {
                    text.pop();
                }
                continue;
            }
            is_own = line.starts_with([' ', mark]);
            if is_own {
                text.push_str(&line[1..]);
            }
        }
        text
    }

    #[test]
    fn both_versions_are_in_it() {
        let all = texts();
        for (old, new) in all.iter().flat_map(|old| all.iter().map(move |new| (old, new))) {
            let diff = unified_diff("x", old, new);
            if old == new {
                assert_eq!(diff, "");
            } else {
                assert_eq!((&version(&diff, '-'), &version(&diff, '+')), (old, new), "{diff}");
            }
        }
    }
}
