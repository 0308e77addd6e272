//! Whoever depends on a verified file reads what was verified, whatever is done at its path since.

use crate::{
    escapes::{
        may_be_nobody, missing,
        scene::{Scene, Who},
    },
    support::{Sandbox, until},
};

/// How the file `out/it` is made another, by somebody with all rights of the user.
const WAYS: [&str; 7] = [
    "echo wrong > out/it",
    "echo wrong > new; mv -f new out/it",
    "mv out/it old; echo wrong > out/it",
    "rm -f out/it; echo wrong > out/it",
    "mv out gone; mkdir out; echo wrong > out/it",
    "mkdir more; echo wrong > more/it; mv out gone; mv more out",
    "mkdir more; echo wrong > more/it; mv out gone; ln -s more out",
];

/// What puts all as it was before any of them.
const CLEAN: &str = "rm -rf out old gone more new same copy";

/// What is said where nothing can be shown.
const TOLD: &str = "changed after it was verified: out/it (of `make`)";

/// Who runs wf.
fn users() -> Vec<Who> {
    let nobody = may_be_nobody().then_some(Who::Nobody);
    std::iter::once(Who::Own).chain(nobody).collect()
}

fn scene(who: Who) -> Scene {
    let scene = Scene::new(who);
    std::fs::remove_dir(scene.at("ws/out")).unwrap();
    scene
}

