//! The recipe of the documents for a proxy with TLS, executed: pages, a stream of events and a start pass through it.

use std::{
    fs::{self, Permissions},
    net::TcpListener,
    os::unix::fs::PermissionsExt as _,
    process::{Child, Stdio},
};

use crate::{
    support::{Did, Sandbox, until},
    web::api::REPORT,
};

/// A process that ends with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the command of the recipe: the first one that begins so in the document.
fn recipe(beginning: &str) -> String {
    let document = include_str!("../docs/web.md");
    let (_, rest) = document.split_once(&format!("`{beginning}")).unwrap();
    format!("{beginning}{}", rest.split_once('`').unwrap().0)
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
#[ignore = "needs Caddy: tests/real/install-caddy"]
fn caddy_passes_pages_and_programs_on() {
    let home = Sandbox::new();
    home.file("report.md", REPORT);
    let (inner, outer) = (free_port(), free_port());
    let address = format!("https://localhost:{outer}");
    let listen = format!("127.0.0.1:{inner}");
    let _server = Ended(home.start(&["serve", "--listen", &listen, "--public-url", &address]));
    let recipe = recipe("caddy reverse-proxy");
    let command =
        recipe.replace("wf.example.org", &format!("localhost:{outer}")).replace("localhost:8420", &listen);
    assert!(command.contains(&listen) && command.contains(&format!("localhost:{outer}")), "{command}");
    // A certificate of its own authority, in place of one that the internet has.
    let words = command.split_whitespace().skip(1).chain(["--internal-certs"]);
    let mut caddy = home.program("caddy");
    caddy.args(words).env("XDG_DATA_HOME", home.at("caddy")).env("HOME", home.path());
    let _proxy =
        Ended(caddy.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let root = home.at("caddy/caddy/pki/authorities/local/root.crt");
    until("the proxy has a certificate", || root.exists());

    let mut key = None;
    until("the server runs", || {
        let made = home.wf(&["serve", "link", "--token", "--may", "start"]);
        key = (made.code == Some(0)).then_some(made.out);
        key.is_some()
    });
    let away = Sandbox::new();
    away.file("key.json", key.unwrap());
    fs::set_permissions(away.at("key.json"), Permissions::from_mode(0o600)).unwrap();
    let wf = |args: &[&str]| {
        let args = [&["--server", &address, "--server-key", "key.json"], args].concat();
        Did::of(away.command(&args).env("SSL_CERT_FILE", &root))
    };
    until("the proxy passes on", || wf(&["runs"]).code == Some(0));
    wf(&["run", "report", "-p", "region=eu"]).exits(0).says("succeeded");
    wf(&["logs", "--last", "-f"]).exits(0).says("eu 1");
    let link = home.wf(&["serve", "link"]).exits(0).out;
    assert!(link.starts_with(&format!("{address}/login?key=")), "{link}");
}
