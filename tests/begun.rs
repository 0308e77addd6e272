//! What a run is begun with that no file says is recorded with it.

use serde_json::Value;

use crate::support::{Did, Sandbox};

const PLAN: &str = "---\nkind: plan\nid: p\nreplan: {}\nsteps: [{id: a, run: 'true'}]\n---\n";

/// The configuration that the run which began last was recorded with.
fn recorded(sandbox: &Sandbox) -> Value {
    let sql = "SELECT config FROM runs ORDER BY rowid DESC LIMIT 1";
    let text: String = sandbox.database().query_row(sql, [], |row| row.get(0)).expect("a run is recorded");
    serde_json::from_str(&text).expect("its configuration is JSON")
}

#[test]
fn whether_a_run_is_strict_follows_from_where_it_begins() {
    let sandbox = Sandbox::new();
    sandbox.file("plan.md", PLAN);
    for (ci, strict) in [
        (None, false),
        (Some("true"), true),
        (Some("1"), true),
        (Some("false"), false),
        (Some("0"), false),
        (Some(""), false),
    ] {
        for args in [&["run", "plan.md", "--jobs", "3"][..], &["retry", "--last", "--all"]] {
            let mut command = sandbox.command(args);
            if let Some(ci) = ci {
                command.env("CI", ci);
            }
            Did::of(&mut command).exits(0);
            let config = recorded(&sandbox);
            assert_eq!(config["strict"], strict, "CI {ci:?} {args:?}: {config}");
        }
    }
    sandbox.wf(&["run", "plan.md", "--jobs", "3"]).exits(0);
    assert_eq!(recorded(&sandbox)["max_parallel"], 3);
}
