//! The risk of what a plan may do, for the people who decide about it (Silas 0.5.2).
//!
//! A risk follows from what a step may reach and from what cannot be taken back, as its plan declares both and the
//! sandbox enforces them: files it may change, the network, secrets. No plan and no agent declares a risk, so none
//! can lower its own. What nobody knows counts as the worst that is possible.
//!
//! | level | rule |
//! |---|---|
//! | `low` | `reads_only` |
//! | `medium` | `reads_outside`, `writes` |
//! | `high` | `network`, `unconfined` |
//! | `irreversible` | `acts_with_secret` |
//!
//! **Invariant:** a permission more never lowers a risk.

mod assess;
mod level;

#[cfg(test)]
mod tests;

pub use assess::{risk_from_step, risk_of_plan, risk_of_step};
pub use level::{ActionRisk, RiskLevel, RiskRule};
