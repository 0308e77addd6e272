use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use super::{
    GoalNotification, NotificationChannel, NotificationCommand, NotificationError, NotificationWebhook,
    WebhookSecret, passed_variables, send_with_retries,
};
use wf_base::{
    redact::SecretMask,
    time::{FixedClock, Moment},
};
use wf_exec::{HostEnv, http::HttpClient};

const NOW: Moment = Moment::from_millis(1_614_265_330_999);

fn notice() -> GoalNotification {
    GoalNotification {
        id: GoalNotification::id_of("backup", "broken", NOW),
        goal: "backup".into(),
        transition: "broken".into(),
        slot: Some(Moment::from_millis(1_614_265_320_000)),
        at: NOW,
        summary: "`backup` does not hold any more".into(),
        runs: vec!["0123".into()],
        url: None,
    }
}

async fn told(channel: &NotificationChannel) -> Result<u32, NotificationError> {
    let none = |_, _| Duration::ZERO;
    let client = HttpClient::new(&HostEnv::new());
    send_with_retries(&notice(), channel, &client, &FixedClock(NOW), none).await
}

fn command(dir: &Path, script: &str) -> NotificationCommand {
    NotificationCommand {
        argv: vec!["sh".into(), "-c".into(), script.into()],
        cwd: dir.to_path_buf(),
        env: Vec::new(),
        mask: Arc::new(SecretMask::new(["hunter22"])),
    }
}

/// Gives each request one of the answers, the last one repeatedly; returns the requests.
#[expect(clippy::disallowed_methods, reason = "the other side of the wire")]
fn serve(answers: &'static [&'static str]) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let requests = Arc::new(Mutex::new(Vec::new()));
    let recorded = Arc::clone(&requests);
    std::thread::spawn(move || {
        for (at, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let mut text = String::new();
            let mut bytes = [0; 4096];
            while !text.ends_with('}') {
                let length = stream.read(&mut bytes).unwrap_or(0);
                if length == 0 {
                    break;
                }
                text.push_str(std::str::from_utf8(&bytes[..length]).unwrap());
            }
            recorded.lock().unwrap().push(text);
            let status = answers[at.min(answers.len() - 1)];
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    (port, requests)
}

fn webhook(port: u16) -> NotificationChannel {
    NotificationChannel::Webhook(NotificationWebhook {
        url: format!("http://127.0.0.1:{port}/services/hunter22?token=hunter22"),
        secret: Some(WebhookSecret::parse("hunter22").unwrap()),
    })
}

#[tokio::test]
async fn a_command_reads_the_notice_and_sees_what_it_may() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = command(dir.path(), "cat > notice; env | sort > env");
    let host = HostEnv::from([
        ("PATH".into(), "/usr/bin:/bin".into()),
        ("TOKEN".into(), "hunter22".into()),
        ("OTHER".into(), "x".into()),
    ]);
    command.env = passed_variables(&host, &["PATH".into(), "TOKEN".into(), "ABSENT".into()]);
    assert_eq!(told(&NotificationChannel::Command(command)).await, Ok(1));
    let text = std::fs::read_to_string(dir.path().join("notice")).unwrap();
    assert_eq!(serde_json::from_str::<GoalNotification>(&text).unwrap(), notice());
    assert!(text.ends_with("}\n") && text.lines().count() == 1, "{text}");
    let env = std::fs::read_to_string(dir.path().join("env")).unwrap();
    let names = env.lines().filter_map(|line| line.split('=').next());
    let own = ["PWD", "WF_TREE", "SHLVL", "_", "OLDPWD"];
    let names: Vec<_> = names.filter(|name| !own.contains(name)).collect();
    assert_eq!(names, ["PATH", "TOKEN"]);
}

#[tokio::test]
async fn a_command_that_fails_is_tried_again_and_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let script = "echo x >> tries; echo 'no hunter22 today' >&2; exit 3";
    let untold = told(&NotificationChannel::Command(command(dir.path(), script))).await;
    let untold = untold.unwrap_err();
    assert_eq!(untold.to_string(), "`sh` exited with code 3: no *** today (attempts: 3)");
    let tries = std::fs::read_to_string(dir.path().join("tries")).unwrap();
    assert_eq!(tries.lines().count(), 3);
    let script = "echo x >> again; test $(wc -l < again) -ge 2";
    let again = NotificationChannel::Command(command(dir.path(), script));
    assert_eq!(told(&again).await, Ok(2));
}

#[tokio::test]
async fn a_command_that_cannot_begin_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let mut none = command(dir.path(), "");
    none.argv = Vec::new();
    let untold = told(&NotificationChannel::Command(none)).await.unwrap_err();
    assert_eq!((untold.tries, untold.reason.as_str()), (1, "no program to execute"));
    let mut absent = command(dir.path(), "");
    absent.argv = vec!["no-such-program".into()];
    let untold = told(&NotificationChannel::Command(absent)).await.unwrap_err();
    assert!(untold.reason.contains("`no-such-program`"), "{untold}");
    // The program may be about to be installed.
    assert_eq!(untold.tries, 3);
}

#[tokio::test]
async fn what_a_command_says_is_bounded_and_no_secret_is_cut_in_two() {
    let dir = tempfile::tempdir().unwrap();
    let script = "printf '%4092s' '' | tr ' ' x; printf hunter22; printf '%90000s' '' | tr ' ' y; exit 1";
    let untold = told(&NotificationChannel::Command(command(dir.path(), script))).await;
    let reason = untold.unwrap_err().reason;
    assert!(reason.len() < 4300 && reason.ends_with('…'), "{}", reason.len());
    assert!(reason.contains("xxx***") && !reason.contains("hunt"), "{reason}");
}

