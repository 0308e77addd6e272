use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;
use wf_base::name::PlanId;

type Leave = Box<dyn Fn(&Path)>;

const VALUE: &str = "tr0ub4dor-and-3";

fn name(text: &str) -> RefId {
    RefId::parse(text).unwrap()
}

fn taken(state: &Path) -> ConnectionSecrets {
    ConnectionSecrets::take(state, &PlanId::parse("mail").unwrap()).unwrap()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_secret_is_kept_for_its_owner_alone() {
    let state = tempfile::tempdir().unwrap();
    let refs = taken(state.path());
    assert_eq!(refs.names().unwrap(), []);
    refs.put(&name("token"), &VALUE.into()).unwrap();
    refs.put(&name("token"), &"another-0ne-entirely".into()).unwrap();
    let kept = refs.get(&name("token")).unwrap();
    assert_eq!(kept.expose(), "another-0ne-entirely");
    let secrets = state.path().join("secrets");
    assert_eq!(mode(&secrets), 0o700);
    assert_eq!(mode(&secrets.join("mail")), 0o700);
    #[cfg(not(feature = "keyring"))]
    assert_eq!(mode(&secrets.join("mail/token")), 0o600);
    assert_eq!(refs.names().unwrap(), [name("token")]);
    let read = secret(state.path(), "mail", &name("token")).unwrap();
    assert_eq!(read, kept);
    refs.forget_all().unwrap();
    let gone = ConnectionSecretError::Missing(name("token"));
    assert_eq!(refs.get(&name("token")), Err(gone));
    assert!(!secrets.join("mail").exists());
}

#[test]
fn one_process_at_a_time() {
    let state = tempfile::tempdir().unwrap();
    let refs = taken(state.path());
    let again = ConnectionSecrets::take(state.path(), &PlanId::parse("mail").unwrap());
    assert_eq!(again.unwrap_err(), ConnectionSecretError::Busy);
    let other = ConnectionSecrets::take(state.path(), &PlanId::parse("other").unwrap());
    assert!(other.is_ok());
    drop(refs);
    taken(state.path());
}

#[test]
fn a_folder_that_others_can_enter_is_refused() {
    let state = tempfile::tempdir().unwrap();
    let secrets = state.path().join("secrets");
    fs::create_dir(&secrets).unwrap();
    fs::set_permissions(&secrets, fs::Permissions::from_mode(0o755)).unwrap();
    let refused = ConnectionSecrets::take(state.path(), &PlanId::parse("mail").unwrap());
    assert!(matches!(refused, Err(ConnectionSecretError::Unable(reason)) if reason.contains("chmod 700")));
}

#[test]
fn what_is_lent_is_gone_afterwards_and_what_is_written_is_checked() {
    let state = tempfile::tempdir().unwrap();
    let refs = taken(state.path());
    let lent = refs.lend(&[(name("token"), VALUE.into())], &SkillBundle::default()).unwrap();
    assert_eq!(mode(&lent.refs().join("token")), 0o600);
    assert_eq!(lent.written_secrets().unwrap(), []);
    fs::write(lent.out().join("refresh"), format!("{VALUE}\n")).unwrap();
    let found = lent.written_secrets().unwrap();
    assert_eq!(found, [(name("refresh"), SecretText::from(VALUE))]);
    assert_eq!(lent.so_far(), [SecretText::from(VALUE)]);
    let folder = lent.folder.clone();
    drop(lent);
    assert!(!folder.exists());
}

#[test]
fn what_a_script_leaves_is_not_trusted() {
    let state = tempfile::tempdir().unwrap();
    let refs = taken(state.path());
    let outside = state.path().join("outside");
    fs::write(&outside, VALUE).unwrap();
    let leave: Vec<Leave> = vec![
        Box::new(move |out| symlink(&outside, out.join("a")).unwrap()),
        Box::new(|out| fs::create_dir(out.join("a")).unwrap()),
        Box::new(|out| fs::write(out.join("a"), "").unwrap()),
        Box::new(|out| fs::write(out.join("a"), "12345").unwrap()),
        Box::new(|out| fs::write(out.join("a"), [0xff, 0xfe]).unwrap()),
        Box::new(|out| fs::write(out.join("a"), "x".repeat(70_000)).unwrap()),
        Box::new(|out| fs::write(out.join("A.b"), VALUE).unwrap()),
        Box::new(|out| {
            fs::write(out.join("a"), VALUE).unwrap();
            fs::hard_link(out.join("a"), out.join("b")).unwrap();
        }),
        Box::new(|out| {
            for at in 0..=MAX_SECRETS {
                fs::write(out.join(format!("a{at}")), VALUE).unwrap();
            }
        }),
    ];
    for leave in leave {
        let lent = refs.lend(&[], &SkillBundle::default()).unwrap();
        leave(&lent.out());
        let found = lent.written_secrets();
        let Err(ConnectionSecretError::Written(reason)) = found else {
            panic!("{found:?}");
        };
        assert!(!reason.contains(VALUE) && !reason.contains("12345"), "{reason}");
        // To mask what is there must not fail either.
        lent.so_far();
    }
}

#[test]
fn what_a_killed_wf_lent_is_taken_back() {
    let state = tempfile::tempdir().unwrap();
    let refs = taken(state.path());
    let lent = refs.lend(&[(name("token"), VALUE.into())], &SkillBundle::default()).unwrap();
    let folder = lent.folder.clone();
    std::mem::forget(lent);
    drop(refs);
    assert!(folder.join("refs/token").exists());
    taken(state.path());
    assert!(!folder.exists());
}
