//! Workspaces, home folders and links in places where nobody expects them: a sandbox holds there, too,
//! and honest work can be done.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Where a workspace is, and its home folder, below a temporary folder.
const PLACES: &[(&str, &str)] = &[
    ("work", "home"),
    ("with blanks, and: commas", "home"),
    ("back\\slash\\040and\ttab", "home"),
    ("upperdir=x,lowerdir=y", "home"),
    ("a:b:c", "home"),
    ("new\nline", "home"),
    ("naïve-☃", "home"),
    ("-rf", "home"),
    ("work", "work"),
    ("work", "work/home"),
    ("home/work", "home"),
    ("work", ""),
    ("work", "/"),
    ("work", "/nowhere/at/all"),
    ("work", "/usr"),
    ("work", "/tmp"),
    ("work", "not-absolute"),
];

const PLAN: &str = r#"---
kind: plan
id: odd
steps:
  - id: work
    allow: {write: [out, "new/folder"]}
    run: |
      cat "$OUTSIDE/secret.txt" ../secret.txt .wf/secret.txt || :
      echo through >> "$OUTSIDE/guarded.txt" || :
      echo through >> guarded.txt || :
      echo through >> .wf/secret.txt || :
      echo done > out/result.txt
      echo done > new/folder/result.txt
    env: {OUTSIDE: "OUTSIDE-FOLDER"}
    verify:
      - name: done
        run: |
          cat "$OUTSIDE/secret.txt" ../secret.txt .wf/secret.txt || :
          echo through >> guarded.txt || :
          cat out/result.txt
          test -e new/folder/result.txt
        env: {OUTSIDE: "OUTSIDE-FOLDER"}
        expect: {equals: done}
---
"#;

fn tried(base: &Path, work: &Path, home: &Path) -> Result<(), String> {
    let text = |path: &Path| fs::read_to_string(path).unwrap_or_default();
    let plan = PLAN.replace("OUTSIDE-FOLDER", &base.join("outside").display().to_string());
    for folder in ["outside", "empty"] {
        fs::create_dir_all(base.join(folder)).unwrap();
    }
    fs::create_dir_all(work.join("out")).unwrap();
    fs::create_dir_all(work.join(".wf")).unwrap();
    let canary = "canary-of-odd-places";
    let secrets = [base.join("outside/secret.txt"), work.join("../secret.txt"), work.join(".wf/secret.txt")];
    for secret in &secrets {
        fs::write(secret, canary).unwrap();
    }
    let guarded = [base.join("outside/guarded.txt"), work.join("guarded.txt")];
    for path in &guarded {
        fs::write(path, "").unwrap();
    }
    fs::write(work.join("wf.yaml"), "").unwrap();
    fs::write(work.join("plan.md"), plan).unwrap();
    let run = |args: &[&str]| {
        #[expect(clippy::disallowed_methods, reason = "tests start real programs")]
        let mut command = Command::new(env!("CARGO_BIN_EXE_wf"));
        command.args(args).current_dir(work).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
        let did = command.env("HOME", home).stdin(Stdio::null()).output().expect("wf can be started");
        let told = [did.stdout, did.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        (did.status.code(), told.concat())
    };
    let (code, did) = run(&["run", "plan.md"]);
    let (_, logs) = run(&["logs", "--last"]);
    let (_, shown) = run(&["show", "--last", "--json"]);
    if [&did, &logs, &shown].iter().any(|told| told.contains(canary)) {
        return Err(format!("the secret was read:\n{did}\n{logs}"));
    }
    if guarded.iter().any(|path| !text(path).is_empty()) || secrets.iter().any(|path| text(path) != canary) {
        return Err(format!("what is guarded was written:\n{did}\n{logs}"));
    }
    if code != Some(0) || text(&work.join("out/result.txt")) != "done\n" {
        return Err(format!("honest work was not done:\n{did}\n{logs}"));
    }
    Ok(())
}

#[test]
fn a_sandbox_holds_wherever_it_is() {
    let mut wrong = Vec::new();
    for (work, home) in PLACES {
        let base = tempfile::tempdir().unwrap();
        let (work, home) = (base.path().join(work), base.path().join(home));
        let done = tried(base.path(), &work, &home);
        println!("{:<10} workspace {work:?}, home {home:?}", if done.is_ok() { "holds" } else { "BREAKS" });
        wrong.extend(done.err().map(|reason| format!("{work:?}, home {home:?}: {reason}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Links in the place of the workspace, of the state, of what may be written and of a check's folder.
#[test]
fn a_sandbox_holds_behind_links() {
    type Lay = fn(&Path) -> PathBuf;
    let scenes: [(&str, Lay, bool); 4] = [
        (
            "the workspace is a link",
            |base| {
                fs::create_dir_all(base.join("real")).unwrap();
                symlink("real", base.join("work")).unwrap();
                base.join("work")
            },
            true,
        ),
        (
            "the state is a link",
            |base| {
                fs::create_dir_all(base.join("work")).unwrap();
                fs::create_dir_all(base.join("state")).unwrap();
                symlink("../state", base.join("work/.wf")).unwrap();
                base.join("work")
            },
            true,
        ),
        (
            "what may be written leads out",
            |base| {
                fs::create_dir_all(base.join("work")).unwrap();
                fs::create_dir_all(base.join("outside")).unwrap();
                symlink("../outside", base.join("work/new")).unwrap();
                base.join("work")
            },
            false,
        ),
        (
            "what may be written leads to what is guarded",
            |base| {
                fs::create_dir_all(base.join("work")).unwrap();
                symlink("/etc", base.join("work/new")).unwrap();
                base.join("work")
            },
            false,
        ),
    ];
    for (what, lay, works) in scenes {
        let base = tempfile::tempdir().unwrap();
        let work = lay(base.path());
        match tried(base.path(), &work, &base.path().join("home")) {
            Ok(()) => assert!(works, "{what}: honest work was done"),
            Err(reason) => {
                assert!(!works && reason.starts_with("honest work was not done"), "{what}: {reason}");
                assert!(!base.path().join("outside/folder").exists(), "{what}");
            }
        }
    }
}
