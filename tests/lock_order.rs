//! Locks are given in the order of waiting, to real processes.

use std::process::Child;

use crate::support::{Sandbox, until};

/// A plan whose step holds a lock until there is a file `go`, and then notes its number.
const PLAN: &str = "---\nkind: plan\nid: p\nparams: {n: {type: string}}\nsteps:\n  - id: d\n    concurrency: prod\n    \
                    writes: [order.txt]\n    idempotent: true\n    run: |\n      touch \"in.$WF_PARAM_N\"\n      \
                    until [ -e go ]; do sleep 0.01; done\n      echo \"$WF_PARAM_N\" >> order.txt\n---\n";

/// The tasks that wait, as `wf queue list` shows them.
struct Queue {
    runs: Vec<String>,
    since: Vec<String>,
    reasons: Vec<String>,
}

fn queue(sandbox: &Sandbox) -> Queue {
    let listed = sandbox.wf(&["queue", "list", "--json"]).exits(0);
    let listed: serde_json::Value = serde_json::from_str(&listed.out).unwrap();
    let texts = |key: &str| {
        let entries = listed["entries"].as_array().unwrap().iter();
        entries.map(|entry| entry[key].as_str().unwrap().to_owned()).collect()
    };
    Queue { runs: texts("run"), since: texts("since"), reasons: texts("reason") }
}

/// Starts runs, each of which waits before the next one begins; the first has the lock. Returns them, and their ids except for
/// that of the first.
fn start_runs(sandbox: &Sandbox, count: usize) -> (Vec<Child>, Vec<String>) {
    sandbox.file("p.md", PLAN);
    let mut children = Vec::new();
    for number in 1..=count {
        children.push(sandbox.start(&["run", "p.md", "-p", &format!("n={number}")]));
        match number {
            1 => until("the first run has the lock", || sandbox.at("in.1").exists()),
            _ => until("the run waits", || queue(sandbox).runs.len() == number - 1),
        }
    }
    let waiting = queue(sandbox).runs;
    (children, waiting)
}

#[test]
fn runs_get_a_lock_in_the_order_in_which_they_came() {
    let sandbox = Sandbox::new();
    let (children, _) = start_runs(&sandbox, 6);
    let Queue { runs, since, reasons } = queue(&sandbox);
    assert!(since.is_sorted() && runs.len() == 5, "{since:?}");
    assert!(reasons[0].starts_with("waits for lock `prod`, which step d of run "), "{reasons:?}");
    assert!(reasons[0].ends_with(" has") && reasons[4].ends_with(" has, behind 4 more"), "{reasons:?}");
    sandbox.file("go", "");
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    assert_eq!(sandbox.read("order.txt"), "1\n2\n3\n4\n5\n6\n");
    sandbox.wf(&["queue", "list"]).exits(0).says("nothing is waiting");
}

#[test]
fn a_resumed_run_waits_where_it_waited_and_a_cancelled_one_is_passed_over() {
    let sandbox = Sandbox::new();
    let (mut children, waiting) = start_runs(&sandbox, 5);
    // The second is killed, the third cancelled.
    children[1].kill().unwrap();
    children[1].wait().unwrap();
    sandbox.wf(&["cancel", &waiting[1]]).exits(0);
    until("they wait no longer", || queue(&sandbox).runs == waiting[2..]);
    let resumed = sandbox.start(&["resume", &waiting[0]]);
    let order = [&waiting[0], &waiting[2], &waiting[3]];
    until("the second waits again", || queue(&sandbox).runs.iter().eq(order));
    // The first one dies while its step goes on.
    children[0].kill().unwrap();
    children[0].wait().unwrap();
    sandbox.file("go", "");
    assert!(resumed.wait_with_output().unwrap().status.success());
    for child in children.drain(3..) {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    assert_eq!(sandbox.read("order.txt"), "1\n2\n4\n5\n");
}
