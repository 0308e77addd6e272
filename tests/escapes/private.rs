//! Files of the system that whoever runs wf can read and others cannot.

use std::{
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt as _, chown, symlink},
    path::Path,
};

use super::scene::{GROUP, NOBODY, Scene, Who};

/// Behind more folders than anybody would think of.
const DEEP: &str = "a/b/c/d/e/f/g/h/i/j/own";

/// The files, what they hold, and their modes. Without a sandbox all of them can be read.
const FILES: [(&str, &str, u32); 6] = [
    ("public", "public", 0o644),
    (DEEP, "own", 0o600),
    ("group", "group", 0o640),
    ("closed/file", "closed", 0o644),
    ("closed/granted", "granted", 0o600),
    ("by-group/file", "by-group", 0o644),
];

/// Makes them, in a folder of the system: for this user, and for a group of root's and its.
fn plant(folder: &Path, user: u32) {
    for (path, text, mode) in FILES {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("{text}\n")).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    }
    let owned = |path: &str, owner, group, mode| {
        let path = folder.join(path);
        chown(&path, Some(owner), Some(group)).unwrap();
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    };
    owned("", 0, 0, 0o755);
    owned(DEEP, user, user, 0o600);
    owned("closed/granted", user, user, 0o600);
    owned("closed", user, user, 0o700);
    owned("group", 0, GROUP, 0o640);
    owned("by-group", 0, GROUP, 0o710);
}

/// What a step reads of them: first without a sandbox, then with one.
fn read(who: Who, user: u32) -> [String; 2] {
    let scene = Scene::new(who);
    let folder = tempfile::Builder::new().prefix("wf-private-").tempdir_in("/opt");
    let folder = folder.expect("a folder of the system: this test needs root");
    plant(folder.path(), user);
    // What a link leads to is not granted by the name of the link: an earlier step may have put it there.
    symlink(folder.path().join(DEEP), scene.at("ws/link")).unwrap();
    let at = folder.path().display();
    let files = FILES.map(|(path, ..)| format!("{at}/{path}")).join(" ");
    let plan = format!(
        "---\nkind: plan\nid: private\nsteps:\n\
         \x20 - {{id: open, run: 'cat {files} || true'}}\n\
         \x20 - {{id: confined, run: 'cat {files} || true', allow: {{read: [{at}/closed/granted, link]}}}}\n---\n"
    );
    fs::write(scene.at("ws/private.md"), plan).unwrap();
    scene.wf(&["run", "private.md"]).exits(0);
    ["open", "confined"].map(|step| {
        let log = scene.wf(&["logs", "--last", step, "--stdout"]).exits(0).out;
        log.split_whitespace().collect::<Vec<_>>().join(" ")
    })
}

#[test]
fn what_others_cannot_read_is_hidden_from_root() {
    let [open, confined] = read(Who::Own, 0);
    assert_eq!(open, "public own group closed granted by-group");
    assert_eq!(confined, "public granted");
}

#[test]
fn what_others_cannot_read_is_hidden_from_an_ordinary_user_and_its_groups() {
    let [open, confined] = read(Who::Nobody, NOBODY);
    assert_eq!(open, "public own group closed granted by-group");
    assert_eq!(confined, "public granted");
}
