//! What a run proved can be checked by others, with other tools.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};
use wf_base::digest::Sha256Digest;
use wf_model::ValueSchema;
use wf_report::attest::{AttestationStatement, PAYLOAD};
use wf_sign::{DsseEnvelope, PublicKey, Signer, pae};

use crate::support::Sandbox;

/// The key of the first test in RFC 8032.
const KEY: &str = "-----BEGIN PRIVATE KEY-----\n\
    MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n\
    -----END PRIVATE KEY-----\n";

const PLAN: &str = "---
kind: plan
id: release
policy: {max_parallel: 1}
params: {version: {type: string, default: hidden-from-others}}
steps:
  - id: build
    run: echo \"$WF_PARAM_VERSION\" > out.txt
    artifacts: [out.txt]
    verify: [{name: version, run: sh tests/check.sh}]
  - {id: inner, uses: inner.md}
---
";

const INNER: &str = "---
kind: plan
id: inner
steps:
  - id: each
    for_each: [a, b]
    env: {ITEM: \"{{ item }}\"}
    run: echo \"$ITEM\" > \"$ITEM.txt\"
    artifacts: ['{{ item }}.txt']
verify:
  - {name: there, run: test -s a.txt}
---
";

fn workspace() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox
        .file("plan.md", PLAN)
        .file("inner.md", INNER)
        .file("tests/check.sh", "echo looked; test -s out.txt\n")
        .file("key.pem", KEY);
    let mode = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(sandbox.at("key.pem"), mode).unwrap();
    sandbox
}

fn said(sandbox: &Sandbox) -> Value {
    let text = sandbox.wf(&["attest", "--last", "--statement"]).exits(0);
    serde_json::from_str(&text.out).unwrap()
}

#[test]
fn a_statement_says_what_was_proved() {
    let sandbox = workspace();
    sandbox.wf(&["run", "plan.md"]).exits(0);
    let statement = said(&sandbox);
    let schema = wf_lang::schema_of::<AttestationStatement>("What a wf run proved", "attestation");
    assert_eq!(ValueSchema::new(schema).unwrap().first_mistake(&statement), None);

    let digest = |text: &str| json!(Sha256Digest::of_bytes(text.as_bytes()));
    let subjects = statement["subject"].as_array().unwrap();
    let names: Vec<&str> = subjects.iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(names, ["a.txt", "b.txt", "out.txt"]);
    assert_eq!(subjects[2]["digest"]["sha256"], digest("hidden-from-others\n"));
    let predicate = &statement["predicate"];
    let run = &predicate["run"];
    assert_eq!(run["params"], digest("{\"version\":\"hidden-from-others\"}"));
    assert!(!statement.to_string().contains("hidden-from-others"));
    assert_eq!(run["plan"]["sources"][0], json!({"path": "plan.md", "digest": digest(PLAN)}));
    assert_eq!(run["steps"][0]["standing"], "verified");
    let attempt = &run["steps"][0]["attempts"][0];
    assert_eq!(attempt["evidence"][0]["path"], "out.txt");
    assert_eq!(attempt["verdicts"][0]["criterion"], "version");
    assert_eq!(attempt["verdicts"][0]["ruling"], "pass");
    assert_eq!(run["nested"][0]["nested_in"], "inner#1");
    assert_eq!(run["nested"][0]["criteria"][0]["ruling"], "pass");
    let listed = predicate["baseline"]["manifest"].as_str().unwrap();
    let list = sandbox.read(&format!(".wf/runs/{}/baseline", run["id"].as_str().unwrap()));
    assert_eq!(listed, digest(&list));
    assert!(list.contains(" check.sh\0"), "{list}");
    assert_eq!(predicate["stale"], json!([]));

    sandbox.file("out.txt", "something else\n");
    let stale = &said(&sandbox)["predicate"]["stale"];
    assert_eq!(stale[0]["step"], "build");
    assert_eq!(stale[0]["path"], "out.txt");
}

#[test]
fn an_attestation_holds_only_as_it_was_signed() {
    let sandbox = workspace();
    sandbox.wf(&["run", "plan.md"]).exits(0);
    let attest = ["attest", "--last", "--key", "key.pem", "--out", "run.json"];
    sandbox.wf(&attest).exits(0);
    let public = Signer::from_pem(KEY).unwrap().public();
    sandbox.file("public.pem", public.pem());
    let verify = ["attest", "--verify", "run.json", "--public-key", "public.pem"];
    let did = sandbox.wf(&verify).exits(0);
    assert!(did.out.contains(&public.id().to_string()), "{}", did.out);

    let envelope = DsseEnvelope::parse(&sandbox.read("run.json")).unwrap();
    let text = envelope.open(PAYLOAD, &public).unwrap();
    assert_eq!(sandbox.wf(&["attest", "--last", "--statement"]).out.trim().as_bytes(), text);
    // One bit of what it says, and one of the signature.
    let mut other = envelope.clone();
    other.payload = envelope.payload.replacen('e', "f", 1);
    sandbox.file("run.json", serde_json::to_string(&other).unwrap());
    sandbox.wf(&verify).exits(1).says("the envelope has no signature by this key");
    // Signed by the same key, but it says something else.
    let signer = Signer::from_pem(KEY).unwrap();
    let sealed = DsseEnvelope::seal(PAYLOAD, b"{}", &signer);
    sandbox.file("run.json", serde_json::to_string(&sealed).unwrap());
    sandbox.wf(&verify).exits(1).says("not an attestation of a wf run");

    // Written by another program, with more than is known here, in the other alphabet.
    let mut said: serde_json::Value = serde_json::from_slice(&text).unwrap();
    said["later"] = json!({"a": 1});
    said["predicate"]["later"] = json!("???>>>~~~");
    said["subject"][0]["annotations"] = json!({});
    let said = serde_json::to_vec_pretty(&said).unwrap();
    let mut sealed = serde_json::to_value(DsseEnvelope::seal(PAYLOAD, &said, &signer)).unwrap();
    let safe = |text: &serde_json::Value| json!(text.as_str().unwrap().replace('+', "-").replace('/', "_"));
    sealed["payload"] = safe(&sealed["payload"]);
    sealed["signatures"][0]["sig"] = safe(&sealed["signatures"][0]["sig"]);
    sealed["signatures"][0]["cert"] = json!("none");
    sealed["note"] = json!(1);
    sandbox.file("run.json", sealed.to_string());
    sandbox.wf(&verify).exits(0).says("valid:");
}

