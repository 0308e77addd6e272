//! Paths in `allow.write` that are links, or that do not exist.

use std::os::unix::fs::symlink;

use crate::support::Sandbox;

/// A first step puts links where the others may write.
const LINKS: &str = r#"---
kind: plan
id: links
policy: {max_parallel: 1, on_failure: continue}
steps:
  - {id: lay, allow: {write: [ok]}, run: "ln -sfn ../guarded ok/l; ln -sfn .. ok/root; ln -sfn ../.github/x.txt ok/file; ln -sfn /tmp ok/out"}
  - {id: folder, depends_on: [lay], allow: {write: [ok/l]}, run: "echo x > guarded/x"}
  - {id: slash, depends_on: [lay], allow: {write: [ok/l/]}, run: "echo x > guarded/x"}
  - {id: root, depends_on: [lay], allow: {write: [ok/root]}, run: "echo x > top"}
  - {id: file, depends_on: [lay], allow: {write: [ok/file]}, run: "echo x > .github/x.txt"}
  - {id: below, depends_on: [lay], allow: {write: [ok/l/sub]}, run: "echo x > guarded/sub/x"}
  - {id: made, depends_on: [lay], allow: {write: [ok/l/new]}, run: "true"}
  - {id: out, depends_on: [lay], allow: {write: [ok/out]}, run: "echo x > /tmp/x"}
  - {id: control, allow: {write: [shared/goals/deep]}, run: "echo x > shared/goals/deep/x"}
  - {id: honest, depends_on: [lay], allow: {write: [guarded]}, run: "echo x > ok/l/honest"}
---
"#;

/// A grant is a place, and whoever may write around it cannot choose another one for whom it is given.
#[test]
fn no_grant_leads_through_a_link() {
    let sandbox = Sandbox::new();
    sandbox.file("plan.md", LINKS).file("guarded/sub/kept", "").file(".github/x.txt", "").file("ok/x", "");
    sandbox.file("shared/goals/deep/kept", "");
    symlink("shared/goals", sandbox.at("goals")).unwrap();
    let did = sandbox.wf(&["run", "plan.md"]).exits(1).all();
    for (step, reason) in [
        (
            "folder",
            "`ok/l` is a link to `../guarded`, and no link is followed in `allow.write`; if the step may write there, list `guarded`",
        ),
        ("slash", "`ok/l` is a link to `../guarded`"),
        (
            "root",
            "`ok/root` is a link to `..`, and no link is followed in `allow.write`; if the step may write all of it, list `.`",
        ),
        ("file", "list `.github/x.txt`"),
        ("below", "list `guarded/sub`"),
        ("made", "`ok/l` is a link to `../guarded`"),
        ("out", "it leads out of the workspace, or nowhere"),
        ("control", "the link `goals` leads there"),
    ] {
        let line = did.lines().find(|line| line.contains(&format!("  {step} · "))).unwrap_or_default();
        assert!(line.contains("failed") && line.contains(reason), "{step}: {line}\n{did}");
    }
    for path in ["guarded/x", "guarded/sub/x", "guarded/new", "top", "shared/goals/deep/x"] {
        assert!(!sandbox.at(path).exists(), "{path} was written:\n{did}");
    }
    assert_eq!(
        (sandbox.read(".github/x.txt"), sandbox.read("guarded/honest")),
        (String::new(), "x\n".into())
    );
}

#[test]
fn a_missing_grant_is_a_folder_or_refused() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "plan.md",
        r#"---
kind: plan
id: missing
policy: {max_parallel: 1, on_failure: continue}
steps:
  - {id: folder, allow: {write: [new/folder, .cache, pkg-1.2]}, run: "touch new/folder/x .cache/x pkg-1.2/x"}
  - {id: slash, allow: {write: [site.d/]}, run: "touch site.d/x"}
  - {id: file, allow: {write: [docs/summary.md]}, run: "true", verify: [{name: is_there, run: test -s docs/summary.md}]}
  - {id: parent, depends_on: [file], when: always(), allow: {write: [docs]}, run: "echo x > docs/summary.md"}
  - {id: again, depends_on: [parent], allow: {write: [docs/summary.md]}, run: "echo y >> docs/summary.md"}
---
"#,
    );
    let did = sandbox.wf(&["run", "plan.md"]).exits(1).all();
    let line = did.lines().find(|line| line.contains("  file · ")).unwrap_or_default();
    assert!(
        line.contains(
            "`docs/summary.md` writable: it does not exist, and only folders are created; list the folder"
        ) && line.contains("(`docs`)")
            && line.contains("`docs/summary.md/`"),
        "{did}"
    );
    assert_eq!(sandbox.read("docs/summary.md"), "x\ny\n", "{did}");
    for path in ["new/folder/x", ".cache/x", "pkg-1.2/x", "site.d/x"] {
        assert!(sandbox.at(path).exists(), "{path}:\n{did}");
    }
}
