use std::path::Path;

use serde_json::{Value, json};

use super::{CacheInputs, differences, digest_of_input, input_changed, key};
use wf_base::{digest::Sha256Digest, redact::SecretMask};
use wf_model::{JsonObject, ResourceLimits, SandboxPermissions};

fn object(value: &Value) -> JsonObject {
    value.as_object().cloned().unwrap()
}

fn of(root: &Path, work: &str, env: &[(&str, &str)], params: &JsonObject) -> (Sha256Digest, Value) {
    let basis = CacheInputs {
        work: object(&json!({ "run": work })),
        values: Vec::new(),
        cwd: ".",
        sandbox: None,
        env: env.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
        params,
        item: None,
        outputs: &[],
        files: &[],
    };
    key(&basis, root, &["src/*".into(), "none/*".into()], &SecretMask::new(["hunter22"])).unwrap()
}

#[test]
fn the_key_changes_with_what_the_result_depends_on_and_tells_it() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    std::fs::create_dir(root.join("src")).unwrap();
    std::fs::write(root.join("src/a"), "1").unwrap();
    let params = object(&json!({ "day": "mon", "n": 1 }));
    let turned = object(&json!({ "n": 1, "day": "mon" }));
    let (first, parts) = of(root, "make", &[("X", "1"), ("T", "hunter22")], &params);
    assert!(!parts.to_string().contains("hunter22"));
    assert_eq!(parts["empty"], json!(["none/*"]));
    assert_eq!(of(root, "make", &[("X", "1"), ("T", "hunter22")], &turned).0, first);

    std::fs::write(root.join("src/a"), "2").unwrap();
    std::fs::write(root.join("src/b"), "").unwrap();
    let other = object(&json!({ "day": "tue", "n": 1 }));
    let (second, new) = of(root, "make all", &[("Y", "1"), ("T", "hunter22")], &other);
    assert_ne!(first, second);
    assert_eq!(
        differences(&parts, &new),
        [
            "command run: \"make\" → \"make all\"",
            "param day: \"mon\" → \"tue\"",
            "env X removed",
            "env Y added",
            "input src/a changed 6b86b273 → d4735e3a",
            "input src/b added",
        ]
    );
    assert_eq!(differences(&parts, &parts), [""; 0]);
}

#[test]
fn another_sandbox_is_another_key() {
    let dir = tempfile::tempdir().unwrap();
    let (none, params) = (ResourceLimits::default(), JsonObject::new());
    let net = SandboxPermissions { net: true, ..SandboxPermissions::default() };
    let some = ResourceLimits { processes: Some(9), ..ResourceLimits::default() };
    let of = |sandbox| {
        let basis = CacheInputs {
            work: JsonObject::new(),
            values: Vec::new(),
            cwd: ".",
            sandbox,
            env: Vec::new(),
            params: &params,
            item: None,
            outputs: &[],
            files: &[],
        };
        key(&basis, dir.path(), &[], &SecretMask::default()).unwrap()
    };
    let all = [
        of(None),
        of(Some((&SandboxPermissions::default(), &none))),
        of(Some((&net, &none))),
        of(Some((&net, &some))),
    ];
    for (at, (key, parts)) in all.iter().enumerate() {
        for (other, old) in &all[..at] {
            assert_ne!(key, other);
            let told = differences(old, parts);
            assert!(told.len() == 1 && told[0].starts_with("allow and limits: "), "{told:?}");
        }
    }
}

#[test]
fn strange_parts_have_bounded_differences() {
    assert_eq!(differences(&json!(null), &json!([1])), [""; 0]);
    let many: JsonObject = (0..1000).map(|at| (format!("p{at}"), json!(at))).collect();
    let lines = differences(&json!({}), &json!({ "params": many, "item": "é".repeat(1000) }));
    assert_eq!(lines.len(), 51);
    assert_eq!(lines[50], "… and 951 more");
    assert!(lines[0].chars().count() < 120, "{}", lines[0]);
}

#[test]
fn a_file_that_may_be_executed_is_another_input() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    std::fs::create_dir(root.join("src")).unwrap();
    std::fs::write(root.join("src/run.sh"), "1").unwrap();
    let with_mode = |mode| {
        std::fs::set_permissions(root.join("src/run.sh"), std::fs::Permissions::from_mode(mode)).unwrap();
        of(root, "pack", &[], &JsonObject::new())
    };
    let (plain, parts) = with_mode(0o644);
    assert_eq!(with_mode(0o664).0, plain, "who else may write it does not count");
    let own = |_: &str, _: &Value| false;
    assert_eq!(input_changed(root, &parts, own), None);
    let (executable, other) = with_mode(0o755);
    assert_ne!(executable, plain);
    assert_eq!(differences(&parts, &other), ["input src/run.sh can be executed now"]);
    assert_eq!(differences(&other, &parts), ["input src/run.sh cannot be executed now"]);
    assert_eq!(input_changed(root, &parts, own).as_deref(), Some("its input `src/run.sh` changed since"));
    assert_eq!(digest_of_input(&other["inputs"]["src/run.sh"]), parts["inputs"]["src/run.sh"].as_str());
}
