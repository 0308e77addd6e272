//! Waits of runs on a backend: they end, whatever drives the run by then.

use crate::{
    farm::Farm,
    programs::{Did, until},
};

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_retry_begins_that_becomes_due_while_its_run_changes_hands() {
    let mut farm = Farm::new(1);
    let step = "steps:\n  - id: again\n    run: echo x >> tries; test \"$(wc -l < tries)\" = 2\n    retry: {max: 2, backoff: 5s}";
    farm.plan("again", step);
    let run = farm.start(&["run", "--on", "farm", "again.md"]);
    until("it failed once", || farm.count(&farm.run(), "retry_scheduled", Some("again")) == 1);
    farm.kill_host("w1");
    farm.start_worker("w2");
    let id = farm.run();
    until("it is over", || farm.count(&id, "run_ended", None) == 1);
    Did::ended(run).exits(0);
    assert_eq!(farm.count(&id, "attempt_started", Some("again")), 2);
}
