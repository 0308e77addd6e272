use super::{Why, refuted};
use crate::name::RunId;
use crate::store::StepRow;

/// What a place asked the cache, and what it heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheStory {
    /// Whether the run uses results of the cache.
    pub reuses: bool,
    /// Whether an earlier result was found.
    pub hit: bool,
    /// The run that the found result is of, if that is still known.
    pub from: Option<RunId>,
    /// The latest earlier run that asked, if there is one.
    pub against: Option<RunId>,
    /// What changed since then, one line each.
    pub changes: Vec<String>,
    /// Why a result was not used, or not stored.
    pub refused: Option<String>,
}

/// What the cache had for a step, and what became of it.
pub(super) fn cached(of: &Why<'_>, row: &StepRow, story: &CacheStory) -> Vec<String> {
    if !story.reuses {
        return vec!["it is cached, and the run was begun with `--no-cache`".into()];
    }
    if story.hit {
        return vec![found(of, row, story)];
    }
    let refused = story.refused.clone();
    let Some(against) = &story.against else {
        let first = "it is cached, and no earlier run of the plan has its result".to_owned();
        return [first].into_iter().chain(refused).collect();
    };
    let short = against.short();
    let mut lines: Vec<String> = refused.into_iter().collect();
    if !lines.is_empty() && story.changes.is_empty() {
        return lines;
    }
    lines.push(format!(
        "no earlier result could be reused; since run {short}:"
    ));
    lines.extend(story.changes.iter().map(|change| format!("  {change}")));
    if story.changes.is_empty() {
        lines.push("  nothing changed, but that run left no result to reuse".into());
    }
    lines
}

/// What became of a result that the cache held: its checks may have refuted it.
fn found(of: &Why<'_>, row: &StepRow, story: &CacheStory) -> String {
    let from = match &story.from {
        Some(from) => format!("the result of run {}", from.short()),
        None => "an earlier result".to_owned(),
    };
    let broken = refuted(of, row, 0);
    if !broken.is_empty() {
        return format!(
            "{from} was found, but does not hold now: {}",
            broken.join("; ")
        );
    }
    if row.cached.is_some() {
        format!("it did not run: nothing changed that its result depends on, so it has {from}")
    } else {
        format!("{from} was found and not used")
    }
}
