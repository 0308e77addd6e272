//! A secret is used, and found nowhere afterwards.

use crate::{
    bad_input::files,
    crash::kill_both,
    support::{Did, Sandbox, until},
};

const SECRET: &str = "s3cr3t/pa+ss word-Ωmega";

const PLAN: &str = r#"---
kind: plan
id: leaky
secrets:
  TOKEN: {from: env, name: DEPLOY_TOKEN}
  KEY: {from: file, path: key.txt}
  MADE: {from: command, run: [printf, "made-%s", "by-command"]}
steps:
  - id: use
    env: {TOKEN: "{{ secrets.TOKEN }}", KEY: "{{ secrets.KEY }}", MADE: "{{ secrets.MADE }}"}
    run: |
      test -n "$TOKEN" && test -n "$KEY" && test ${#MADE} = 15
      echo "token is $TOKEN and key is $KEY, $MADE" >&2
      printf '%s' "$TOKEN" | base64
      printf 'x%s' "$TOKEN" | base64
      printf '%s' "$TOKEN" | od -An -tx1 | tr -d ' \n'
      printf '%s' "$TOKEN" | cut -c1-5 | tr -d '\n'; sleep 0.1; printf '%s' "$TOKEN" | cut -c6-
      printf '%s' "${WF_CORRECTION:-}" > told.json
    retry: {max: 1}
    verify:
      - {name: shows, run: "cat leaked.txt; false"}
      - {name: says, run: cat leaked.txt, expect: {equals: nothing}}
  - id: claim
    env: {TOKEN: "{{ secrets.TOKEN }}"}
    run: echo "told=$TOKEN" >> "$WF_OUTPUT"
    outputs: {told: {type: string}}
---
"#;

#[test]
fn no_form_of_a_secret_is_kept_or_shown() {
    let sandbox = Sandbox::new();
    sandbox.file("leaky.md", PLAN).file("key.txt", "the-key-in-the-file\n");
    sandbox.file("leaked.txt", SECRET);
    sandbox.file("wf.yaml", "policy: {on_failure: continue}\n");
    let mut command = sandbox.command(&["run", "-v", "leaky.md"]);
    let output = command.env("DEPLOY_TOKEN", SECRET).output().unwrap();
    let mut seen = output.stdout;
    seen.extend(output.stderr);
    for args in [&["show", "--last", "--json"][..], &["logs", "--last"], &["why", "--last", "use"]] {
        let did = sandbox.wf(args);
        seen.extend(did.all().into_bytes());
    }
    for (path, _) in files(&sandbox.at(".wf")) {
        seen.extend(std::fs::read(path).unwrap());
    }
    let told = sandbox.read("told.json");
    assert!(told.contains("found `***`"), "{told}");
    assert!(told.contains(r#""evidence":"***"#), "{told}");
    seen.extend(told.into_bytes());
    let hex: String = SECRET.bytes().map(|byte| format!("{byte:02x}")).collect();
    for form in
        [SECRET, "the-key-in-the-file", "made-by-command", &hex, "czNjcjN0L3BhK3NzIHdvcmQ", "MzY3IzdC9w"]
    {
        let found = seen.windows(form.len()).any(|part| part == form.as_bytes());
        assert!(!found, "{form} is kept or shown");
    }
    let shown = String::from_utf8_lossy(&seen);
    assert!(shown.contains("token is *** and key is ***, ***"), "{shown}");
}

#[test]
fn a_secret_that_is_not_there_is_named_and_nothing_else() {
    let sandbox = Sandbox::new();
    sandbox.file("leaky.md", PLAN).file("key.txt", "the-key-in-the-file\n");
    sandbox.wf(&["run", "leaky.md"]).exits(2).says("TOKEN").says("DEPLOY_TOKEN");
}

/// Leaves a secret in a file that later steps and checks print. The first time, its work is interrupted
/// behind that.
const LEAVES: &str = r#"---
kind: plan
id: leaves
secrets: {TOKEN: {from: env, name: DEPLOY_TOKEN}}
steps:
  - id: use
    env: {TOKEN: "{{ secrets.TOKEN }}"}
    run: printf %s "${TOKEN:-none}" > left.txt
  - id: stop
    depends_on: [use]
    idempotent: true
    run: test -e go || { touch stopped; sleep 50; }
  - id: show
    depends_on: [stop]
    run: cat left.txt
    writes: [good]
    verify:
      - {name: good, run: cat left.txt >&2; test -e good}
---
"#;

const USES: &str = "---\nkind: plan\nid: around\nsteps:\n  - {id: inner, uses: leaves.md}\n---\n";

/// Runs wf with this value of the secret.
fn with(sandbox: &Sandbox, args: &[&str], value: &str) -> Did {
    Did::of(sandbox.command(args).env("DEPLOY_TOKEN", value))
}

/// Whether the secret stands in what was said, or in anything that is kept.
fn is_seen(sandbox: &Sandbox, did: &Did) -> bool {
    let kept = files(&sandbox.at(".wf"));
    let kept = kept.into_iter().map(|(path, _)| std::fs::read(path).unwrap());
    let mut all = kept.chain([did.all().into_bytes()]);
    all.any(|bytes| bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes()))
}

/// Without the secret a command is refused; with it, or with another value in its place, it is hidden; and without the
/// record of what was given it is seen, as it is wherever it is not known: else this would show nothing.
fn is_hidden_or_refused(prepare: impl Fn(&Sandbox), args: &[&str], code: i32) {
    const OTHER: Option<&str> = Some("some-other-value-1");
    for (value, code, is_recorded) in
        [(None, 2, true), (Some(SECRET), code, true), (OTHER, code, true), (OTHER, code, false)]
    {
        let sandbox = Sandbox::new();
        sandbox.file("leaves.md", LEAVES).file("around.md", USES);
        prepare(&sandbox);
        let records =
            files(&sandbox.at(".wf")).into_iter().filter(|(path, _)| path.ends_with("secrets.ndjson"));
        let records: Vec<_> = records.map(|(path, _)| path).collect();
        assert_eq!(records.len(), 1, "{records:?}");
        if !is_recorded {
            std::fs::remove_file(&records[0]).unwrap();
        }
        let did = match value {
            Some(value) => with(&sandbox, args, value),
            None => sandbox.wf(args).says("secret `TOKEN`").says("DEPLOY_TOKEN"),
        };
        let did = did.exits(code);
        assert_eq!(is_seen(&sandbox, &did), !is_recorded, "{value:?}: {}", did.all());
    }
}

#[test]
fn a_resume_knows_the_secrets_that_the_run_was_given_or_is_refused() {
    let interrupted = |sandbox: &Sandbox| {
        let mut command = sandbox.command(&["run", "leaves.md"]);
        let mut child = command.env("DEPLOY_TOKEN", SECRET).spawn().unwrap();
        until("the second step runs", || sandbox.at("stopped").exists());
        kill_both(&mut child);
        sandbox.file("go", "").file("good", "");
    };
    is_hidden_or_refused(interrupted, &["resume", "--last"], 0);
}

#[test]
fn a_retry_knows_the_secrets_that_nested_runs_were_given_or_is_refused() {
    let failed = |sandbox: &Sandbox| {
        sandbox.file("go", "");
        with(sandbox, &["run", "around.md"], SECRET).exits(1);
    };
    is_hidden_or_refused(failed, &["retry", "--last"], 1);
}

#[test]
fn a_verification_knows_the_secrets_that_the_run_was_given_or_is_refused() {
    let changed = |sandbox: &Sandbox| {
        sandbox.file("go", "").file("good", "");
        with(sandbox, &["run", "leaves.md"], SECRET).exits(0);
        std::fs::remove_file(sandbox.at("good")).unwrap();
    };
    is_hidden_or_refused(changed, &["verify", "--last", "--json"], 1);
}

#[test]
fn what_was_never_given_a_secret_goes_on_without_it() {
    let sandbox = Sandbox::new();
    let steps = "  - {id: first, run: test -e good}\n  - id: use\n    depends_on: [first]\n    \
                 when: succeeded('first')\n    env: {TOKEN: \"{{ secrets.TOKEN }}\"}\n    run: test -n \"$TOKEN\"\n";
    let secrets = "secrets: {TOKEN: {from: env, name: DEPLOY_TOKEN}}";
    let plan = format!("---\nkind: plan\nid: late\n{secrets}\nsteps:\n{steps}---\n");
    sandbox.file("late.md", plan);
    sandbox.wf(&["run", "late.md"]).exits(1);
    sandbox.file("good", "");
    let did = sandbox.wf(&["retry", "--last"]).exits(1);
    did.says("1 reported").says("secret `TOKEN`");
    with(&sandbox, &["retry", "--last"], SECRET).exits(0);
}

/// A name of a file is a text of whoever made it.
#[test]
fn no_name_of_a_file_tells_a_secret() {
    let check = "    verify: [{name: is_there, run: \"cat made-*.txt known.txt; false\"}]\n";
    for (case, more) in [
        ("kept", "    artifacts: [\"made-*\"]\n"),
        ("hidden from a check", check),
        (
            "read for the cache",
            &format!("    cache: {{inputs: [\"made-*\"], outputs: [known.txt]}}\n{check}"),
        ),
    ] {
        let sandbox = Sandbox::new();
        sandbox.file("names.md", names(more));
        let mut command = sandbox.command(&["run", "-v", "names.md", "--junit", "j.xml"]);
        let did = Did::of(command.env("DEPLOY_TOKEN", NAME)).exits(1);
        is_masked(&sandbox, case, did.all() + &sandbox.read("j.xml"));
    }
}

/// The same of what a run that was approved in advance refuses: there is a file that nobody approved.
#[test]
fn no_refusal_of_an_approved_run_tells_a_secret() {
    let ends = "    verify: [{name: looks, run: \"true\"}]\n";
    let next = "  - {id: next, depends_on: [make], writes: [known.txt], run: \"true\"}\n";
    for (case, more) in [("a step", next), ("a check", ends)] {
        let sandbox = Sandbox::new();
        sandbox.file("names.md", names(&format!("    writes: [known.txt]\n{more}")));
        let wf = |args: &[&str]| {
            let mut command = sandbox.command(args);
            Did::of(command.env("DEPLOY_TOKEN", NAME))
        };
        wf(&["key", "init", "ada"]).exits(0);
        wf(&["approve", "names.md", "--yes"]).exits(0);
        let did = wf(&["run", "-v", "names.md", "--require-approval"]);
        is_masked(&sandbox, case, did.all());
    }
}

/// A secret that a step makes the name of a file.
const NAME: &str = "hunter22-in-a-name";

/// A plan whose first step makes a file that is called as its secret.
fn names(more: &str) -> String {
    format!(
        "---\nkind: plan\nid: names\nsecrets: {{TOKEN: {{from: env, name: DEPLOY_TOKEN}}}}\nsteps:\n  - id: make\n    env: {{TOKEN: \"{{{{ secrets.TOKEN }}}}\"}}\n    run: echo x > \"made-$TOKEN.txt\"; echo y >> known.txt\n{more}---\n"
    )
}

/// The name was told with its secret masked, and is nowhere as it is: neither in what was printed nor in
/// what is kept or shown later.
#[track_caller]
fn is_masked(sandbox: &Sandbox, case: &str, printed: String) {
    // The file has that name: it could have been told.
    assert!(sandbox.at(&format!("made-{NAME}.txt")).exists(), "{case}");
    let mut seen = printed.into_bytes();
    for args in [&["show", "--last", "--json"][..], &["show", "--last"], &["why", "--last", "make"]] {
        seen.extend(sandbox.wf(args).all().into_bytes());
    }
    let shown = String::from_utf8_lossy(&seen).into_owned();
    assert!(shown.contains("made-***.txt"), "{case}: {shown}");
    for (path, _) in files(&sandbox.at(".wf")) {
        seen.extend(std::fs::read(path).unwrap());
    }
    let found = seen.windows(NAME.len()).any(|part| part == NAME.as_bytes());
    assert!(!found, "{case}: the name is kept or shown\n{shown}");
}

#[test]
fn what_a_secret_encodes_is_masked_like_the_secret() {
    let place = Sandbox::new();
    let plan = "---\nkind: plan\nid: p\nsecrets: {KEY64: {from: env, name: KEY64}}\nsteps:\n  - id: use\n    \
                env: {KEY64: '{{ secrets.KEY64 }}'}\n    run: echo \"$KEY64\" | base64 -d; echo; echo \"$KEY64\"\n---\n";
    place.file("p.md", plan);
    let did =
        Did::of(place.command(&["run", "-v", "p.md"]).env("KEY64", "aHVudGVyMi12ZXJ5LWxvbmctcHc=")).exits(0);
    let log = place.wf(&["logs", "--last"]);
    assert!(!did.all().contains("hunter2") && !log.all().contains("hunter2"), "{} {}", did.all(), log.all());
    assert_eq!(log.out.matches("***").count(), 2, "{}", log.out);
}

#[test]
fn what_becomes_known_while_a_step_runs_is_masked_and_kept_nowhere() {
    let place = Sandbox::new();
    let plan = "---\nkind: plan\nid: p\nsteps:\n  - id: login\n    outputs: {user: {type: string}}\n    run: |\n      \
                token=$(echo ebg13-gbxra | tr a-z n-za-m); echo \"mask=$token\" >> \"$WF_OUTPUT\"\n      \
                echo user=ada >> \"$WF_OUTPUT\"; echo \"got $token\"; test -e done\n---\n";
    place.file("p.md", plan);
    let failed = place.wf(&["run", "-v", "p.md"]).exits(1).says("got ***");
    let retried = { place.file("done", "").wf(&["retry", "-v", "--last"]) }.exits(0).says("got ***");
    let mut seen = failed.all() + &retried.all() + &place.wf(&["show", "--last", "--json"]).all();
    for (path, _) in files(&place.at(".wf")) {
        seen += &String::from_utf8_lossy(&std::fs::read(path).unwrap());
    }
    assert!(seen.contains("ada") && !seen.contains("rot13-token"), "{seen}");
}
