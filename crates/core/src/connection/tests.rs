//! Tests of setups as intended, and with scripts that write anything in any order.

use proptest::prelude::*;

use super::*;
use wf_base::name::RefId;
use wf_model::AuthMethod;

fn setup(auth: AuthMethod) -> SetupConversation {
    SetupConversation::new(SetupTerms {
        auth,
        permissions: vec!["read".into(), "write".into()],
        refs: [RefId::parse("token").unwrap()].into(),
    })
}

const SECRET: &str = r#"{"type":"setup_step","step_id":"1","step":{"type":"secure_input","ref_id":"token","label":"Key","guidance":"Settings"}}"#;
const CODE: &str = r#"{"type":"setup_step","step_id":"1","step":{"type":"device_code","verification_url":"https://x.example/d","user_code":"AB-12","expires_in":900,"poll_interval":5}}"#;
const BROWSER: &str = r#"{"type":"setup_step","step_id":"1","step":{"type":"browser_redirect","auth_url":"https://x.example/a","listening_on":"127.0.0.1:4000"}}"#;
const AWAIT: &str = r#"{"type":"await_input","step_id":"1"}"#;
const DONE: &str =
    r#"{"type":"completion","connection_payload":{"permissions_granted":["read"],"account":"ada"}}"#;
const FAILED: &str = r#"{"type":"failure","failure":{"failure_type":"consent_denied","message":"no"}}"#;

fn line(text: &str) -> SetupInput<'_> {
    SetupInput::Line(text.as_bytes())
}

fn fault(outputs: &[SetupOutput]) -> Option<&SetupFault> {
    outputs.iter().find_map(|output| match output {
        SetupOutput::Failed(fault) => Some(fault),
        _ => None,
    })
}

/// Returns the line and the reason for which a script that writes these lines is ended.
fn broken(auth: AuthMethod, lines: &[&str]) -> (usize, String) {
    let mut setup = setup(auth);
    for text in lines {
        match fault(&setup.handle_input(line(text))) {
            Some(SetupFault::Protocol(at, reason)) => return (*at, reason.clone()),
            Some(other) => panic!("{other:?}"),
            None => {}
        }
    }
    panic!("nothing is wrong with {lines:?}");
}

#[test]
fn a_secret_is_asked_for_and_only_its_name_is_told() {
    let mut setup = setup(AuthMethod::SecureInput);
    assert!(matches!(setup.handle_input(line(SECRET))[..], [SetupOutput::Show(_)]));
    let asked = setup.handle_input(line(AWAIT));
    let ref_id = RefId::parse("token").unwrap();
    let (label, guidance) = ("Key".to_owned(), "Settings".to_owned());
    assert_eq!(asked, [SetupOutput::Secret { ref_id, label, guidance }]);
    // An answer to another question is ignored.
    assert!(setup.handle_input(SetupInput::Answer(SetupAnswer::Confirmed)).is_empty());
    let told = setup.handle_input(SetupInput::Answer(SetupAnswer::Given));
    let [SetupOutput::Send(told)] = &told[..] else {
        panic!("{told:?}");
    };
    let expected =
        "{\"type\":\"step_result\",\"step_id\":\"1\",\"payload\":{\"ref_id\":\"token\",\"success\":true}}\n";
    assert_eq!(String::from_utf8(told.line()).unwrap(), expected);
    assert!(setup.handle_input(SetupInput::Answer(SetupAnswer::Given)).is_empty());
    assert!(setup.handle_input(line(DONE)).is_empty());
    let done = setup.handle_input(SetupInput::Ended(None));
    let [SetupOutput::Done(completed)] = &done[..] else {
        panic!("{done:?}");
    };
    assert_eq!(completed.account.as_deref(), Some("ada"));
    assert!(setup.handle_input(SetupInput::Cancel).is_empty());
}

