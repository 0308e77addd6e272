//! The advice from memory on the alternatives of a plan's steps and on its intent.

use serde::{Deserialize, Serialize};

use wf_base::keywords;
use wf_model::Step;

/// Advice from memory on a tool and its target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ToolAdvice {
    /// The tool.
    pub tool: String,
    /// The target; absent: unspecified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The advice.
    pub advice: AdviceKind,
    /// The amount of knowledge: attention, from 0.
    pub attention: f64,
    /// The direction of the evidence: decision, for or against.
    pub decision: f64,
}

/// Advice from memory on the intent of a plan, from the outcomes of earlier runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct IntentAdvice {
    /// The slug of the plan's `intent`, or of its title: its first three words, and a digest if there are more.
    pub slug: String,
    /// The conclusion for a planner. By itself it changes nothing: memory makes no plan impossible.
    pub advice: AdviceKind,
    /// The amount of knowledge: attention, from 0.
    pub attention: f64,
    /// The direction of the evidence: decision, for or against.
    pub decision: f64,
}

keywords! {
    /// Advice on an alternative.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum AdviceKind {
        /// It must not be used.
        Avoid = "avoid",
        /// It is preferred to other alternatives.
        Exploit = "exploit",
        /// It was tried without a clear result.
        Caution = "caution",
    }
}

/// Returns the advice on an alternative of a step.
pub(in crate::machine) fn advice_about<'a>(
    advice: &'a [ToolAdvice],
    step: &Step,
    way: u32,
) -> Option<&'a ToolAdvice> {
    let (tool, target) = (step.tool(way as usize), step.target(way as usize));
    let same = |one: &&ToolAdvice| one.tool == tool && one.target.as_deref() == target;
    advice.iter().find(same)
}

/// True if an alternative must not be used. Memory makes no step impossible: where every
/// alternative is to be avoided, none is.
pub(in crate::machine) fn is_avoided(advice: &[ToolAdvice], step: &Step, way: u32) -> bool {
    let avoid = |way| advice_about(advice, step, way).is_some_and(|one| one.advice == AdviceKind::Avoid);
    avoid(way) && !(0_u32..).take(step.alternative_count()).all(avoid)
}

/// True if an alternative is preferred to others.
pub(in crate::machine) fn is_preferred(advice: &[ToolAdvice], step: &Step, way: u32) -> bool {
    advice_about(advice, step, way).is_some_and(|one| one.advice == AdviceKind::Exploit)
}
