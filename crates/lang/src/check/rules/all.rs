use crate::check::{FileDiagnostics, RuleContext};

use super::declarations::{defaults, duplicates, unused};
use super::graph::{cycles, depends, locks, never, order, upstream};
use super::reads::{axes, item_keys, literals, names, scripts, secrets};
use super::work::{agents, alternatives, cache, gates, http, open_steps, skills, uses};

/// A rule, which looks at a file and notes the violations.
type SpecRule = fn(&RuleContext<'_>, &mut FileDiagnostics);

/// Every rule.
pub(in crate::check) const ALL: &[SpecRule] = &[
    duplicates::check,
    depends::check,
    names::check,
    axes::check,
    item_keys::check,
    cache::check,
    upstream::check,
    cycles::check,
    never::check,
    scripts::check,
    literals::check,
    secrets::check,
    unused::check,
    alternatives::check,
    open_steps::check,
    uses::check,
    skills::check,
    agents::check,
    http::check,
    gates::check,
    locks::check,
    defaults::check,
    order::check,
];
