use super::{FileDiagnostics, RuleContext};
use super::{
    agents, alternatives, axes, cache, cycles, defaults, depends, duplicates, gates, http, literals, locks,
    names, never, open_steps, order, scripts, secrets, skills, unused, upstream, uses,
};

/// A rule, which looks at a file and notes the violations.
type SpecRule = fn(&RuleContext<'_>, &mut FileDiagnostics);

/// Every rule.
pub(in crate::check) const ALL: &[SpecRule] = &[
    duplicates::check,
    depends::check,
    names::check,
    axes::check,
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
