//! A Temporal server of a test, with a database of its own.

use std::{
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::Child,
    time::Duration,
};

use base64ct::{Base64, Encoding as _};
use serde_json::Value;

use crate::programs::{Did, program, until};

/// A server, which ends with the test.
pub struct TemporalServer {
    folder: PathBuf,
    ip: String,
    port: u16,
    settings: Vec<String>,
    child: Child,
}

/// The program, as the installer puts it.
fn temporal() -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/temporal/temporal");
    assert!(path.is_file(), "there is no Temporal server: run crates/temporal/tests/install");
    path.canonicalize().unwrap()
}

impl TemporalServer {
    /// Starts a server that listens at an address of this machine, with its database in a folder, and some settings
    /// (`NAME=VALUE`) that are others than those it has by itself.
    pub fn start(folder: &Path, ip: &str, settings: &[&str]) -> Self {
        let settings: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
        loop {
            let port = TcpListener::bind((ip, 0)).unwrap().local_addr().unwrap().port();
            let child = Self::spawn(folder, ip, port, &settings);
            let settings = settings.clone();
            let mut server = Self { folder: folder.to_owned(), ip: ip.to_owned(), port, settings, child };
            server.wait();
            // Another program may have taken the port meanwhile, and then it is the one that answers.
            std::thread::sleep(Duration::from_millis(500));
            if server.child.try_wait().unwrap().is_none() {
                return server;
            }
        }
    }

    fn spawn(folder: &Path, ip: &str, port: u16, settings: &[String]) -> Child {
        let mut command = program(temporal().to_str().unwrap(), folder, folder);
        // Its services find each other at 127.0.0.1, whatever else it listens at.
        let listens = if ip == "127.0.0.1" { ip } else { "0.0.0.0" };
        command.args(["server", "start-dev", "--headless", "--log-level", "error", "--ip", listens]);
        command.args(["--port", &port.to_string(), "--db-filename", "temporal.db"]);
        command.args(["--sqlite-pragma", "journal_mode=WAL", "--sqlite-pragma", "synchronous=NORMAL"]);
        command.args(settings.iter().flat_map(|setting| ["--dynamic-config-value", setting]));
        let log = std::fs::File::create(folder.join("log")).unwrap();
        command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap()
    }

    fn wait(&mut self) {
        until("the server answers, or has ended", || {
            let has_ended = self.child.try_wait().unwrap().is_some();
            has_ended || self.temporal(&["operator", "cluster", "health"]).out.contains("SERVING")
        });
    }

    /// Returns the address, as `wf.yaml` has it.
    pub fn address(&self) -> String {
        format!("http://{}:{}", self.ip, self.port)
    }

    /// Returns the address of its socket.
    pub fn socket(&self) -> SocketAddr {
        SocketAddr::new(self.ip.parse().unwrap(), self.port)
    }

    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Starts the server again, on its database.
    pub fn restart(&mut self) {
        self.child = Self::spawn(&self.folder, &self.ip, self.port, &self.settings);
        self.wait();
    }

    /// Asks the server with its own program.
    pub fn temporal(&self, args: &[&str]) -> Did {
        let mut command = program(temporal().to_str().unwrap(), &self.folder, &self.folder);
        command.args(args).args(["--address", &format!("{}:{}", self.ip, self.port)]);
        Did::of(&mut command)
    }

    /// Returns the history of a workflow, as text, its payloads as they are.
    pub fn history(&self, workflow: &str) -> String {
        let shown = self.temporal(&["workflow", "show", "--workflow-id", workflow, "--output", "json"]);
        let mut history: Value = serde_json::from_str(&shown.exits(0).out).unwrap();
        decode(&mut history);
        history.to_string()
    }

    /// Sends an answer to a workflow, past `wf`.
    pub fn answer(&self, workflow: &str, request: u32, token: &str) -> Did {
        let input = serde_json::json!({"run": workflow, "request": request, "token": token}).to_string();
        let of = ["workflow", "update", "execute", "--workflow-id", workflow, "--name", "answer"];
        self.temporal(&[&of[..], &["--input", &input]].concat())
    }
}

/// Decodes the payloads of a history.
fn decode(history: &mut Value) {
    match history {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value.as_str().and_then(|text| Base64::decode_vec(text).ok()) {
                    Some(bytes) if key == "data" => *value = String::from_utf8_lossy(&bytes).into(),
                    _ => decode(value),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(decode),
        _ => {}
    }
}

impl Drop for TemporalServer {
    fn drop(&mut self) {
        self.kill();
    }
}
