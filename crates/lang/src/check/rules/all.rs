use crate::check::{FileDiagnostics, RuleContext};

use super::{
    declarations::{check_defaults, check_duplicates, check_unused},
    graph::{
        depends::{check_cycles, check_depends, check_locks, check_order, check_upstream},
        never::check_never,
    },
    reads::{
        item_keys::check_item_keys,
        names::{check_axes, check_names, check_secrets},
        scripts::{check_literals, check_scripts},
    },
    work::{
        agents::check_agents,
        gates::check_gates,
        settings::{check_alternatives, check_cache, check_http, check_open_steps},
        skills::check_skills,
        uses::check_uses,
    },
};

/// A rule: a function to look at a file and note the violations.
type SpecRule = fn(&RuleContext<'_>, &mut FileDiagnostics);

/// Every rule.
pub(in crate::check) const ALL: &[SpecRule] = &[
    check_duplicates,
    check_depends,
    check_names,
    check_axes,
    check_item_keys,
    check_cache,
    check_upstream,
    check_cycles,
    check_never,
    check_scripts,
    check_literals,
    check_secrets,
    check_unused,
    check_alternatives,
    check_open_steps,
    check_uses,
    check_skills,
    check_agents,
    check_http,
    check_gates,
    check_locks,
    check_defaults,
    check_order,
];
