//! The core, driven by a seeded world.

mod agent_budgets;
mod agent_children;
mod agent_programs;
mod agents;
mod answers;
mod budgets;
mod corrections;
mod evidence;
mod found;
mod going_on;
mod killed;
mod laws;
mod looks;
mod more_rules;
mod plants;
mod play;
mod repeats;
mod rooms;
mod rounds;
mod rules;
mod simulated;
mod stop;
mod tool_approvals;
mod traces;
mod word;
mod world;
