use std::fmt::Write as _;

use wf_base::untrusted::{BAD, GOOD, paint, untrusted};

/// The number of lines compared one by one; of longer parts all lines are shown as changed.
const MAX_COMPARED_LINES: usize = 1000;

/// The number of changed lines shown.
const MAX_SHOWN_LINES: usize = 40;

/// Returns the lines in which two texts differ, those of the first with `-`, those of the second
/// with `+`.
pub fn changed_lines(before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let same = old.iter().zip(&new).take_while(|(one, other)| one == other).count();
    let (old, new) = (old.get(same..).unwrap_or(&[]), new.get(same..).unwrap_or(&[]));
    let ends = old.iter().rev().zip(new.iter().rev());
    let tail = ends.take_while(|(one, other)| one == other).count();
    let old = old.get(..old.len() - tail).unwrap_or(&[]);
    let new = new.get(..new.len() - tail).unwrap_or(&[]);
    let marks = unmatched_lines(old, new);
    let mut text = String::new();
    for (is_new, line) in marks.iter().take(MAX_SHOWN_LINES) {
        let (mark, style) = if *is_new { ("+", GOOD) } else { ("-", BAD) };
        let _ = writeln!(text, "  {}", paint(style, &format!("{mark} {}", untrusted(line))));
    }
    if marks.len() > MAX_SHOWN_LINES {
        let _ = writeln!(text, "  … {} more", marks.len() - MAX_SHOWN_LINES);
    }
    text
}

/// Returns the lines in only one of two texts, in order.
fn unmatched_lines<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<(bool, &'t str)> {
    if old.len() > MAX_COMPARED_LINES || new.len() > MAX_COMPARED_LINES {
        let removed = old.iter().map(|line| (false, *line));
        return removed.chain(new.iter().map(|line| (true, *line))).collect();
    }
    // The longest common subsequence after each pair of positions.
    let width = new.len() + 1;
    let mut common = vec![0_u32; (old.len() + 1) * width];
    let at = |i: usize, j: usize| i * width + j;
    let get = |common: &[u32], index: usize| common.get(index).copied().unwrap_or(0);
    for (i, line) in old.iter().enumerate().rev() {
        for (j, other) in new.iter().enumerate().rev() {
            let best = if line == other {
                get(&common, at(i + 1, j + 1)) + 1
            } else {
                get(&common, at(i + 1, j)).max(get(&common, at(i, j + 1)))
            };
            if let Some(cell) = common.get_mut(at(i, j)) {
                *cell = best;
            }
        }
    }
    let (mut i, mut j, mut marks) = (0, 0, Vec::new());
    loop {
        match (old.get(i), new.get(j)) {
            (Some(one), Some(other)) if one == other => (i, j) = (i + 1, j + 1),
            (Some(one), other)
                if other.is_none() || get(&common, at(i + 1, j)) >= get(&common, at(i, j + 1)) =>
            {
                marks.push((false, *one));
                i += 1;
            }
            (_, Some(other)) => {
                marks.push((true, *other));
                j += 1;
            }
            _ => return marks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::changed_lines;
    use wf_base::untrusted::plain;

    #[test]
    fn only_what_differs_is_shown() {
        let check = |before: &str, after: &str, shown: &str| {
            assert_eq!(plain(&changed_lines(before, after)), shown, "{before:?} {after:?}");
        };
        check("a\nb\nc\n", "a\nx\nc\n", "  - b\n  + x\n");
        check("a\n", "a\n", "");
        check("", "a\nb\n", "  + a\n  + b\n");
        check("a\nb\nc\nd\n", "b\nc\nx\nd\ne\n", "  - a\n  + x\n  + e\n");
        check("a\nb\n", "", "  - a\n  - b\n");
        let long: String = (0..50).map(|n| format!("{n}\n")).collect();
        assert!(changed_lines(&long, "").ends_with("  … 10 more\n"));
    }
}
