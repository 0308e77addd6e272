//! Secrets that are entered in a browser, for a setup that waits for them.

use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};

use super::Pages;
use crate::{
    connections::{KEY, add, lock, nothing_leaked, place},
    support::{Sandbox, until},
};

const ADDRESS: &str = "/secrets/box/token";

const PIN: &str = r#"echo '{"type":"setup_step","step_id":"pin","step":{"type":"secure_input","ref_id":"pin","label":"PIN <b>","guidance":""}}'
echo '{"type":"await_input","step_id":"pin"}'
read -r result || exit 1
"#;

/// Begins a setup that waits for a browser.
fn begin(place: &Sandbox, pages: &Pages) -> Child {
    let args = ["connection", "add", "box", "--skill", "keybox", "--yes", "--secrets-in-browser"];
    let child = place.start(&args);
    until("the setup waits", || pages.ask("/secrets").contains("action=\"/secrets/box/token\""));
    child
}

#[track_caller]
fn answers(pages: &Pages, address: &str, form: &str, status: &str) {
    let answer = pages.own_post(address, form);
    assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{address}: {answer}");
    assert!(!answer.contains(KEY), "{answer}");
}

#[test]
fn a_secret_is_entered_once_used_and_nowhere_else() {
    let place = place();
    let ask = place.read("skills/keybox/scripts/discover.sh");
    let pin = r#"{"ref_id":"token","label":"API key"},{"ref_id":"pin","label":"PIN"}"#;
    let ask = ask.replace(r#"{"ref_id":"token","label":"API key"}"#, pin);
    let setup = place.read("skills/keybox/scripts/setup.sh");
    place.file("skills/keybox/scripts/discover.sh", ask);
    place.file("skills/keybox/scripts/setup.sh", setup.replace("token=$(cat", &format!("{PIN}token=$(cat")));
    lock(&place);
    let mut pages = Pages::open(&place);
    pages.shows("/secrets", &["No setup waits for a secret"]);
    let child = begin(&place, &pages);
    pages.shows("/", &["API key", "href=\"/secrets\""]);
    pages.shows("/secrets", &["Keybox &gt; Settings &gt; Keys", "type=\"password\""]);
    let form = format!("value={KEY}");
    for unknown in
        ["/secrets/box/pin", "/secrets/box/..%2Ftoken", "/secrets/other/token", "/secrets/..%2Fbox/token"]
    {
        answers(&pages, unknown, &form, "404");
    }
    assert!(pages.post(ADDRESS, "https://evil.example", &form).starts_with("HTTP/1.1 403 "));
    answers(&pages, ADDRESS, "value=aaaaaaaa", "422");
    answers(&pages, ADDRESS, &format!("secret={KEY}"), "422");
    answers(&pages, ADDRESS, &form, "303");
    until("the setup goes on", || pages.ask("/secrets").contains("PIN &lt;b&gt;"));
    answers(&pages, ADDRESS, &form, "409");
    nothing_leaked_yet(&place);
    pages.cookie += "Accept: application/json\r\n";
    let stored = pages.own_post("/secrets/box/pin", "value=pin-4c81e07b92d3");
    assert!(stored.starts_with("HTTP/1.1 200 ") && stored.ends_with("{\"stored\":true}"), "{stored}");
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(told.contains("connected: box") && told.contains("/secrets") && !told.contains(KEY), "{told}");
    answers(&pages, ADDRESS, &form, "404");
    nothing_leaked(&place);
    assert!(!place.at(".wf/secrets/.prompts/box").exists());
    place.wf(&["connection", "check", "box"]).exits(0);
    pages.shows("/audit?kind=secret_stored", &["connection=box", "ref_id=token", "· a browser"]);
    assert!(!place.wf(&["audit", "tail"]).all().contains(KEY));
}

/// Asserts that the value which the setup took is kept by it alone.
#[track_caller]
fn nothing_leaked_yet(place: &Sandbox) {
    for file in std::fs::read_dir(place.at(".wf/secrets/.prompts/box")).unwrap().flatten() {
        assert!(!std::fs::read_to_string(file.path()).unwrap().contains(KEY), "{}", file.path().display());
    }
}

#[test]
fn a_setup_that_is_killed_or_interrupted_waits_no_longer() {
    let place = place();
    lock(&place);
    let pages = Pages::open(&place);
    let form = format!("value={KEY}");
    let mut killed = begin(&place, &pages);
    killed.kill().unwrap();
    killed.wait().unwrap();
    answers(&pages, ADDRESS, &form, "404");
    pages.shows("/secrets", &["No setup waits for a secret"]);
    let interrupted = begin(&place, &pages);
    kill_process(Pid::from_raw(interrupted.id().cast_signed()).unwrap(), Signal::INT).unwrap();
    assert_eq!(interrupted.wait_with_output().unwrap().status.code(), Some(130));
    answers(&pages, ADDRESS, &form, "404");
    nothing_leaked(&place);
    add(&place).exits(0);
    assert!(!place.at(".wf/secrets/.prompts/box").exists());
}

#[test]
fn a_setup_does_not_wait_forever() {
    let place = place();
    lock(&place);
    let mut args = vec!["connection", "add", "box", "--skill", "keybox", "--yes", "--secrets-in-browser"];
    args.extend(["--timeout", "2s"]);
    let did = place.wf(&args).exits(1);
    assert!(did.err.contains("within 2 s"), "{}", did.err);
}
