use std::{
    io::{BufRead, BufReader},
    process::{Child, ChildStdin, Command, Stdio},
};

/// The server of the small model. It ends with the value, also if the test is killed: then its standard input ends.
pub struct ModelServer {
    process: Child,
    _input: ChildStdin,
    base_url: String,
}

impl ModelServer {
    /// Installs the model if it is not there, and serves it on a free port.
    pub fn start() -> Self {
        let python = install();
        let mut process = program(&python)
            .arg("tests/real/serve.py")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server can be started");
        let input = process.stdin.take().expect("the server has an input");
        let output = process.stdout.take().expect("the server has an output");
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).expect("the output of the server can be read");
        let base_url = line.trim().to_owned();
        assert!(base_url.starts_with("http://127.0.0.1:"), "the server did not start: see above; {line:?}");
        Self { process, _input: input, base_url }
    }

    /// The base of its address, with the version.
    pub fn base_url(&self) -> String {
        self.base_url.clone()
    }

    /// Its host and port.
    pub fn authority(&self) -> String {
        self.base_url.trim_start_matches("http://").trim_end_matches("/v1").to_owned()
    }

    /// Kills it, whatever it does.
    pub fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Returns the Python that has the model.
fn install() -> String {
    let done = program("tests/real/install").output().expect("tests/real/install can be started");
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "the model cannot be installed:\n{told}");
    String::from_utf8_lossy(&done.stdout).trim().to_owned()
}

fn program(name: &str) -> Command {
    #[expect(clippy::disallowed_methods, reason = "tests start real programs")]
    Command::new(name)
}
