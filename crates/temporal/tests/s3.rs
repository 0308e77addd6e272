//! An object store in S3, as moto serves it: `crates/temporal/tests/install` installs that.
#![expect(clippy::print_stdout, reason = "a test that does not run says so")]

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Stdio},
};

use crate::{
    farm::Farm,
    programs::{program, until},
};

/// The bucket that runs use.
const BUCKET: &str = "wf-test";

/// The claim to be somebody; moto does not check it if it is not strict.
const AUTHORIZATION: &str = "Authorization: AWS4-HMAC-SHA256 Credential=any/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0";

/// A plan whose steps hand files to each other, on any worker.
const PLAN: &str = r#"params: {n: {type: integer, default: 0}}
steps:
  - {id: parts, for_each: [a, b, c, d], run: 'echo "part $WF_ITEM"; sleep 0.3; echo "$WF_ITEM" > "$WF_ITEM.txt"', writes: ["{{ item }}.txt"]}
  - {id: ok, depends_on: [parts], when: params.n == 1, approve: {message: "Go on?"}}
  - {id: whole, depends_on: [parts, ok], when: always(), run: cat a.txt b.txt c.txt d.txt > whole.txt, artifacts: [whole.txt]}"#;

/// A server of S3, which ends with the test.
struct S3Server {
    port: u16,
    child: Child,
}

impl S3Server {
    /// Starts a server that has one bucket; `None`: it could not be installed, for the reason that is printed. With
    /// `is_strict`, it knows nobody who may use that.
    fn start(folder: &Path, is_strict: bool) -> Option<Self> {
        let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/temporal/moto");
        if let Ok(reason) = std::fs::read_to_string(installed.with_extension("failed")) {
            println!("NOT RUN with S3: its installer failed: {reason}");
            return None;
        }
        let server = installed.join("bin/moto_server");
        assert!(server.is_file(), "there is no server of S3: run crates/temporal/tests/install");
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = program(server.to_str().unwrap(), folder, folder);
        command.args(["-H", "127.0.0.1", "-p", &port.to_string()]);
        if is_strict {
            // The first request makes the bucket.
            command.env("INITIAL_NO_AUTH_ACTION_COUNT", "1");
        }
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let server = Self { port, child };
        until("the server of S3 answers", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        assert!(server.request("PUT", &format!("/{BUCKET}"), "").starts_with("HTTP/1.1 200"));
        Some(server)
    }

    fn request(&self, method: &str, path: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{AUTHORIZATION}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Returns the objects of the bucket, by their names.
    fn objects(&self) -> Vec<String> {
        let list = self.request("GET", &format!("/{BUCKET}?list-type=2"), "");
        let keys = list.split("<Key>").skip(1).filter_map(|rest| rest.split_once("</Key>"));
        keys.map(|(key, _)| key.to_owned()).collect()
    }

    /// A farm with this object store.
    fn farm(&self, workers: usize) -> Farm {
        let endpoint = format!("http://127.0.0.1:{}", self.port);
        let variables = [
            ("AWS_ENDPOINT", endpoint.as_str()),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_ACCESS_KEY_ID", "AKIA0000000000000000"),
            ("AWS_SECRET_ACCESS_KEY", "nobody-knows-it"),
            ("AWS_REGION", "us-east-1"),
        ];
        let mut farm = Farm::at("127.0.0.1");
        farm.variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        farm.objects = format!("s3://{BUCKET}/runs");
        farm.file("wf.yaml", farm.config());
        farm.plan("whole", PLAN);
        for number in 1..=workers {
            farm.start_worker(&format!("w{number}"));
        }
        farm
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
#[ignore = "needs a Temporal server and one of S3: .ci/real"]
fn files_logs_and_artifacts_travel_through_s3() {
    let folder = tempfile::tempdir().unwrap();
    let Some(s3) = S3Server::start(folder.path(), false) else { return };
    let farm = s3.farm(2);
    farm.wf(&["run", "--on", "farm", "whole.md"]).exits(0);
    assert_eq!(std::fs::read_to_string(farm.path("space/whole.txt")).unwrap(), "a\nb\nc\nd\n");
    farm.wf(&["logs", "--last", "parts[c]"]).exits(0).says("part c");
    farm.wf(&["audit", "verify"]).exits(0).says("valid");
    let objects = s3.objects();
    assert!(objects.len() > 4 && objects.iter().all(|name| name.starts_with("runs/sha256/")), "{objects:?}");
    assert!(!farm.server.history(&farm.run()).contains("nobody-knows-it"));
}

#[test]
#[ignore = "needs a Temporal server and one of S3: .ci/real"]
fn an_object_that_was_altered_in_s3_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let Some(s3) = S3Server::start(folder.path(), false) else { return };
    let mut farm = s3.farm(1);
    farm.wf(&["run", "--on", "farm", "whole.md", "-p", "n=1"]).exits(5).says("Go on?");
    farm.kill_host("w1");
    for name in s3.objects() {
        let put = s3.request("PUT", &format!("/{BUCKET}/{name}"), r#"{"altered": true}"#);
        assert!(put.starts_with("HTTP/1.1 200"), "{put}");
    }
    // One that remembers nothing.
    farm.start_worker("w2");
    let run = farm.run();
    farm.wf(&["approve", &run, "--yes"]).exits(0);
    farm.wf(&["resume", &run]).exits(6).says("was altered in the object store");
    assert_eq!(farm.count(&run, "attempt_started", Some("whole")), 0);
}

#[test]
#[ignore = "needs a Temporal server and one of S3: .ci/real"]
fn credentials_that_are_wrong_are_an_error_before_anything_starts() {
    let folder = tempfile::tempdir().unwrap();
    let Some(s3) = S3Server::start(folder.path(), true) else { return };
    let farm = s3.farm(1);
    let did = farm.wf(&["run", "--on", "farm", "whole.md"]).exits(6);
    let did = did.says("object store").says("403").says("nothing was started");
    let errors = did.err.lines().filter(|line| line.starts_with("error: ")).count();
    assert_eq!(errors, 1, "{}", did.all());
    assert!(!did.all().contains("nobody-knows-it"));
    farm.wf(&["show", "--last"]).exits(2);
}
