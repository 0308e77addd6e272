//! Memory: the findings of runs, and the advice for the next one (artoo v0.8, R5).
//!
//! A [`Megram`] is one event: a [`MegramState`] of the solver, its subject ([`MegramTags`]) and three numbers: its weight
//! (f), for or against (σ), and its decay (k). The evidence about a cluster, all megrams of the same tags,
//! has two channels ([`potentials`]): *attention*, its amount, and *decision*, its direction; an [`MemoryAction`]
//! follows. The Dreamer ([`dream`]) forgets faded clusters, makes rules of those that are certain, and
//! withdraws a rule that the evidence contradicts. [`advise`] answers planners.
//!
//! A file speaks for itself: what it brings is a *claim* ([`MemoryBundle::into_claims`]), a text that decides nothing, until
//! a person confirms it or an approver signed the file.
//!
//! Beside the megrams there are notes ([`MemoryNote`]), which are found by their words, and steer nothing by themselves.
//!
//! **Invariant:** nothing here reads a clock or uses randomness; the caller passes the time. **Invariant:**
//! the order of the megrams never matters. **Invariant:** only the Dreamer changes megrams; an error is
//! corrected by adding a megram ([`contradict`]).

mod advice;
mod bundle;
mod claim;
mod dreamer;
mod line;
mod megram;
mod note;
mod potential;
mod rule;
mod search;
mod tags;
#[cfg(test)]
mod tests;

pub use advice::{MemoryAdvice, ToolTarget, advise, ruled_action};
pub use bundle::{BadBundleLine, BundleEntryError, MemoryBundle, read_bundle, write_bundle};
pub use claim::ClaimExpectedError;
pub use dreamer::{ATTENTION_OF_A_RULE, DECISION_OF_A_RULE, DEMOTED_K, DreamChanges, FORGOTTEN, dream};
pub use megram::{Megram, MegramLevel, MegramOrigin, MegramState, MegramWeights};
pub use note::{
    BadNote, FRESHNESS_DAYS, MAX_NOTE_TEXT, MAX_TAGS, MemoryNote, NoteConfirmation, NoteDraft, NoteMatch,
    NoteQuery, NoteRank, NoteScope, NoteTrust, PreferenceStrength, QUALITY_FLOOR, RankedNote, SHARED_KINDS,
    StepDecision, prefer, rank,
};
pub use potential::{
    ATTENTION, DECISION, EvidenceShare, MemoryAction, MemoryPotentials, clusters, potentials, share,
};
pub use rule::{RuleExpectedError, RuleSense, contradict};
pub use search::{MAX_FOUND, MemoryFindings, MemoryQuery, describe_notes, search};
pub use tags::{BadTag, MegramTags};
