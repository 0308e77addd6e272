use std::{path::PathBuf, time::Duration};

use super::{ServiceOwner, UnitFile};

fn unit() -> UnitFile {
    UnitFile {
        program: "/usr/bin/true".into(),
        args: vec!["daemon".into()],
        workspace: "/tmp".into(),
        owner: ServiceOwner::User,
        path: Some("/usr/local/bin:/usr/bin:/bin".into()),
        systemd: None,
        watchdog: Duration::from_mins(2),
        drain: std::time::Duration::from_secs(30),
    }
}

fn systems() -> ServiceOwner {
    ServiceOwner::System { user: "root".into() }
}

/// The document shows a whole unit, which must equal the text written.
#[test]
fn the_whole_text_is_that_of_the_document() {
    let mut unit = unit();
    unit.program = "/usr/local/bin/wf".into();
    unit.workspace = "/home/ada/work".into();
    let text = unit.text().unwrap();
    let document = include_str!("../../../../../../docs/daemon.md");
    let shown = document.split("```ini\n").nth(1).unwrap();
    assert_eq!(shown.split("```").next().unwrap(), text);
}

#[test]
fn what_differs() {
    let mut unit = unit();
    unit.owner = systems();
    unit.systemd = Some(253);
    unit.watchdog = Duration::from_secs(90);
    let text = unit.text().unwrap();
    for line in [
        "Type=notify-reload",
        "User=root",
        "WatchdogSec=1m 30s",
        "After=network-online.target",
        "WantedBy=multi-user.target",
    ] {
        assert!(text.lines().any(|unit_line| unit_line == line), "{line}\n{text}");
    }
    assert!(!text.contains("ExecReload"), "{text}");
    unit.systemd = Some(252);
    assert!(unit.text().unwrap().contains("Type=notify\nExecReload="));
}

#[test]
fn nothing_takes_away_what_sandboxes_are_made_of() {
    let text = unit().text().unwrap();
    for key in [
        "RestrictNamespaces",
        "PrivateUsers",
        "ProtectProc",
        "ProcSubset",
        "ProtectKernelTunables",
        "SystemCallFilter",
        "MemoryDenyWriteExecute",
    ] {
        assert!(!text.contains(key), "{key}");
    }
}

#[test]
fn what_cannot_be_written_is_refused() {
    type Change = fn(&mut UnitFile);
    let changes: [(&str, Change); 8] = [
        ("a quote", |unit| unit.program = "/a\"b".into()),
        ("not an absolute path", |unit| unit.program = "wf".into()),
        ("control", |unit| unit.workspace = "/a\nUser=root".into()),
        ("control", |unit| unit.args = vec!["a\nb".into()]),
        ("control", |unit| unit.path = Some("/bin\n".into())),
        ("last character", |unit| unit.workspace = "/a\\".into()),
        ("not UTF-8", |unit| {
            use std::os::unix::ffi::OsStringExt as _;
            let bytes = b"/a\xff".to_vec();
            unit.workspace = PathBuf::from(std::ffi::OsString::from_vec(bytes));
        }),
        ("a valid user name", |unit| {
            unit.owner = ServiceOwner::System { user: "a b".into() };
        }),
    ];
    for (part, change) in changes {
        let mut unit = unit();
        change(&mut unit);
        let error = unit.text().unwrap_err().to_string();
        assert!(error.contains(part) && !error.contains('\n'), "{error}");
    }
}

/// systemd itself reads the unit, if it is installed: names that need care, too.
#[test]
#[expect(clippy::disallowed_methods, reason = "a tool of the machine, as a judge")]
fn systemd_takes_it() {
    let dir = tempfile::tempdir().unwrap();
    let odd = dir.path().join("a b %n $HOME \"q\" 'x' \\y ü");
    std::fs::create_dir(&odd).unwrap();
    let program = dir.path().join("w f %n $HOME ü");
    std::fs::copy("/bin/true", &program).unwrap();
    for (at, owner) in [ServiceOwner::User, systems()].into_iter().enumerate() {
        let mut unit = unit();
        unit.owner = owner;
        unit.program.clone_from(&program);
        unit.workspace.clone_from(&odd);
        unit.args.push("--with=%i $X \"".into());
        let file = dir.path().join(format!("wf-{at}.service"));
        std::fs::write(&file, unit.text().unwrap()).unwrap();
        let analyze =
            std::process::Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&file).output();
        let Ok(output) = analyze else {
            return;
        };
        let text = String::from_utf8_lossy(&output.stderr);
        let about: Vec<&str> = text.lines().filter(|line| line.contains("wf-")).collect();
        assert!(about.is_empty(), "{text}\n{}", unit.text().unwrap());
    }
}