fn sh(scene: &Scene, script: &str) -> String {
    let output = scene.program("sh").args(["-c", script]).output().expect("sh starts");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs a plan in which `make` leaves a verified file and somebody who does `meanwhile`; then the
/// other steps follow.
fn run(scene: &Scene, meanwhile: &str, steps: &str) -> String {
    let quoted = |text: &str| serde_json::json!(text).to_string();
    let make = format!(
        "mkdir out copy; echo right > out/it; touch -d @1000000000 out/it; \
         printf '#!/bin/sh\\ncat \"$1\"\\n' > out/tool; chmod 755 out/tool; \
         setsid sh -c '{meanwhile}' > /dev/null 2>&1 &"
    );
    let plan = format!(
        "---\nkind: plan\nid: kept\nsteps:\n  - id: make\n    run: {}\n    artifacts: [out/it, out/tool]\n    \
         verify: [{{name: right, run: 'grep -qx right out/it && test -x out/tool'}}]\n{steps}---\n",
        quoted(&make)
    );
    std::fs::write(scene.at("plan.md"), plan).unwrap();
    sh(scene, &format!("{CLEAN}; cp ../plan.md plan.md"));
    scene.wf(&["run", "plan.md"]).all()
}

/// A step that lets the attack happen while it runs, and copies what it reads then.
const READS_LATER: &str = "  - id: use\n    depends_on: [make]\n    allow: {write: [copy]}\n    \
    run: 'touch copy/begun; until test -e copy/swapped; do sleep 0.01; done; cat out/it > copy/it; \
    out/tool out/it > copy/by_tool; stat -c %a,%Y out/it > copy/stat'\n    \
    verify: [{name: sees, run: 'cat out/it; grep -qx right out/it'}]\n";

/// Does it when that step has begun.
fn later(way: &str) -> String {
    format!("until test -e copy/begun; do sleep 0.01; done; {way}; touch copy/swapped")
}

#[test]
fn who_depends_on_a_verified_file_reads_what_was_verified() {
    if missing("python3", "whether what was verified is read") {
        return;
    }
    for who in users() {
        let scene = scene(who);
        for way in WAYS {
            let said = run(&scene, &later(way), READS_LATER);
            let read = sh(&scene, "cat copy/it copy/by_tool copy/stat");
            assert_eq!(read, "right\nright\n644,1000000000\n", "{who:?}: {way}: {said}");
            assert!(said.contains("out/it changed after it was checked"), "{who:?}: {way}: {said}");
            assert_eq!(sh(&scene, "cat out/it"), "wrong\n", "{who:?}: {way}");
            // Where the path has become a link, nothing can be shown to the check.
            let is_told = said.contains(TOLD);
            assert_eq!((is_told, is_told), (way.contains("ln -s"), said.contains("failed")), "{said}");
        }
    }
}

/// The control: without a sandbox every one of them works.
#[test]
fn without_a_sandbox_a_dependant_reads_what_others_put_there() {
    if missing("python3", "whether the attacks work") {
        return;
    }
    let scene = scene(Who::Own);
    std::fs::write(scene.at("ws/wf.yaml"), "sandbox: off\n").unwrap();
    for way in WAYS {
        let said = run(&scene, &later(way), READS_LATER);
        assert_eq!(sh(&scene, "cat copy/it"), "wrong\n", "{way}: {said}");
        assert!(said.contains("failed"), "the check reads it, too: {way}: {said}");
    }
}

#[test]
fn what_was_changed_before_is_shown_as_it_was_verified_or_told() {
    if missing("python3", "whether what was verified is read") {
        return;
    }
    for who in users() {
        let scene = scene(who);
        for way in &WAYS[..4] {
            let meddle = serde_json::json!(way);
            let steps = format!(
                "  - {{id: meddle, depends_on: [make], run: {meddle}}}\n  - id: use\n    depends_on: [make, meddle]\n    \
                 allow: {{write: [copy]}}\n    run: cp out/it copy/it\n    \
                 verify: [{{name: sees, run: grep -qx right out/it}}]\n"
            );
            let said = run(&scene, "true", &steps);
            assert_eq!(sh(&scene, "cat copy/it"), "right\n", "{who:?}: {way}: {said}");
            // Whom nothing can be shown to, and who may write it, are not started.
            for allow in ["", "allow: {write: [out]}, "] {
                let steps = format!(
                    "  - {{id: meddle, depends_on: [make], run: {meddle}}}\n  - {{id: use, {allow}depends_on: [make, meddle], run: cat out/it > copy/it}}\n"
                );
                let said = run(&scene, "true", &steps);
                assert!(said.contains(&format!("{TOLD}; restore it")), "{who:?}: {way}: {said}");
                assert_eq!(sh(&scene, "cat copy/it"), "", "{who:?}: {way}: {said}");
            }
        }
        // A link to the same bytes can lead elsewhere a moment later.
        for way in ["mv out/it same; ln -s ../same out/it", "mv out same; ln -s same out"] {
            for allow in ["", "allow: {write: [copy]}, "] {
                let steps = format!(
                    "  - {{id: meddle, depends_on: [make], run: {way:?}, writes: [same]}}\n  - {{id: use, {allow}depends_on: [make, meddle], run: cat out/it > copy/it}}\n"
                );
                let said = run(&scene, "true", &steps);
                assert!(said.contains(TOLD), "{who:?}: {way}: {said}");
            }
        }
    }
}

#[test]
fn what_was_a_link_when_it_was_verified_is_compared() {
    if missing("python3", "whether links are read") {
        return;
    }
    let scene = scene(Who::Own);
    let link = "  - {id: link, depends_on: [make], run: ln -s it out/link, artifacts: [out/link], verify: [{name: right, run: grep -qx right out/link}]}\n";
    let user = "  - {id: use, depends_on: [link], allow: {write: [copy]}, run: cp out/link copy/it, verify: [{name: ran, run: grep -qx right out/link}]}\n";
    let said = run(&scene, "true", &format!("{link}{user}"));
    assert_eq!(sh(&scene, "cat copy/it"), "right\n", "{said}");
    assert!(!said.contains("failed"), "{said}");
    let meddle = "  - {id: meddle, depends_on: [link], run: echo wrong > out/it}\n";
    let user = user.replace("[link]", "[link, meddle]");
    let said = run(&scene, "true", &format!("{link}{meddle}{user}"));
    assert!(said.contains("changed after it was verified: out/link (of `link`); restore it"), "{said}");
}

#[test]
fn what_a_step_declares_and_changes_is_its_own() {
    if missing("python3", "whether what was declared is read") {
        return;
    }
    let scene = scene(Who::Own);
    for declares in ["writes: [out/it]", "allow: {write: [out]}", "artifacts: [out/it]"] {
        let steps = format!(
            "  - {{id: change, {declares}, depends_on: [make], run: echo other > out/it, verify: [{{name: sees, run: grep -qx other out/it}}]}}\n  \
             - {{id: use, allow: {{write: [copy]}}, depends_on: [make, change], run: cp out/it copy/it}}\n  \
             - {{id: open, depends_on: [use, make], run: grep -qx other out/it}}\n"
        );
        let said = run(&scene, "true", &steps);
        assert_eq!(sh(&scene, "cat copy/it"), "other\n", "{declares}: {said}");
        assert!(!said.contains("failed"), "{declares}: {said}");
    }
}

#[test]
fn what_is_shown_can_be_used_like_the_file() {
    if missing("python3", "how what was verified is shown") {
        return;
    }
    for who in users() {
        let scene = scene(who);
        let swap = "echo wrong > out/big; echo wrong > out/tool; echo wrong > out/sub/deep; echo wrong > out/it; echo new > out/sub/new";
        let look = "cmp out/big copy/expected && test \"$(cat out/sub/deep out/sub/new)\" = \"$(printf 'deep\\nnew')\"";
        let replace = "rm out/it; echo x > out/it; mv out/sub moved; chmod 600 out/tool; rm -r out";
        let steps = format!(
            "  - {{id: more, depends_on: [make], writes: ['copy/**'], artifacts: [out/sub, out/big], \
             run: 'mkdir out/sub; echo deep > out/sub/deep; seq 100000 > out/big; cp out/big copy/expected', verify: [{{name: big, run: test -s out/big}}]}}\n  \
             - {{id: meddle, depends_on: [more], run: {swap:?}, writes: [out/sub/new]}}\n  \
             - id: use\n    depends_on: [meddle]\n    allow: {{write: [copy], exec: [sh, cat, cmp, test, out/tool]}}\n    limits: {{scratch: 1MiB}}\n    \
             run: {}\n    \
             verify:\n      - {{name: small, run: {}, limits: {{scratch: 1MiB}}}}\n      - {{name: writes, run: {replace:?}}}\n",
            serde_json::json!(format!("{look} && out/tool out/it > copy/it")),
            serde_json::json!(look),
        );
        let said = run(&scene, "true", &steps);
        assert!(!said.contains("failed"), "{who:?}: {said}");
        assert_eq!(sh(&scene, "cat copy/it out/it"), "right\nwrong\n", "{who:?}: {said}");
        // A check that does not pass says what it saw.
        let steps = "  - {id: meddle, depends_on: [make], run: echo other > out/it, verify: [{name: sees, run: grep -qx other out/it}]}\n";
        let said = run(&scene, "true", steps);
        assert!(
            said.contains("seen as it was verified, but changed since: out/it (of `make`)"),
            "{who:?}: {said}"
        );
        assert_eq!(sh(&scene, "find .wf/runs -name kept"), "", "{who:?}: nothing is left of it");
    }
}

#[test]
fn a_nested_plan_and_whoever_depends_on_it_read_what_was_verified() {
    if missing("python3", "what nested plans read") {
        return;
    }
    let scene = scene(Who::Own);
    let inner = "---\nkind: plan\nid: inner\nsteps:\n  \
        - {id: use, allow: {write: [copy]}, run: cp out/it copy/it, verify: [{name: ran, run: test -s copy/it}]}\n  \
        - {id: make, run: echo inner > out/inner, artifacts: [out/inner], verify: [{name: right, run: grep -qx inner out/inner}]}\n---\n";
    std::fs::write(scene.at("ws/inner.md"), inner).unwrap();
    let steps = "  - {id: meddle, depends_on: [make], run: echo wrong > out/it}\n  \
        - {id: nested, depends_on: [meddle], uses: inner.md}\n  \
        - {id: again, depends_on: [nested], run: echo wrong > out/inner}\n  \
        - {id: use, depends_on: [again], allow: {write: [copy]}, run: cp out/inner copy/inner}\n";
    let said = run(&scene, "true", steps);
    assert_eq!(sh(&scene, "cat copy/it copy/inner"), "right\ninner\n", "{said}");
}

#[test]
fn a_resumed_run_shows_what_was_kept_before_its_engine_died() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "plan.md",
        "---\nkind: plan\nid: kept\nsteps:\n  \
         - {id: make, run: 'mkdir out copy; echo right > out/it; echo one > out/own; cp /bin/cat out/tool', \
         artifacts: [out/it, out/own, out/tool], verify: [{name: right, run: grep -qx right out/it}]}\n  \
         - {id: change, depends_on: [make], run: echo two > out/own, writes: [out/own]}\n  \
         - {id: wait, depends_on: [change], run: 'touch copy/on; until test -e copy/go; do sleep 0.01; done'}\n  \
         - {id: use, depends_on: [wait], allow: {write: [copy]}, run: out/tool out/it out/own > copy/it}\n---\n",
    );
    let mut engine = sandbox.start(&["run", "plan.md"]);
    until("the step runs", || sandbox.at("copy/on").exists());
    engine.kill().unwrap();
    engine.wait().unwrap();
    sandbox.file("out/it", "wrong\n").file("out/tool", "#!/bin/sh\necho wrong\n").file("copy/go", "");
    let plain = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(sandbox.at("out/tool"), plain).unwrap();
    sandbox.wf(&["resume", "--last"]).exits(0);
    assert_eq!(sandbox.read("copy/it"), "right\ntwo\n");
}
