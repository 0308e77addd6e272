//! Setups as they are meant to be, and with scripts that say anything in any order.

use proptest::prelude::*;

use super::*;
use crate::model::Auth;
use crate::name::RefId;

fn setup(auth: Auth) -> Setup {
    Setup::new(Terms {
        auth,
        permissions: vec!["read".into(), "write".into()],
        refs: [RefId::parse("token").unwrap()].into(),
    })
}

const SECRET: &str = r#"{"type":"setup_step","step_id":"1","step":{"type":"secure_input","ref_id":"token","label":"Key","guidance":"Settings"}}"#;
const CODE: &str = r#"{"type":"setup_step","step_id":"1","step":{"type":"device_code","verification_url":"https://x.example/d","user_code":"AB-12","expires_in":900,"poll_interval":5}}"#;
const BROWSER: &str = r#"{"type":"setup_step","step_id":"1","step":{"type":"browser_redirect","auth_url":"https://x.example/a","listening_on":"127.0.0.1:4000"}}"#;
const AWAIT: &str = r#"{"type":"await_input","step_id":"1"}"#;
const DONE: &str = r#"{"type":"completion","connection_payload":{"permissions_granted":["read"],"account":"ada"}}"#;
const FAILED: &str =
    r#"{"type":"failure","failure":{"failure_type":"consent_denied","message":"no"}}"#;

fn line(text: &str) -> Input<'_> {
    Input::Line(text.as_bytes())
}

fn fault(outputs: &[Output]) -> Option<&Fault> {
    outputs.iter().find_map(|output| match output {
        Output::Failed(fault) => Some(fault),
        _ => None,
    })
}

/// The line and the reason for which a script that says these is ended.
fn broken(auth: Auth, lines: &[&str]) -> (usize, String) {
    let mut setup = setup(auth);
    for text in lines {
        match fault(&setup.take(line(text))) {
            Some(Fault::Protocol(at, why)) => return (*at, why.clone()),
            Some(other) => panic!("{other:?}"),
            None => {}
        }
    }
    panic!("nothing is wrong with {lines:?}");
}

#[test]
fn a_secret_is_asked_for_and_only_its_name_is_told() {
    let mut setup = setup(Auth::SecureInput);
    assert!(matches!(setup.take(line(SECRET))[..], [Output::Show(_)]));
    let asked = setup.take(line(AWAIT));
    let ref_id = RefId::parse("token").unwrap();
    let label = "Key".to_owned();
    assert_eq!(asked, [Output::Secret { ref_id, label }]);
    // What is not an answer to that says nothing.
    assert!(setup.take(Input::Answer(Answer::Confirmed)).is_empty());
    let told = setup.take(Input::Answer(Answer::Given));
    let [Output::Send(told)] = &told[..] else {
        panic!("{told:?}");
    };
    let expected = "{\"type\":\"step_result\",\"step_id\":\"1\",\"payload\":{\"ref_id\":\"token\",\"success\":true}}\n";
    assert_eq!(String::from_utf8(told.line()).unwrap(), expected);
    assert!(setup.take(Input::Answer(Answer::Given)).is_empty());
    assert!(setup.take(line(DONE)).is_empty());
    let done = setup.take(Input::Ended(None));
    let [Output::Done(completed)] = &done[..] else {
        panic!("{done:?}");
    };
    assert_eq!(completed.account.as_deref(), Some("ada"));
    assert!(setup.take(Input::Cancel).is_empty());
}

#[test]
fn a_code_is_shown_and_the_script_goes_on_alone() {
    for (auth, step) in [(Auth::DeviceCode, CODE), (Auth::BrowserRedirect, BROWSER)] {
        let mut setup = setup(auth);
        assert!(matches!(setup.take(line(step))[..], [Output::Show(_)]));
        assert_eq!(setup.take(line(AWAIT)), [Output::Confirm]);
        let told = setup.take(Input::Answer(Answer::Confirmed));
        assert!(matches!(told[..], [Output::Send(_)]));
        assert!(setup.take(line(DONE)).is_empty());
        assert!(matches!(
            setup.take(Input::Ended(None))[..],
            [Output::Done(_)]
        ));
    }
}

#[test]
fn completion_and_failure_can_be_steps() {
    let step = r#"{"type":"setup_step","step_id":"z","step":{"type":"completion","connection_payload":{}}}"#;
    let mut one = setup(Auth::DeviceCode);
    assert!(one.take(line(step)).is_empty());
    assert!(matches!(
        one.take(Input::Ended(None))[..],
        [Output::Done(_)]
    ));
    let step = r#"{"type":"setup_step","step_id":"z","step":{"type":"failure","failure":{"failure_type":"mfa_required","message":"m"}}}"#;
    let mut two = setup(Auth::DeviceCode);
    assert!(matches!(fault(&two.take(line(step))), Some(Fault::Said(_))));
}

