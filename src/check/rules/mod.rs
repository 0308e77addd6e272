//! The rules, one a file.

mod axes;
mod cycles;
mod defaults;
mod depends;
mod duplicates;
mod http;
mod literals;
mod names;
mod never;
mod order;
mod scripts;
mod secrets;
mod unused;
mod upstream;
mod uses;

use super::{Notes, Read, Scene, Site};

/// A rule looks at a file and notes what breaks it.
type Rule = fn(&Scene<'_>, &mut Notes);

/// Every rule.
pub(super) const ALL: &[Rule] = &[
    duplicates::check,
    depends::check,
    names::check,
    axes::check,
    upstream::check,
    cycles::check,
    never::check,
    scripts::check,
    literals::check,
    secrets::check,
    unused::check,
    uses::check,
    http::check,
    defaults::check,
    order::check,
];
