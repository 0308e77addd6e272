use super::{PATH, job, logged, never, run};
use crate::processes::shell;
use wf_core::machine::WorkExit;
use wf_model::ShellScript;

/// Runs a script as it is given, once through `shell::argv` and once through its shell.
async fn both(text: &str) -> [(WorkExit, String); 2] {
    let script = ShellScript { shell: ["sh", "-eu", "-c"].map(String::from).into(), text: text.into() };
    let mut ended = Vec::new();
    for direct in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("tool"), "#!/bin/sh\necho \"$0\" \"$@\"; exit 7\n").unwrap();
        std::fs::write(dir.path().join("plain"), "echo \"$@\"; exit 8\n").unwrap();
        for file in ["tool", "plain"] {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(dir.path().join(file), mode).unwrap();
        }
        let mut job = job(dir.path(), text);
        let pwd = dir.path().display().to_string();
        if direct {
            job.command.argv = shell::argv(&script, Some(PATH), dir.path());
            assert_ne!(job.command.argv.first().map(String::as_str), Some(""));
        }
        let exit = run(job, never(), None).await.exit;
        let mut lines: Vec<String> =
            logged(dir.path()).replace(&pwd, "").lines().map(str::to_owned).collect();
        lines.sort();
        ended.push((exit, lines.join("\n")));
    }
    ended.try_into().unwrap()
}

#[tokio::test]
async fn a_script_ends_the_same_without_its_shell() {
    for text in [
        "env",
        "pwd",
        "ls",
        "/bin/pwd",
        "expr 1 + 1",
        "true",
        "false",
        "/bin/false",
        "./tool a b=c",
        "./plain a b",
        "echo a   b",
        "basename  /a/b\tx",
        "dirname",
        "ls -1 /",
        "test -e tool",
        "sh -c exit",
        "exit 4",
        "sleep 0",
        "cat tool plain",
        "cat none",
        "env -u PWD A=1 env",
    ] {
        let [direct, through] = both(text).await;
        assert_eq!(direct, through, "{text}");
    }
    // A missing program fails the same way, with a longer message.
    let [direct, through] = both("no_such_program a").await;
    assert_eq!(through.0, WorkExit::Code { code: 127 });
    assert_eq!(direct.0.failure_class(), through.0.failure_class());
    assert_eq!(direct.0.to_string(), "program `no_such_program` is not in PATH");
}
