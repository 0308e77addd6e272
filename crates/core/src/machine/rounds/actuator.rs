//! The choice of another alternative for a step after a round, among the plan's declared ones
//! (DESIGN section 8, actuator). Pure: the same step and history give the same choice.

use std::collections::BTreeSet;

use crate::{
    ggs::Directive,
    machine::{
        state::tool_choice::BlockedActuators,
        words::{
            ToolAdvice,
            advice::{is_avoided, is_preferred},
        },
    },
};
use wf_model::Step;

/// The constraints on a choice.
pub(in crate::machine) struct ChoiceConstraints<'a> {
    /// The blocked tools and targets.
    pub(in crate::machine) blocked: &'a BlockedActuators,
    /// The tools used in this run.
    pub(in crate::machine) used: &'a BTreeSet<String>,
    /// The advice from memory.
    pub(in crate::machine) advice: &'a [ToolAdvice],
}

/// Returns the next alternative for a step and the kind of that change; `None` if none is left.
/// Alternatives already tried are never chosen again, so a run terminates.
///
/// Prefers changes of the ordered kind, then larger ones, then smaller ones; within one kind,
/// alternatives whose tool memory prefers, then the order of declaration.
pub(in crate::machine) fn choose(
    step: &Step,
    now: u32,
    tried: &BTreeSet<u32>,
    ordered: Directive,
    constraints: &ChoiceConstraints<'_>,
) -> Option<(u32, Directive)> {
    let all = (0_u32..).take(step.alternative_count());
    let open = all.filter(|way| *way != now && !tried.contains(way));
    let allowed = open.filter(|way| is_allowed(step, *way, constraints));
    let ranked = allowed.map(|way| {
        let kind = kind(step, now, way, constraints.used);
        let liked = is_preferred(constraints.advice, step, way);
        ((rank(ordered, kind), !liked, way), kind)
    });
    let ((_, _, way), kind) = ranked.min_by_key(|(rank, _)| *rank)?;
    Some((way, kind))
}

/// True if an alternative uses nothing that is blocked.
fn is_allowed(step: &Step, way: u32, constraints: &ChoiceConstraints<'_>) -> bool {
    let target = step.target(way as usize);
    !is_avoided(constraints.advice, step, way)
        && !constraints.blocked.tools.contains(&step.tool(way as usize))
        && target.is_none_or(|target| !constraints.blocked.targets.contains(target))
}

/// Returns the kind of the change from one alternative to another.
pub(in crate::machine) fn kind(step: &Step, from: u32, to: u32, used: &BTreeSet<String>) -> Directive {
    let (old, new) = (step.tool(from as usize), step.tool(to as usize));
    let same_target = step.target(from as usize) == step.target(to as usize);
    if old == new && same_target {
        Directive::Refine
    } else if old == new {
        Directive::ChangePath
    } else if used.iter().any(|tool| tool_class(tool) == tool_class(&new)) {
        Directive::ChangeApproach
    } else {
        Directive::BreakSymmetry
    }
}

/// Returns the class of a tool: its name up to the first colon.
pub(in crate::machine) fn tool_class(tool: &str) -> &str {
    tool.split(':').next().unwrap_or(tool)
}