#[test]
fn what_goes_on_is_not_attested() {
    let sandbox = workspace();
    sandbox.file(
        "slow.md",
        "---\nkind: plan\nid: slow\nsteps: [{id: a, run: 'kill -9 $(cat engine); sleep 9'}]\n---\n",
    );
    sandbox.file("go.sh", "echo $$ > engine; exec \"$1\" run slow.md\n");
    let mut command = sandbox.program("sh");
    command.args(["go.sh", env!("CARGO_BIN_EXE_wf")]);
    drop(command.output().unwrap());
    sandbox.wf(&["attest", "--last", "--key", "key.pem"]).exits(2).says("has not finished").says("wf resume");
    sandbox.wf(&["cancel", "--last"]);
    sandbox.wf(&["attest", "--last", "--statement"]).exits(0);
}

#[test]
fn a_nested_run_names_the_one_that_is_attested_however_deep() {
    let sandbox = Sandbox::new();
    let plan = |id: &str, step: &str| format!("---\nkind: plan\nid: {id}\nsteps: [{step}]\n---\n");
    sandbox
        .file("top.md", plan("top", "{id: a, uses: ./middle.md}"))
        .file("middle.md", plan("middle", "{id: b, uses: ./leaf.md}"))
        .file("leaf.md", plan("leaf", "{id: c, run: 'true'}"));
    sandbox.wf(&["run", "top.md"]).exits(0);
    let id = |sql: &str| -> String {
        let query = format!("SELECT id FROM runs WHERE {sql}");
        sandbox.database().query_row(&query, [], |row| row.get(0)).unwrap()
    };
    let (top, leaf) = (id("plan = 'top'"), id("plan = 'leaf'"));
    let hint = format!("hint: wf attest {} covers it, too", &top[..8]);
    let said = sandbox.wf(&["attest", &leaf, "--statement"]).exits(2);
    said.says("is nested in another run: b#1").says(&hint);
    sandbox.wf(&["attest", &top, "--statement"]).exits(0).says(&leaf);
}

/// With the tools of somebody else. Fails if they are there and see it differently.
#[test]
fn openssl_agrees() {
    let sandbox = workspace();
    let openssl = |args: &[&str]| sandbox.program("openssl").args(args).output();
    if openssl(&["version"]).is_err() {
        eprintln!("NOT TESTED: there is no openssl");
        return;
    }
    let did = openssl(&["genpkey", "-algorithm", "ed25519", "-out", "made.pem"]).unwrap();
    assert!(did.status.success(), "{did:?}");
    let mode = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(sandbox.at("made.pem"), mode).unwrap();
    openssl(&["pkey", "-in", "made.pem", "-pubout", "-out", "made.pub"]).unwrap();
    let der = openssl(&["pkey", "-in", "made.pem", "-pubout", "-outform", "DER"]).unwrap();
    sandbox.wf(&["run", "plan.md"]).exits(0);
    let attest = ["attest", "--last", "--key", "made.pem", "--out", "run.json"];
    sandbox.wf(&attest).exits(0);

    let envelope = DsseEnvelope::parse(&sandbox.read("run.json")).unwrap();
    let key = PublicKey::from_pem(&sandbox.read("made.pub")).unwrap();
    let text = envelope.open(PAYLOAD, &key).unwrap();
    assert_eq!(envelope.signatures[0].keyid, Sha256Digest::of_bytes(&der.stdout).to_string());
    sandbox.file("signed", pae(PAYLOAD, &text));
    sandbox.file("sig.b64", envelope.signatures[0].sig.clone() + "\n");
    openssl(&["base64", "-d", "-A", "-in", "sig.b64", "-out", "sig"]).unwrap();
    let check =
        ["pkeyutl", "-verify", "-pubin", "-inkey", "made.pub", "-rawin", "-in", "signed", "-sigfile", "sig"];
    let did = openssl(&check).unwrap();
    assert!(did.status.success(), "{did:?}");
    sandbox.file("signed", pae(PAYLOAD, &[&text[..], b" "].concat()));
    assert!(!openssl(&check).unwrap().status.success());
}
