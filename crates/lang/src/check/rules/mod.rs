//! The rules, one a file.
//!
//! **Invariant:** a rule only looks at the scene and notes mistakes; it knows no other rule.

mod agents;
mod all;
mod alternatives;
mod axes;
mod cache;
mod cycles;
mod defaults;
mod depends;
mod duplicates;
mod gates;
mod http;
mod literals;
mod locks;
mod names;
mod never;
mod open_steps;
mod order;
mod scripts;
mod secrets;
mod skills;
mod unused;
mod upstream;
mod uses;

use super::{ExprRead, ExprSite, FileDiagnostics, RuleContext};

pub(super) use all::ALL;
