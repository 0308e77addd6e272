//! Examples that do their work again until it holds.

use crate::support::{Did, Sandbox};

/// Of `examples/self-healing.md` the trajectory is told, and what is published is right.
pub fn by_other_ways(sandbox: &Sandbox, did: &Did) {
    for line in [
        "1  D 1.00  P 0.00  Ω 0.00  L 0.60  ∇L +0.00  change_path  0 of 5 criteria · fetch: the work (environmental)",
        "fetch: `near` instead of the step as written (change_path, with fetch on \
         examples/self-healing/mirror)",
        "2  D 0.80  P 1.00  Ω 0.20  L 0.80  ∇L +0.20  change_approach  1 of 5 criteria · build: every_item (logical)",
        "build: `with_awk` instead of the step as written (change_approach, with shell:awk)",
        "3  D 0.00  P 0.00  Ω 0.40  L 0.16  ∇L -0.64  accept  5 of 5 criteria",
    ] {
        let told = did.all();
        assert!(told.contains(line), "does not say {line:?}:\n{told}");
    }
    let page = sandbox.read("target/examples/self-healing/public/index.html");
    assert!(page.contains("<td>milk</td>"), "{page}");
    assert!(page.ends_with("<b>2440</b>\n"), "{page}");
    let reason = sandbox.wf(&["why", "--last", "build"]).exits(0);
    reason.says("it ran with alternative `with_awk`, since round 3 (change_approach)");
}

/// Of `examples/pipeline` each loop is told.
pub fn by_loops(sandbox: &Sandbox, did: &Did) {
    for line in [
        "mean · attempt 2 · inspect 1/3 · failing checks 2/2 · check `documented`",
        "mean · attempt 3 · test 1/3 · failing checks 2/4 · check `exact`",
        "mean · attempt 4 · inspect 2/3 · failing checks 1/2 · check `spaced`",
    ] {
        assert!(did.all().contains(line), "does not say {line:?}:\n{}", did.all());
    }
    sandbox
        .wf(&["show", "--last"])
        .exits(0)
        .says("attempt 4 · failing checks 2/2 → 2/4 → 1/2 → 0/5 · inspect 2/3 · test 1/3");
    sandbox.wf(&["logs", "--last", "mean"]).exits(0).says("inspect 2/3: make `spaced` pass");
}
