use std::fmt::Write as _;

/// The number of unchanged lines around a change.
const CONTEXT: usize = 3;

/// The largest table that is searched for the fewest changes. Beyond it, all between the first and the last change is
/// shown as replaced.
const MOST_CELLS: usize = 4_000_000;

/// One line of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DiffLine<'a> {
    Same(&'a str),
    Removed(&'a str),
    Added(&'a str),
}

/// Returns a unified diff of two versions of a file, as `git apply` and `patch` take it; empty if they are identical.
pub fn unified_diff(path: &str, old: &str, new: &str) -> String {
    let (before, after): (Vec<&str>, Vec<&str>) =
        (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let lines = compare(&before, &after);
    let changes: Vec<usize> =
        (0..lines.len()).filter(|at| !matches!(lines.get(*at), Some(DiffLine::Same(_)) | None)).collect();
    let mut text = String::new();
    let mut rest = changes.as_slice();
    while let Some(first) = rest.first() {
        // Changes whose context touches are one hunk.
        let near = rest.windows(2).take_while(|pair| matches!(pair, [a, b] if b - a <= 2 * CONTEXT)).count();
        let last = rest.get(near).unwrap_or(first);
        if text.is_empty() {
            let _ = write!(text, "--- a/{path}\n+++ b/{path}\n");
        }
        write_hunk(&mut text, &lines, first.saturating_sub(CONTEXT)..(last + CONTEXT + 1).min(lines.len()));
        rest = rest.get(near + 1..).unwrap_or_default();
    }
    text
}

fn write_hunk(text: &mut String, lines: &[DiffLine<'_>], range: std::ops::Range<usize>) {
    let count = |lines: &[DiffLine<'_>], is_old: bool| {
        let other = |line: &&DiffLine<'_>| match line {
            DiffLine::Same(_) => true,
            DiffLine::Removed(_) => is_old,
            DiffLine::Added(_) => !is_old,
        };
        lines.iter().filter(other).count()
    };
    let (before, hunk) = (lines.get(..range.start).unwrap_or_default(), lines.get(range).unwrap_or_default());
    let side = |is_old: bool| {
        let size = count(hunk, is_old);
        // The number of an empty side is that of the line before it.
        let first = count(before, is_old) + usize::from(size > 0);
        if size == 1 { first.to_string() } else { format!("{first},{size}") }
    };
    let _ = writeln!(text, "@@ -{} +{} @@", side(true), side(false));
    for line in hunk {
        let (mark, line) = match line {
            DiffLine::Same(line) => (' ', line),
            DiffLine::Removed(line) => ('-', line),
            DiffLine::Added(line) => ('+', line),
        };
        text.push(mark);
        text.push_str(line);
        if !line.ends_with('\n') {
            text.push_str("\n\\ No newline at end of file\n");
        }
    }
}

/// Compares lines: first what is the same at both ends, then the rest.
fn compare<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<DiffLine<'a>> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (old.get(head..).unwrap_or_default(), new.get(head..).unwrap_or_default());
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let middle = |rest: &[&'a str]| rest.get(..rest.len() - tail).unwrap_or_default().to_vec();
    let same = |lines: &[&'a str]| lines.iter().map(|line| DiffLine::Same(line)).collect::<Vec<_>>();
    let mut lines = same(old.get(..head).unwrap_or_default());
    lines.extend(compare_middle(&middle(old_rest), &middle(new_rest)));
    lines.extend(same(old_rest.get(old_rest.len() - tail..).unwrap_or_default()));
    lines
}

/// Compares lines by their longest common subsequence.
fn compare_middle<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<DiffLine<'a>> {
    let width = new.len() + 1;
    if width.saturating_mul(old.len() + 1) > MOST_CELLS {
        let removed = old.iter().map(|line| DiffLine::Removed(line));
        return removed.chain(new.iter().map(|line| DiffLine::Added(line))).collect();
    }
    // The cell of (i, j) has the length for old[i..] and new[j..].
    let mut table = vec![0_u32; width * (old.len() + 1)];
    let cell = |table: &[u32], i: usize, j: usize| table.get(i * width + j).copied().unwrap_or_default();
    for (i, before) in old.iter().enumerate().rev() {
        for (j, after) in new.iter().enumerate().rev() {
            let longest = if before == after {
                cell(&table, i + 1, j + 1) + 1
            } else {
                cell(&table, i + 1, j).max(cell(&table, i, j + 1))
            };
            if let Some(slot) = table.get_mut(i * width + j) {
                *slot = longest;
            }
        }
    }
    let mut lines = Vec::new();
    let (mut i, mut j) = (0, 0);
    loop {
        match (old.get(i), new.get(j)) {
            (None, None) => return lines,
            (Some(before), Some(after)) if before == after => {
                lines.push(DiffLine::Same(before));
                (i, j) = (i + 1, j + 1);
            }
            (None, Some(after)) => {
                lines.push(DiffLine::Added(after));
                j += 1;
            }
            (Some(_), Some(after)) if cell(&table, i + 1, j) < cell(&table, i, j + 1) => {
                lines.push(DiffLine::Added(after));
                j += 1;
            }
            (Some(before), _) => {
                lines.push(DiffLine::Removed(before));
                i += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DiffLine, compare, unified_diff};

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

    /// All texts of at most five of these characters.
    fn texts() -> Vec<String> {
        let mut all = vec![String::new()];
        let mut last = all.clone();
        for _ in 0..5 {
            last = last.iter().flat_map(|text| ["a", "b", "\n"].map(|c| format!("{text}{c}"))).collect();
            all.extend(last.iter().cloned());
        }
        all
    }

    #[test]
    fn both_versions_are_in_it() {
        let all = texts();
        for (old, new) in all.iter().flat_map(|old| all.iter().map(move |new| (old, new))) {
            let (before, after): (Vec<&str>, Vec<&str>) =
                (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
            let (mut removed, mut added) = (String::new(), String::new());
            for line in compare(&before, &after) {
                if let DiffLine::Same(line) | DiffLine::Removed(line) = line {
                    removed.push_str(line);
                }
                if let DiffLine::Same(line) | DiffLine::Added(line) = line {
                    added.push_str(line);
                }
            }
            assert_eq!((&removed, &added), (old, new));
        }
    }
}
