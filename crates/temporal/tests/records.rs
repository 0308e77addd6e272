//! The record of a run on a backend is one like any other, and has no secret.

use std::path::Path;

use crate::{farm::Farm, programs::Did};

/// What nobody may see, except the step that gets it.
const SECRET: &str = "quite-secret-0815";

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_run_is_shown_attested_and_compared() {
    let farm = Farm::new(1);
    let rest = |word: &str| {
        format!(
            "steps:\n  - id: make\n    run: echo said {word}; echo {word} > out.txt\n    artifacts: [out.txt]\n    \
             verify: [{{name: right, run: cat out.txt, expect: {{equals: {word}}}}}]"
        )
    };
    farm.plan("made", &rest("before"));
    farm.wf(&["run", "--on", "farm", "made.md"]).exits(0);
    let before = farm.run();
    farm.plan("made", &rest("after"));
    farm.wf(&["run", "--on", "farm", "made.md"]).exits(0);
    let run = farm.run();
    farm.wf(&["show", &run]).exits(0).says("make").says("out.txt").says("right");
    farm.wf(&["show", &run, "--artifact", "out.txt"]).exits(0).says("after");
    farm.wf(&["logs", &run, "make"]).exits(0).says("said after");
    farm.wf(&["diff", &before, &run]).exits(1).says("out.txt");
    farm.wf(&["why", &run, "make"]).exits(0);
    farm.wf(&["attest", &run, "--key", "robin", "--out", "attested.json"]).exits(0);
    let key = farm.wf(&["key", "export", "--hex"]).exits(0).out;
    farm.wf(&["attest", "--verify", "attested.json", "--public-key", key.trim()]).exits(0);
    farm.wf(&["audit", "verify"]).exits(0).says("valid");
    let artifact = std::fs::read_to_string(farm.path("space/out.txt")).unwrap();
    assert!(artifact.contains("after"), "it was brought back: {artifact}");
    // One that was changed here while the run was under way is left alone.
    farm.plan("slow", "steps: [{id: make, run: \"sleep 2; echo late > out.txt\", artifacts: [out.txt]}]");
    let run = farm.start(&["run", "--on", "farm", "slow.md"]);
    farm.until_started();
    farm.file("out.txt", "mine");
    Did::ended(run).exits(0).says("`out.txt` was changed here");
    assert_eq!(std::fs::read_to_string(farm.path("space/out.txt")).unwrap(), "mine");
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_secret_is_in_no_history_object_log_or_state() {
    let mut farm = Farm::at("127.0.0.1");
    farm.start_worker_with("w1", &[("THE_TOKEN", SECRET)]);
    let rest = r#"secrets: {TOKEN: {from: env, name: THE_TOKEN}}
steps:
  - id: uses
    env: {API_TOKEN: "{{ secrets.TOKEN }}"}
    run: |
      echo "the token is $API_TOKEN"
      echo "and again $API_TOKEN" >&2
      test "$API_TOKEN" = quite-secret-"0815" || exit 1
      echo "said=done" >> "$WF_OUTPUT"
    outputs: {said: {type: string}}
  - {id: next, depends_on: [uses], run: echo next}"#;
    farm.plan("secret", &rest.replace("quite-secret-\"0815\"", "$(printf 'quite-%s' secret-0815)"));
    let did = farm.wf(&["run", "--on", "farm", "-v", "secret.md"]).exits(0);
    let run = farm.run();
    assert!(!did.all().contains(SECRET), "{}", did.all());
    let logs = farm.wf(&["logs", &run, "uses"]).exits(0).says("the token is").all();
    assert!(!logs.contains(SECRET), "{logs}");
    let history = farm.server.history(&run);
    assert!(history.contains(r#"\"said\":\"done\""#), "its payloads are read: {history}");
    assert!(!history.contains(SECRET), "in the history");
    for folder in ["objects", "space", "w1", "server", "home"] {
        let mut count = 0;
        let holders = holders(&farm.path(folder), &mut count);
        assert!(count > 0 && holders.is_empty(), "{folder}: {holders:?}");
    }
}

/// Returns the files below a folder that contain the secret, and counts all.
fn holders(folder: &Path, count: &mut usize) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            found.extend(holders(&path, count));
        } else if kind.is_file() {
            *count += 1;
            let text = std::fs::read(&path).unwrap_or_default();
            if text.windows(SECRET.len()).any(|part| part == SECRET.as_bytes()) {
                found.push(path.display().to_string());
            }
        }
    }
    found
}
