//! The mistakes in well-formed declarations.
//!
//! [`check`] looks at every file of a [`Loaded`](crate::LoadedSpec) and adds its findings to the
//! diagnostics. Each rule is one function, and sees the whole scene: the plan,
//! its steps by name, the graph, and everything any expression reads.
//!
//! If a file and all it uses are without mistakes, `taint` follows their values.
//!
//! **Invariant:** a rule never stops another; all mistakes are reported at once. **Invariant:** a
//! name reported as missing is missing: where other mistakes of a file could have hidden a
//! declaration, nothing is reported. **Invariant:** time is linear in the size of the files, and in
//! the number of mistakes up to a bound.

mod escalations;
mod gate_file;
mod goal_file;
mod models;
mod people;
mod reads;
mod rules;
mod run;
mod scene;
mod taint;
#[cfg(test)]
mod tests;

use reads::{ExprRead, ExprSite};
use run::FileDiagnostics;
use scene::RuleContext;

pub use models::models;
pub use people::people;
pub use run::check;
