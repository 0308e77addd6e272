//! The tools of agents that more than a process in their sandbox carries out, through the real program.

mod ask;
mod fetch;
mod memory;
mod remember;
mod skills;

use crate::support::{Did, Sandbox};

/// A workspace whose agent `work` has these keys, `more` is next to it, and its model replies with these calls, then says
/// that it is done.
fn place(agent: &str, more: &str, calls: &[&str]) -> Sandbox {
    let place = Sandbox::new();
    place.file("wf.yaml", "models: {m: {api: scripted, model: replies.yaml}}\nroles: {executor: m}\n");
    place.file("plan.md", plan(agent, more));
    let calls: String = calls.iter().map(|call| format!("    - tool_calls: [{call}]\n")).collect();
    place.file("replies.yaml", format!("- replies:\n{calls}    - text: it is done\n"));
    place
}

fn plan(agent: &str, more: &str) -> String {
    format!(
        "---\nkind: plan\nid: tools\nsteps:\n  - id: work\n    agent: {{role: executor, {agent}}}\n{more}---\n\n\
         ## work\n\nDo it.\n"
    )
}

/// What the model and its tools said to each other.
fn exchange(place: &Sandbox) -> Did {
    place.wf(&["logs", "--last", "work", "--calls"]).exits(0)
}
