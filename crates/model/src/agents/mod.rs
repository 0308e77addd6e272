//! An agent apart from its work: its persona, its models and MCP servers, its skills.
//!
//! A workspace defines models and servers once ([`model_definition`]); a plan names a persona ([`persona`], with moods in
//! [`mood`]) and an interaction for each agent; a skill brings scripts as tools ([`agent_skill`]). The work itself is in
//! `plans`, since an agent may start plans.
//!
//! **Invariant:** nothing here knows a plan.
//!
//! Start at [`persona`] and [`model_definition`].

pub(crate) mod agent_skill;
pub(crate) mod interaction;
pub(crate) mod model_definition;
pub(crate) mod mood;
pub(crate) mod persona;