#[test]
fn what_is_not_in_the_protocol_ends_the_script() {
    let long = format!("{{\"type\":\"log\",\"x\":\"{}\"}}", "x".repeat(MOST_LINE));
    let secret = Auth::SecureInput;
    for (lines, at) in [
        (&["hello"][..], 1),
        (&[""], 1),
        (&["[]"], 1),
        (&["{}"], 1),
        (&[r#"{"type":"dance"}"#], 1),
        (
            &[r#"{"type":"log","level":"info","message":"m","more":1}"#],
            1,
        ),
        (&[r#"{"type":"log","level":"loud","message":"m"}"#], 1),
        (
            &[r#"{"type":"log","level":"info","message":"\u001b[2J"}"#],
            1,
        ),
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
        (
            &[r#"{"type":"completion","connection_payload":{"permissions_granted":["root"]}}"#],
            1,
        ),
        (
            &[r#"{"type":"completion","connection_payload":{"access_token":"hunter2"}}"#],
            1,
        ),
        (
            &[r#"{"type":"completion","connection_payload":{"token_expires_at":"hunter2"}}"#],
            1,
        ),
    ] {
        let (found, why) = broken(secret, lines);
        assert_eq!(found, at, "{lines:?}");
        assert!(!why.contains("hunter2") && !why.is_empty(), "{why}");
    }
    let bad = CODE.replace("https://x.example/d", "http://x.example/d");
    assert_eq!(broken(Auth::DeviceCode, &[&bad]).0, 1);
    let bad = BROWSER.replace("127.0.0.1:4000", "0.0.0.0:4000");
    assert_eq!(broken(Auth::BrowserRedirect, &[&bad]).0, 1);
}

#[test]
fn a_script_that_says_too_much_is_ended() {
    let mut setup = setup(Auth::DeviceCode);
    let log = r#"{"type":"log","level":"info","message":"m"}"#;
    for _ in 0..MOST_LINES {
        assert!(matches!(setup.take(line(log))[..], [Output::Note(..)]));
    }
    let ended = setup.take(line(log));
    assert!(matches!(fault(&ended), Some(Fault::Protocol(at, _)) if *at == MOST_LINES + 1));
}

#[test]
fn an_end_without_a_completion_is_a_failure() {
    for (lines, how) in [(&[][..], None), (&[DONE], Some("exit code 1".to_owned()))] {
        let mut setup = setup(Auth::DeviceCode);
        for text in lines {
            setup.take(line(text));
        }
        let ended = setup.take(Input::Ended(how));
        assert!(matches!(fault(&ended), Some(Fault::Ended(_))), "{ended:?}");
    }
    let mut late = setup(Auth::DeviceCode);
    assert_eq!(late.take(Input::TimeUp), [Output::Failed(Fault::TimeUp)]);
}

#[test]
fn what_is_cancelled_stays_cancelled() {
    let mut setup = setup(Auth::DeviceCode);
    setup.take(line(DONE));
    assert!(matches!(
        setup.take(Input::Cancel)[..],
        [Output::Send(Told::Cancel { .. })]
    ));
    assert!(setup.take(Input::Cancel).is_empty());
    assert!(setup.take(line(DONE)).is_empty());
    assert_eq!(
        setup.take(Input::Ended(None)),
        [Output::Failed(Fault::Cancelled)]
    );
}

/// Anything that can happen, sensible or not.
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
    /// Whatever happens in whatever order: no panic, one end at most and nothing after it, no
    /// completion unless the script said so and ended well, no secret that was not agreed to.
    #[test]
    fn no_script_gets_what_was_not_agreed_to(
        auth in prop::sample::select(vec![Auth::DeviceCode, Auth::BrowserRedirect, Auth::SecureInput]),
        happenings in prop::collection::vec(happening(), 0..40),
    ) {
        let mut setup = setup(auth);
        let (mut over, mut completed, mut cancelled) = (false, false, false);
        for (kind, text) in &happenings {
            let outputs = match kind {
                0 => setup.take(Input::Answer(Answer::Given)),
                1 => setup.take(Input::Answer(Answer::Confirmed)),
                2 => { cancelled = true; setup.take(Input::Cancel) }
                3 => setup.take(Input::TimeUp),
                4 => setup.take(Input::Ended(None)),
                5 => setup.take(Input::Ended(Some("exit code 1".into()))),
                _ => { completed |= text.contains("completion"); setup.take(line(text)) }
            };
            prop_assert!(!over || outputs.is_empty(), "{:?}", outputs);
            for output in &outputs {
                match output {
                    Output::Secret { ref_id, .. } => prop_assert_eq!(ref_id.as_str(), "token"),
                    Output::Show(Step::SecureInput { ref_id, .. }) => prop_assert_eq!(ref_id.as_str(), "token"),
                    Output::Done(_) => {
                        prop_assert!(completed && !cancelled && *kind == 4);
                        over = true;
                    }
                    Output::Failed(_) => over = true,
                    _ => {}
                }
            }
        }
    }
}
