use super::{KeyFolder, KeyFolderError, folders, is_name, named_after};
use crate::HostEnv;
use std::{
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
};

fn keys(dir: &Path) -> KeyFolder {
    let dir = dir.join("keys").display().to_string();
    KeyFolder::from_env(&HostEnv::from([("WF_KEYS".into(), dir)])).unwrap()
}

#[test]
fn a_key_is_named_after_its_owner() {
    for (owner, name) in [
        ("ada", Some("ada")),
        ("Ada.Lovelace", Some("ada-lovelace")),
        ("EXAMPLE\\ada_2", Some("example-ada-2")),
        ("-build-", Some("build")),
        ("", None),
        ("Ωμέγα", None),
    ] {
        assert_eq!(named_after(owner).as_deref(), name, "{owner}");
    }
    let long = named_after(&format!("{}-{}", "a".repeat(63), "b")).unwrap();
    assert!(is_name(&long), "{long}");
}

#[test]
fn the_environment_says_where() {
    let host = |pairs: &[(&str, &str)]| -> HostEnv {
        let pairs = pairs.iter();
        pairs.map(|(name, value)| ((*name).into(), (*value).into())).collect()
    };
    let dir = |pairs: &[(&str, &str)]| KeyFolder::from_env(&host(pairs)).map(|keys| keys.dir);
    let home = ("HOME", "/home/ada");
    assert_eq!(dir(&[home]).unwrap(), Path::new("/home/ada/.config/wf/keys"));
    let config = ("XDG_CONFIG_HOME", "/c");
    assert_eq!(dir(&[home, config]).unwrap(), Path::new("/c/wf/keys"));
    let own = ("WF_KEYS", "/k");
    assert_eq!(dir(&[home, config, own]).unwrap(), Path::new("/k"));
    assert!(matches!(dir(&[]), Err(KeyFolderError::NoFolder)));
    assert!(matches!(dir(&[home, ("WF_KEYS", "k")]), Err(KeyFolderError::Relative(_))));
    assert_eq!(folders(&host(&[home, config, own])).len(), 3);
}

#[test]
fn a_key_is_kept_for_its_owner_alone_and_never_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let keys = keys(dir.path());
    assert_eq!(keys.names().unwrap(), [""; 0]);
    keys.add("ada", "private", "public").unwrap();
    let mode = |path: &str| {
        let found = fs::metadata(keys.dir.join(path)).unwrap();
        found.permissions().mode() & 0o777
    };
    assert_eq!((mode(""), mode("ada.pem"), mode("ada.pub")), (0o700, 0o600, 0o600));
    let again = keys.add("ada", "other", "other").unwrap_err();
    assert!(matches!(again, KeyFolderError::Exists { .. }), "{again}");
    assert_eq!(keys.private("ada").unwrap(), "private");
    assert_eq!(keys.public("ada").unwrap(), "public");
    keys.rename("ada", "ada-1").unwrap();
    assert_eq!(keys.names().unwrap(), ["ada-1"]);
    assert!(matches!(keys.private("ada"), Err(KeyFolderError::Missing { .. })));
}

fn advice(error: &KeyFolderError) -> String {
    error.remedy().render(&|action| format!("{action:?}"))
}

#[test]
fn what_others_could_have_read_or_put_there_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let keys = keys(dir.path());
    keys.add("ada", "private", "public").unwrap();
    let pem = keys.dir.join("ada.pem");
    fs::set_permissions(&pem, Permissions::from_mode(0o640)).unwrap();
    let open = keys.private("ada").unwrap_err();
    assert!(advice(&open).starts_with("chmod 600 "), "{open}");
    fs::set_permissions(&pem, Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(&keys.dir, Permissions::from_mode(0o750)).unwrap();
    let open = keys.private("ada").unwrap_err();
    assert!(advice(&open).starts_with("chmod 700 "), "{open}");
    assert!(keys.add("bob", "private", "public").is_err());
    fs::set_permissions(&keys.dir, Permissions::from_mode(0o700)).unwrap();
    symlink(&pem, keys.dir.join("eve.pem")).unwrap();
    assert!(matches!(keys.private("eve"), Err(KeyFolderError::Odd(_))));
    assert!(matches!(keys.add("eve", "x", "y"), Err(KeyFolderError::Exists { .. })));
}

#[test]
fn a_name_is_the_name_of_a_file() {
    for name in ["ada", "ada-2", "2"] {
        assert!(is_name(name), "{name}");
    }
    for name in ["", "Ada", "../ada", "a/b", "-a", "a-", "a--b", "a.b", "ä"] {
        assert!(!is_name(name), "{name}");
    }
}