#[test]
fn a_code_is_shown_and_the_script_goes_on_alone() {
    for (auth, step) in [(AuthMethod::DeviceCode, CODE), (AuthMethod::BrowserRedirect, BROWSER)] {
        let mut setup = setup(auth);
        assert!(matches!(setup.handle_input(line(step))[..], [SetupOutput::Show(_)]));
        assert_eq!(setup.handle_input(line(AWAIT)), [SetupOutput::Confirm]);
        let told = setup.handle_input(SetupInput::Answer(SetupAnswer::Confirmed));
        assert!(matches!(told[..], [SetupOutput::Send(_)]));
        assert!(setup.handle_input(line(DONE)).is_empty());
        assert!(matches!(setup.handle_input(SetupInput::Ended(None))[..], [SetupOutput::Done(_)]));
    }
}

#[test]
fn completion_and_failure_can_be_steps() {
    let step = r#"{"type":"setup_step","step_id":"z","step":{"type":"completion","connection_payload":{}}}"#;
    let mut one = setup(AuthMethod::DeviceCode);
    assert!(one.handle_input(line(step)).is_empty());
    assert!(matches!(one.handle_input(SetupInput::Ended(None))[..], [SetupOutput::Done(_)]));
    let step = r#"{"type":"setup_step","step_id":"z","step":{"type":"failure","failure":{"failure_type":"mfa_required","message":"m"}}}"#;
    let mut two = setup(AuthMethod::DeviceCode);
    assert!(matches!(fault(&two.handle_input(line(step))), Some(SetupFault::Reported(_))));
}

