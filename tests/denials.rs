//! Denials of the sandbox, and needs that are not met, as whoever wrote the plan meets them.

use crate::support::Sandbox;

#[test]
fn a_denial_names_the_key_and_the_line_and_is_not_retried() {
    let place = Sandbox::new();
    place.file(
        "plan.md",
        "---\nkind: plan\nid: p\npolicy: {on_failure: continue}\nsteps:\n\
         \x20 - id: writes\n    allow: {write: [out]}\n    retry: {max: 3}\n\
         \x20   run: 'echo once >> out/tries; echo x > other.txt; ls'\n\
         \x20 - id: own\n    allow: {write: [out2]}\n    retry: {max: 1, on: [environmental]}\n\
         \x20   classify: [{output: Read-only, class: environmental}]\n\
         \x20   run: 'echo once >> out2/tries; echo x > /etc/other.txt && ls'\n---\n",
    );
    let did = place.wf(&["run", "plan.md"]);
    assert_eq!(did.code, Some(1), "{}", did.all());
    let said = did.all();
    for part in ["denied to write other.txt", "`allow.write`", "`write: [out, other.txt]`"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(place.read("out/tries").lines().count(), 1, "{said}");
    assert_eq!(place.read("out2/tries").lines().count(), 2, "a rule of the step comes first: {said}");
}

#[test]
fn a_secret_that_is_not_there_is_missed_before_anything_starts() {
    let place = Sandbox::new();
    place.file(
        "plan.md",
        "---\nkind: plan\nid: p\nsecrets: {KEY: {from: env, name: NOT_SET_HERE}}\nsteps:\n\
         \x20 - {id: first, run: echo ran >> ran.txt}\n\
         \x20 - {id: second, depends_on: [first], env: {K: '{{ secrets.KEY }}'}, run: 'true'}\n---\n",
    );
    place.wf(&["run", "plan.md"]).exits(2).says("NOT_SET_HERE is not set");
    assert!(!place.at("ran.txt").exists());
}
