//! Scripts that do not do what they should: nothing of them is kept, and nothing is left.

use super::{KEY, add, nothing_leaked, place, secrets};
use crate::support::{Did, Sandbox, until};

/// Sets up with this in the place of a script.
fn with(script: &str, text: &str) -> (Sandbox, Did) {
    let place = place();
    place.file(&format!("skills/keybox/scripts/{script}.sh"), text);
    let did = add(&place);
    (place, did)
}

/// The setup fails and says why; nothing of it is kept, nothing runs on.
#[track_caller]
fn refused(script: &str, text: &str, reason: &str) {
    let (place, did) = with(script, text);
    let did = did.exits(1);
    assert!(did.all().contains(reason), "{text}: {}", did.all());
    assert!(!did.all().contains(KEY), "{text}: {}", did.all());
    assert_eq!(secrets(&place), Vec::<String>::new(), "{text}");
    nothing_leaked(&place);
    gone(&place);
}

/// Nothing that was started in this place lives.
#[track_caller]
fn gone(place: &Sandbox) {
    let mark = place.path().display().to_string();
    until("every process is gone", || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        !processes.into_iter().any(|process| {
            let environ = std::fs::read(process.path().join("environ")).unwrap_or_default();
            let has = |text: &str| String::from_utf8_lossy(&environ).contains(text);
            has("WF_REFS_OUT=") && has(&mark)
        })
    });
}

const ASK: &str = r#"read -r start
echo '{"type":"setup_step","step_id":"1","step":{"type":"secure_input","ref_id":"token","label":"Key","guidance":""}}'
echo '{"type":"await_input","step_id":"1"}'
read -r result
"#;

const DONE: &str = r#"echo '{"type":"completion","connection_payload":{}}'
"#;

#[test]
fn a_line_of_garbage() {
    refused("setup", "echo hello\nsleep 60\n", "line 1 violates the protocol: it is not JSON");
    refused("discover", "echo hello\n", "line 1 violates the protocol: it is not JSON");
}

#[test]
fn output_without_end() {
    refused(
        "setup",
        "while :; do echo '{\"type\":\"log\",\"level\":\"info\",\"message\":\"m\"}'; done\n",
        "more than 10000 lines",
    );
    refused("setup", "cat /dev/zero\n", "longer than 65536 bytes");
    refused("discover", "yes '{}'\n", "output exceeds");
}

#[test]
fn a_script_that_hangs() {
    let hang = "trap '' TERM\nread -r start\n(trap '' TERM; sleep 300) &\nsleep 300\nsleep 300\n";
    refused("setup", hang, "it timed out and was stopped");
}

#[test]
fn a_script_that_hangs_when_it_is_only_asked() {
    refused("discover", "sleep 300\n", "it timed out and was stopped");
}

#[test]
fn a_secret_on_standard_output() {
    let told = ASK.to_owned()
        + "echo \"{\\\"type\\\":\\\"log\\\",\\\"level\\\":\\\"info\\\",\\\"message\\\":\\\"$(cat $WF_REFS/token)\\\"}\"\n"
        + DONE;
    refused("setup", &told, "contains a secret");
    let coded = ASK.to_owned()
        + "echo \"{\\\"type\\\":\\\"completion\\\",\\\"connection_payload\\\":{\\\"account\\\":\\\"$(base64 < $WF_REFS/token)\\\"}}\"\n";
    refused("setup", &coded, "contains a secret");
    let probe = "read -r request\necho \"{\\\"key\\\":\\\"$(cat $WF_REFS/token)\\\"}\"\n";
    refused("probe", probe, "contains a secret");
}

#[test]
fn a_secret_that_is_written_down_after_it_was_said() {
    let late = ASK.to_owned()
        + "echo '{\"type\":\"completion\",\"connection_payload\":{\"account\":\"fresh-5ecret-0f-service\"}}'\nsleep 0.3\nprintf fresh-5ecret-0f-service > $WF_REFS_OUT/fresh\n";
    refused("setup", &late, "contains a secret");
}

#[test]
fn a_secret_on_standard_error_is_masked() {
    let (place, did) = with("setup", &(ASK.to_owned() + "cat $WF_REFS/token >&2\nexit 3\n"));
    let did = did.exits(1).says("output: ***");
    assert!(!did.all().contains(KEY));
    nothing_leaked(&place);
}

#[test]
fn an_end_without_completion() {
    refused("setup", ASK, "it exited without reporting a result");
    refused("setup", &(ASK.to_owned() + DONE + "exit 1\n"), "it exited without reporting a result");
    refused("probe", "exit 0\n", "it exited without reporting a result");
}

#[test]
fn words_after_completion() {
    refused("setup", &(ASK.to_owned() + DONE + "echo '{}'\n"), "it continues after completion");
}

#[test]
fn a_secret_that_nobody_agreed_to() {
    let other = ASK.replace("\"token\"", "\"password\"");
    refused("setup", &other, "it requests a secret that `discover` did not list");
}

#[test]
fn what_is_no_secret_among_the_secrets() {
    let link = ASK.to_owned() + "ln -s /etc/passwd $WF_REFS_OUT/token\n" + DONE;
    refused("setup", &link, "an invalid secret");
    let name = ASK.to_owned() + "echo x > $WF_REFS_OUT/Not.A.Ref\n" + DONE;
    refused("setup", &name, "an invalid secret");
    let weak = ASK.to_owned() + "echo 1234 > $WF_REFS_OUT/pin\n" + DONE;
    refused("setup", &weak, "too weak");
}

#[test]
fn a_failure_is_told_with_what_to_do() {
    let no = "read -r start\necho '{\"type\":\"failure\",\"failure\":{\"failure_type\":\"consent_denied\",\"message\":\"you said no\"}}'\n";
    let (place, did) = with("setup", no);
    did.exits(1)
        .says("you said no")
        .says("try again: wf connection add box --skill keybox")
        .says("--permission");
    let did = place.wf(&["connection", "check", "box"]).exits(2);
    did.says("has not been set up");
}

#[test]
fn a_skill_without_a_network_has_none() {
    let net = "read -r request\nif test -e /sys/class/net/eth0 || ip route 2>/dev/null | grep -q default; then exit 9; fi\necho '{\"keys\":1}'\n";
    let (_place, did) = with("probe", net);
    did.exits(0);
}
