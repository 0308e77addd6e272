//! A browser, driven over HTTP as the `WebDriver` standard says.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Stdio},
    time::Duration,
};

use base64ct::{Base64, Encoding as _};
use serde_json::{Value, json};

use crate::support::{Sandbox, until};

/// The key under which `WebDriver` names an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Returns the script of axe.
fn axe() -> String {
    let script = std::fs::read_to_string("target/browser/node_modules/axe-core/axe.min.js");
    script.expect("axe is installed: tests/browser/install")
}

/// A browser with a profile of its own.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
    _home: Sandbox,
}

impl Browser {
    /// Starts a browser whose window has a width.
    pub fn start(width: u32) -> Self {
        let home = Sandbox::new();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = home.program("chromedriver");
        command.arg(format!("--port={port}")).stdout(Stdio::null()).stderr(Stdio::null());
        let driver = command.spawn().expect("there is a browser: tests/browser/install");
        let mut browser = Self { driver, port, session: String::new(), _home: home };
        until("the driver listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        // A window has no fewer than 500 pixels; so the page is given its width.
        let options = json!({
            "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
            "mobileEmulation": {"deviceMetrics": {"width": width, "height": 800, "pixelRatio": 1.0}},
        });
        let wanted =
            json!({"alwaysMatch": {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}});
        let session = browser.send("POST", "", &json!({"capabilities": wanted}));
        browser.session = format!("/{}", session["sessionId"].as_str().unwrap());
        browser
    }

    /// Opens an address.
    pub fn open(&self, address: &str) {
        self.send("POST", "/url", &json!({"url": address}));
    }

    /// Returns the address of the page.
    pub fn address(&self) -> String {
        self.send("GET", "/url", &Value::Null).as_str().unwrap().to_owned()
    }

    /// Clicks on an element.
    pub fn click(&self, selector: &str) {
        // As a person does: on a phone, what is last on the screen may be below the bar of pages.
        self.run(&format!(
            "document.querySelector({})?.scrollIntoView({{block: 'center'}})",
            json!(selector)
        ));
        let element = self.send("POST", "/element", &json!({"using": "css selector", "value": selector}));
        self.send("POST", &format!("/element/{}/click", element[ELEMENT].as_str().unwrap()), &json!({}));
    }

    /// Presses the key that ends an input, in the element that has the focus.
    pub fn press_enter(&self) {
        let element = self.send("GET", "/element/active", &Value::Null);
        let path = format!("/element/{}/value", element[ELEMENT].as_str().unwrap());
        self.send("POST", &path, &json!({"text": "\u{e007}"}));
    }

    /// Returns the text of an element; nothing if there is none.
    pub fn text(&self, selector: &str) -> String {
        let script = format!("return document.querySelector({})?.innerText ?? ''", json!(selector));
        self.run(&script).as_str().unwrap().to_owned()
    }

    /// True if an element is shown.
    pub fn is_shown(&self, selector: &str) -> bool {
        let script =
            format!("return document.querySelector({})?.checkVisibility() ?? false", json!(selector));
        self.run(&script) == json!(true)
    }

    /// Gives the window another width, without loading the page again.
    pub fn resize(&self, width: u32) {
        let metrics = json!({"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": false});
        self.command("Emulation.setDeviceMetricsOverride", &metrics);
    }

    /// Shows the page in another scheme of colours, `light` or `dark`.
    pub fn show_scheme(&self, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.command("Emulation.setEmulatedMedia", &json!({"features": features}));
    }

    /// Lets the scripts of pages run, or not.
    pub fn permit_scripts(&self, are_permitted: bool) {
        self.command("Emulation.setScriptExecutionDisabled", &json!({"value": !are_permitted}));
    }

    /// Loads axe into this page.
    pub fn load_axe(&self) {
        self.run(&axe());
    }

    /// Loads axe into each page with scripts from now on.
    pub fn load_axe_always(&self) {
        self.command("Page.enable", &json!({}));
        self.command("Page.addScriptToEvaluateOnNewDocument", &json!({"source": axe()}));
    }

    /// Sends a command of Chromium itself.
    fn command(&self, command: &str, params: &Value) {
        self.send("POST", "/goog/cdp/execute", &json!({"cmd": command, "params": params}));
    }

    /// Returns what axe finds on the page, each with an element.
    pub fn barriers(&self) -> Vec<String> {
        self.load_axe();
        let found = self.run_async(
            "axe.run().then((found) => done(found.violations.map((one) => \
             `${one.id}: ${one.nodes[0].html}: ${one.nodes[0].failureSummary}`)), (error) => done([String(error)]))",
        );
        serde_json::from_value(found).unwrap()
    }

    /// Adds a device that keeps passkeys and recognises its user, or does not.
    pub fn add_authenticator(&self, recognises: bool) {
        let device = json!({
            "protocol": "ctap2", "transport": "internal", "hasResidentKey": true, "hasUserVerification": true,
            "isUserVerified": recognises,
        });
        self.send("POST", "/webauthn/authenticator", &device);
    }

    /// Writes a picture of the window, a PNG, to a file.
    pub fn photograph(&self, path: &Path) {
        let encoded = self.send("GET", "/screenshot", &Value::Null);
        let picture = Base64::decode_vec(encoded.as_str().unwrap()).unwrap();
        std::fs::write(path, picture).unwrap();
    }

    /// Runs a script, and returns its result.
    pub fn run(&self, script: &str) -> Value {
        self.send("POST", "/execute/sync", &json!({"script": script, "args": []}))
    }

    /// Runs a script that calls `done` with its result.
    pub fn run_async(&self, script: &str) -> Value {
        let script = format!("const done = arguments[arguments.length - 1]; {script}");
        self.send("POST", "/execute/async", &json!({"script": script, "args": []}))
    }

    /// Returns the errors that the console has, except answers with another status than 200.
    pub fn problems(&self) -> Vec<String> {
        let log = self.send("POST", "/se/log", &json!({"type": "browser"}));
        let messages = log.as_array().into_iter().flatten().filter_map(|entry| entry["message"].as_str());
        messages
            .filter(|text| !text.contains("the server responded with a status"))
            .map(str::to_owned)
            .collect()
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> Value {
        let (port, session) = (self.port, &self.session);
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(2))).unwrap();
        let head = format!(
            "{method} /session{session}{path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close"
        );
        stream
            .write_all(format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).as_bytes())
            .unwrap();
        // The driver keeps the connection, whatever is asked.
        let mut stream = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(stream.read_line(&mut head).unwrap(), 0, "the driver ended: {head}");
        }
        let length = head
            .lines()
            .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
        let mut text = vec![0; length.expect("a length is given")];
        stream.read_exact(&mut text).unwrap();
        let value: Value = serde_json::from_slice(&text).unwrap_or_else(|bad| panic!("{bad}: {head}"));
        assert!(head.starts_with("HTTP/1.1 200"), "{method} {path} {body}: {value}");
        value["value"].clone()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.send("DELETE", "", &Value::Null);
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
