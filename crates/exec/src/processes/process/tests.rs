use std::{fs, os::unix::fs::PermissionsExt as _};

use super::{
    super::{spawn, tree},
    find,
};

#[test]
fn programs_are_found_as_a_shell_finds_them() {
    let dir = tempfile::tempdir().unwrap();
    for (name, mode) in [("a/tool", 0o644), ("b/tool", 0o755), ("c/other", 0o644)] {
        let file = dir.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
    }
    fs::create_dir_all(dir.path().join("a/b")).unwrap();
    let found = |name: &str, path: Option<&str>| {
        find(name, path, dir.path()).map(|file| file.strip_prefix(dir.path()).unwrap().to_path_buf())
    };
    assert_eq!(found("tool", Some("a:b")).unwrap().to_str(), Some("b/tool"));
    assert_eq!(found("./x/y", Some("a")).unwrap().to_str(), Some("x/y"));
    assert!(found("b", Some("a")).is_err(), "a folder is no program");
    assert!(found("other", Some("c")).unwrap_err().reason.contains("not executable"));
    assert!(found("none", Some("a:b")).unwrap_err().reason.contains("program `none` is not in PATH"));
    assert!(found("", Some("a:b")).is_err());
    assert_eq!(find("sh", None, dir.path()).unwrap().to_str(), Some("/usr/bin/sh"));
}

#[test]
fn when_a_process_began_is_what_the_system_says() {
    let argv = ["sleep".to_owned(), "9".to_owned()];
    let image = spawn::ProcessImage {
        program: std::path::Path::new("/bin/sleep"),
        argv: &argv,
        env: &[],
        cwd: std::path::Path::new("/"),
    };
    let mut told = 0;
    for _ in 0..20 {
        let started = spawn::spawn(image, &[]).unwrap();
        let living = tree::process_by_id(started.pid.as_raw_nonzero().get()).unwrap();
        assert_eq!(started.start.unwrap_or(living.start), living.start);
        told += usize::from(started.start.is_some());
        rustix::process::kill_process(started.pid, rustix::process::Signal::KILL).unwrap();
        rustix::process::waitpid(Some(started.pid), rustix::process::WaitOptions::empty()).unwrap();
    }
    assert!(told > 0, "it is told without asking the system");
}