/// Returns the distance of a kind of change from the ordered one.
fn rank(ordered: Directive, kind: Directive) -> u8 {
    use Directive::{BreakSymmetry, ChangeApproach, ChangePath, Refine};
    match (ordered, kind) {
        // A tool of a new class is also another tool.
        (BreakSymmetry, BreakSymmetry)
        | (ChangePath, ChangePath)
        | (Refine, Refine)
        | (ChangeApproach, ChangeApproach | BreakSymmetry) => 0,
        (BreakSymmetry, ChangeApproach)
        | (ChangeApproach | Refine, ChangePath)
        | (ChangePath, ChangeApproach | BreakSymmetry) => 1,
        _ => 2 + u8::from(kind == Refine),
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, sync::Arc};

    use super::{ChoiceConstraints, choose};
    use crate::{
        ggs::Directive::{self, BreakSymmetry, ChangeApproach, ChangePath, Refine},
        machine::{AdviceKind, ToolAdvice, state::tool_choice::BlockedActuators},
    };
    use wf_base::name::Name;
    use wf_model::{Alternative, Step, StepWork};

    fn step(ways: &[(&str, &str)]) -> Step {
        let way = |(tool, target): &(&str, &str)| {
            let mut step = Step::new(Name::parse("fetch").unwrap(), StepWork::Exec(Vec::new()));
            step.tool = Some((*tool).into());
            step.target = (!target.is_empty()).then(|| (*target).into());
            step
        };
        let mut all = ways.iter().map(way);
        let mut step = all.next().unwrap();
        step.alternatives = (1..)
            .zip(all)
            .map(|(at, way)| Alternative {
                id: Name::parse(&format!("way_{at}")).unwrap(),
                replaces: true,
                step: Arc::new(way),
            })
            .collect();
        step
    }

    fn set(words: &[&str]) -> BTreeSet<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn chosen(
        ordered: Directive,
        tools: &[&str],
        targets: &[&str],
        advice: &[ToolAdvice],
    ) -> Option<(u32, Directive)> {
        let step = step(&[
            ("net:curl", "a"),
            ("net:curl", "a"),
            ("net:curl", "b"),
            ("net:wget", "a"),
            ("disk:cp", "c"),
            ("disk:dd", "c"),
        ]);
        let blocked = BlockedActuators { tools: set(tools), targets: set(targets) };
        let used = set(&["net:curl"]);
        let bounds = ChoiceConstraints { blocked: &blocked, used: &used, advice };
        choose(&step, 0, &BTreeSet::from([0]), ordered, &bounds)
    }

    #[test]
    fn the_sort_of_change_that_is_ordered_comes_first() {
        assert_eq!(chosen(Refine, &[], &[], &[]), Some((1, Refine)));
        assert_eq!(chosen(ChangePath, &[], &["a"], &[]), Some((2, ChangePath)));
        let tools = ["net:curl"];
        let other = chosen(ChangeApproach, &tools, &[], &[]);
        assert_eq!(other, Some((3, ChangeApproach)));
        let new = chosen(BreakSymmetry, &tools, &[], &[]);
        assert_eq!(new, Some((4, BreakSymmetry)));
    }

    #[test]
    fn what_is_blocked_is_never_chosen_and_another_sort_takes_its_place() {
        let path = chosen(ChangePath, &[], &["a", "b"], &[]);
        assert_eq!(path, Some((4, BreakSymmetry)));
        let class = chosen(BreakSymmetry, &["net:curl", "disk:cp", "disk:dd"], &[], &[]);
        assert_eq!(class, Some((3, ChangeApproach)));
        let all = ["net:curl", "net:wget", "disk:cp", "disk:dd"];
        assert_eq!(chosen(Refine, &all, &[], &[]), None);
        assert_eq!(chosen(Refine, &[], &["a", "b", "c"], &[]), None);
    }

    fn said(tool: &str, target: &str, advice: AdviceKind) -> ToolAdvice {
        ToolAdvice {
            tool: tool.into(),
            target: (!target.is_empty()).then(|| target.into()),
            advice,
            attention: 0.9,
            decision: 0.9,
        }
    }

    #[test]
    fn memory_orders_ways_of_one_sort() {
        let liked = [said("disk:dd", "c", AdviceKind::Exploit)];
        let first = chosen(BreakSymmetry, &["net:curl"], &[], &liked);
        assert_eq!(first, Some((5, BreakSymmetry)));
        let sort_first = chosen(ChangePath, &[], &[], &liked);
        assert_eq!(sort_first, Some((2, ChangePath)));
    }

    #[test]
    fn what_memory_avoids_is_not_chosen_unless_nothing_else_is_there() {
        let bad = [said("net:curl", "b", AdviceKind::Avoid)];
        assert_eq!(chosen(ChangePath, &[], &["a"], &bad), Some((4, BreakSymmetry)));
        let all =
            [("net:curl", "a"), ("net:curl", "b"), ("net:wget", "a"), ("disk:cp", "c"), ("disk:dd", "c")];
        let all = all.map(|(tool, target)| said(tool, target, AdviceKind::Avoid));
        let path = chosen(ChangePath, &[], &["a"], &all);
        assert_eq!(path, Some((2, ChangePath)));
        // It says nothing about another target.
        let other = [said("net:curl", "", AdviceKind::Avoid)];
        assert_eq!(chosen(Refine, &[], &[], &other), Some((1, Refine)));
    }

    #[test]
    fn each_way_is_chosen_once() {
        let step = step(&[("t", "a"), ("t", "b"), ("u", "b")]);
        let blocked = BlockedActuators::default();
        let bounds = ChoiceConstraints { blocked: &blocked, used: &BTreeSet::new(), advice: &[] };
        let (mut now, mut tried) = (0, BTreeSet::from([0]));
        let mut order = Vec::new();
        while let Some((way, _)) = choose(&step, now, &tried, Refine, &bounds) {
            order.push(way);
            tried.insert(way);
            now = way;
        }
        assert_eq!(order, [1, 2]);
    }
}