#[tokio::test]
async fn a_command_that_takes_too_long_ends_with_all_that_it_started() {
    let dir = tempfile::tempdir().unwrap();
    let script = "sleep 600 & echo $! > pid; wait";
    let limit = Duration::from_millis(300);
    let run = command(dir.path(), script).run_within("{}".into(), limit).await;
    assert_eq!(run.unwrap_err().reason, "`sh` timed out after 300ms");
    let pid = std::fs::read_to_string(dir.path().join("pid")).unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    assert!(stat.is_err() || stat.unwrap().contains(") Z "), "it lives");
}

#[tokio::test]
async fn a_webhook_is_signed_over_what_is_sent() {
    let (port, requests) = serve(&["204 No Content"]);
    assert_eq!(told(&webhook(port)).await, Ok(1));
    let request = requests.lock().unwrap().concat();
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /services/hunter22?token=hunter22 HTTP/1.1\r\n"), "{head}");
    assert_eq!(serde_json::from_str::<GoalNotification>(body).unwrap(), notice());
    let id = notice().id;
    let signature = WebhookSecret::parse("hunter22").unwrap().sign(&id, 1_614_265_330, body);
    for line in [
        format!("webhook-id: {id}"),
        "webhook-timestamp: 1614265330".into(),
        format!("webhook-signature: {signature}"),
        "content-type: application/json".into(),
    ] {
        assert!(head.lines().any(|header| header == line), "{line}\n{head}");
    }
}

#[tokio::test]
async fn what_may_pass_is_tried_again_with_the_same_id() {
    let (port, requests) = serve(&["503 Service Unavailable", "429 Too Many Requests", "200 OK"]);
    assert_eq!(told(&webhook(port)).await, Ok(3));
    let received = requests.lock().unwrap();
    let id = format!("webhook-id: {}\r\n", notice().id);
    assert_eq!(received.iter().filter(|asked| asked.contains(&id)).count(), 3);
}

#[tokio::test]
async fn a_failure_names_the_origin_and_no_secret() {
    for (answers, tries, part) in [
        (&["500 Internal Server Error"], 3, "got status 500"),
        (&["410 Gone"], 1, "got status 410"),
        (&["302 Found\r\nLocation: /hunter22"], 1, "redirects are not followed"),
        (&["nonsense"], 3, "connection lost"),
    ] {
        let (port, requests) = serve(answers);
        let untold = told(&webhook(port)).await.unwrap_err();
        assert_eq!(untold.tries, tries, "{untold}");
        let text = untold.to_string();
        let origin = format!("POST http://127.0.0.1:{port}");
        assert!(text.contains(&origin) && text.contains(part), "{text}");
        assert!(!text.contains("hunter22"), "{text}");
        assert_eq!(requests.lock().unwrap().len(), tries as usize);
    }
}

#[tokio::test]
async fn an_address_that_is_none_is_not_quoted() {
    for (url, part) in
        [("hunter22", "invalid URL"), ("file:///hunter22", "`file:`"), ("http://hunter22:x/", "invalid URL")]
    {
        let channel = NotificationChannel::Webhook(NotificationWebhook { url: url.into(), secret: None });
        let untold = told(&channel).await.unwrap_err();
        assert!(untold.reason.contains(part) && untold.tries == 1, "{untold}");
        assert!(!format!("{untold} {channel:?}").contains("hunter22"), "{untold}");
    }
}

#[tokio::test]
async fn the_pauses_are_the_callers() {
    let (port, _) = serve(&["500 Oops", "429 Too Many Requests\r\nRetry-After: 7"]);
    let waited = Mutex::new(Vec::new());
    let wait = |tried, requested| {
        waited.lock().unwrap().push((tried, requested));
        Duration::from_millis(1)
    };
    let client = HttpClient::new(&HostEnv::new());
    let sent = send_with_retries(&notice(), &webhook(port), &client, &FixedClock(NOW), wait).await;
    let reason = sent.unwrap_err().reason;
    assert!(
        reason.ends_with("429 Too Many Requests; the server asks to wait for 7s (`retry-after`)"),
        "{reason}"
    );
    assert_eq!(*waited.lock().unwrap(), [(1, None), (2, Some(Duration::from_secs(7)))]);
}

#[test]
fn the_same_news_has_the_same_id() {
    let id = GoalNotification::id_of("a", "broken", NOW);
    assert_eq!(id, GoalNotification::id_of("a", "broken", NOW));
    assert!(!id.contains('.') && id.len() == 39, "{id}");
    for other in [
        GoalNotification::id_of("b", "broken", NOW),
        GoalNotification::id_of("a", "held", NOW),
        GoalNotification::id_of("a", "broken", Moment::from_millis(0)),
    ] {
        assert_ne!(id, other);
    }
}

#[test]
fn the_example_of_the_document_is_one() {
    let document = include_str!("../../../../../docs/daemon.md");
    let shown = document.split("```json\n").nth(1).unwrap();
    let shown = shown.split("```").next().unwrap();
    let notice: GoalNotification = serde_json::from_str(shown).unwrap();
    let shown: serde_json::Value = serde_json::from_str(shown).unwrap();
    assert_eq!(serde_json::to_value(&notice).unwrap(), shown);
}
