use crate::check::{FileDiagnostics, RuleContext};

use super::declarations::{check_defaults, check_duplicates, check_unused};
use super::graph::depends::{check_cycles, check_depends, check_locks, check_order, check_upstream};
use super::graph::never::check_never;
use super::reads::item_keys::check_item_keys;
use super::reads::names::{check_axes, check_names, check_secrets};
use super::reads::scripts::{check_literals, check_scripts};
use super::work::agents::check_agents;
use super::work::gates::check_gates;
use super::work::settings::{check_alternatives, check_cache, check_http, check_open_steps};
use super::work::skills::check_skills;
use super::work::uses::check_uses;

/// A rule, which looks at a file and notes the violations.
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
