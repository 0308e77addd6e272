use std::sync::LazyLock;

use super::commands::PassageFinding;
use super::places::{addresses, is_published};
use crate::inspect::Rule;
use crate::inspect::tables::PatternTable;

/// Harmful instructions in prose.
static INSTRUCTIONS: LazyLock<PatternTable> =
    LazyLock::new(|| PatternTable::read(include_str!("../tables/patterns/instructions.txt"), "(?i)"));

/// Returns every harmful instruction of a text.
pub(super) fn harmful_instructions(text: &str) -> Vec<PassageFinding> {
    let hits = INSTRUCTIONS.complete(text).filter_map(|hit| {
        let at = hit.seen.iter().map(regex::Match::start).min()?;
        let from: Vec<&str> = hit.seen.iter().flat_map(|seen| addresses(seen.as_str())).collect();
        let is_known = hit.rule == Rule::FetchAndRun && is_published(&from);
        let rule = if is_known { Rule::PackageInstall } else { hit.rule };
        Some((rule, at, hit.reason.to_owned()))
    });
    hits.collect()
}
