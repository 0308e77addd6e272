use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::find;

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
        find(name, path, dir.path())
            .map(|file| file.strip_prefix(dir.path()).unwrap().to_path_buf())
    };
    assert_eq!(found("tool", Some("a:b")).unwrap().to_str(), Some("b/tool"));
    assert_eq!(found("./x/y", Some("a")).unwrap().to_str(), Some("x/y"));
    assert!(found("b", Some("a")).is_err(), "a folder is no program");
    assert!(
        found("other", Some("c"))
            .unwrap_err()
            .why
            .contains("not executable")
    );
    assert!(
        found("none", Some("a:b"))
            .unwrap_err()
            .why
            .contains("no program `none`")
    );
    assert!(found("", Some("a:b")).is_err());
    assert_eq!(
        find("sh", None, dir.path()).unwrap().to_str(),
        Some("/usr/bin/sh")
    );
}