#[test]
fn what_is_not_in_the_protocol_ends_the_script() {
    let long = format!("{{\"type\":\"log\",\"x\":\"{}\"}}", "x".repeat(MOST_LINE));
    let secret = AuthMethod::SecureInput;
    for (lines, at) in [
        (&["hello"][..], 1),
        (&[""], 1),
        (&["[]"], 1),
        (&["{}"], 1),
        (&[r#"{"type":"dance"}"#], 1),
        (&[r#"{"type":"log","level":"info","message":"m","more":1}"#], 1),
        (&[r#"{"type":"log","level":"loud","message":"m"}"#], 1),
        (&[r#"{"type":"log","level":"info","message":"\u001b[2J"}"#], 1),
        (&[&long], 1),
        (&[AWAIT], 1),
        (&[SECRET, SECRET], 2),
        (&[SECRET, AWAIT, AWAIT], 3),
        (&[CODE], 1),
        (&[BROWSER], 1),
        (&[DONE, AWAIT], 2),
        (&[DONE, DONE], 2),
        (&[DONE, FAILED], 2),
        (
            &[
                r#"{"type":"setup_step","step_id":"1","step":{"type":"secure_input","ref_id":"other","label":"l","guidance":"g"}}"#,
            ],
            1,
        ),
        (
            &[
                r#"{"type":"setup_step","step_id":"1","step":{"type":"secure_input","ref_id":"../x","label":"l","guidance":"g"}}"#,
            ],
            1,
        ),
        (&[r#"{"type":"completion","connection_payload":{"permissions_granted":["root"]}}"#], 1),
        (&[r#"{"type":"completion","connection_payload":{"access_token":"hunter2"}}"#], 1),
        (&[r#"{"type":"completion","connection_payload":{"token_expires_at":"hunter2"}}"#], 1),
    ] {
        let (found, reason) = broken(secret, lines);
        assert_eq!(found, at, "{lines:?}");
        assert!(!reason.contains("hunter2") && !reason.is_empty(), "{reason}");
    }
    let bad = CODE.replace("https://x.example/d", "http://x.example/d");
    assert_eq!(broken(AuthMethod::DeviceCode, &[&bad]).0, 1);
    let bad = BROWSER.replace("127.0.0.1:4000", "0.0.0.0:4000");
    assert_eq!(broken(AuthMethod::BrowserRedirect, &[&bad]).0, 1);
}

#[test]
fn a_script_that_says_too_much_is_ended() {
    let mut setup = setup(AuthMethod::DeviceCode);
    let log = r#"{"type":"log","level":"info","message":"m"}"#;
    for _ in 0..MOST_LINES {
        assert!(matches!(setup.handle_input(line(log))[..], [SetupOutput::Note(..)]));
    }
    let ended = setup.handle_input(line(log));
    assert!(matches!(fault(&ended), Some(SetupFault::Protocol(at, _)) if *at == MOST_LINES + 1));
}

#[test]
fn an_end_without_a_completion_is_a_failure() {
    for (lines, how) in [(&[][..], None), (&[DONE], Some("exit code 1".to_owned()))] {
        let mut setup = setup(AuthMethod::DeviceCode);
        for text in lines {
            setup.handle_input(line(text));
        }
        let ended = setup.handle_input(SetupInput::Ended(how));
        assert!(matches!(fault(&ended), Some(SetupFault::Ended(_))), "{ended:?}");
    }
    let mut late = setup(AuthMethod::DeviceCode);
    assert_eq!(late.handle_input(SetupInput::TimeUp), [SetupOutput::Failed(SetupFault::TimeUp)]);
}

#[test]
fn what_is_cancelled_stays_cancelled() {
    let mut setup = setup(AuthMethod::DeviceCode);
    setup.handle_input(line(DONE));
    assert!(matches!(
        setup.handle_input(SetupInput::Cancel)[..],
        [SetupOutput::Send(SetupHostMessage::Cancel { .. })]
    ));
    assert!(setup.handle_input(SetupInput::Cancel).is_empty());
    assert!(setup.handle_input(line(DONE)).is_empty());
    assert_eq!(setup.handle_input(SetupInput::Ended(None)), [SetupOutput::Failed(SetupFault::Cancelled)]);
}

/// Returns any event, sensible or not.
fn happening() -> impl Strategy<Value = (u8, String)> {
    let known = [SECRET, CODE, BROWSER, AWAIT, DONE, FAILED];
    let other = SECRET.replace("\"token\"", "\"other\"");
    let text = prop_oneof![
        8 => prop::sample::select(known.map(str::to_owned).to_vec()),
        1 => Just(other),
        1 => any::<String>(),
        1 => "\\{\"type\":\"(log|completion|failure|await_input|setup_step)\"[^}]{0,40}\\}",
    ];
    (0..12_u8, text)
}

proptest! {
    /// Any events in any order: no panic, one end at most and nothing after it, no completion
    /// unless the script reported it and exited well, no secret outside the terms.
    #[test]
    fn no_script_gets_what_was_not_agreed_to(
        auth in prop::sample::select(vec![AuthMethod::DeviceCode, AuthMethod::BrowserRedirect, AuthMethod::SecureInput]),
        happenings in prop::collection::vec(happening(), 0..40)) {
        let mut setup = setup(auth);
        let (mut over, mut completed, mut cancelled) = (false, false, false);
        for (kind, text) in &happenings {
            let outputs = match kind {
                0 => setup.handle_input(SetupInput::Answer(SetupAnswer::Given)),
                1 => setup.handle_input(SetupInput::Answer(SetupAnswer::Confirmed)),
                2 => { cancelled = true; setup.handle_input(SetupInput::Cancel) }
                3 => setup.handle_input(SetupInput::TimeUp),
                4 => setup.handle_input(SetupInput::Ended(None)),
                5 => setup.handle_input(SetupInput::Ended(Some("exit code 1".into()))),
                _ => { completed |= text.contains("completion"); setup.handle_input(line(text)) }
            };
            prop_assert!(!over || outputs.is_empty(), "{:?}", outputs);
            for output in &outputs {
                match output {
                    SetupOutput::Secret { ref_id, .. } => prop_assert_eq!(ref_id.as_str(), "token"),
                    SetupOutput::Show(SetupStep::SecureInput { ref_id, .. }) => prop_assert_eq!(ref_id.as_str(), "token"),
                    SetupOutput::Done(_) => {
                        prop_assert!(completed && !cancelled && *kind == 4);
                        over = true;
                    }
                    SetupOutput::Failed(_) => over = true,
                    _ => {}
                }
            }
        }
    }
}
