//! A server of pages as a process, and a client of HTTP/1.1 that costs little beside it.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
};

/// The program.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_wf");

/// `wf serve` of a workspace; it ends when this is dropped.
pub struct PageServer {
    child: Child,
    host: String,
    cookie: String,
}

impl PageServer {
    /// Starts it at a free port, and opens its link.
    pub fn start(workspace: &Path) -> Self {
        let mut command = Command::new(PROGRAM);
        command.args(["serve", "--no-open", "--listen", "127.0.0.1:0"]).current_dir(workspace);
        let mut child = command.env("HOME", workspace).stdout(Stdio::piped()).spawn().expect("wf starts");
        let mut link = String::new();
        let output = child.stdout.take().expect("its output is a pipe");
        BufReader::new(output).read_line(&mut link).expect("it prints a link");
        let rest = link.trim().strip_prefix("http://").expect("the link is an address");
        let (host, path) = rest.split_once('/').expect("the link has a path");
        let mut server = Self { child, host: host.to_owned(), cookie: String::new() };
        let (head, _) = PageConnection::open(&server).exchange(&format!("/{path}"));
        let set = head.lines().find(|line| line.to_ascii_lowercase().starts_with("set-cookie:"));
        let pair =
            set.and_then(|line| line.split_once(": ")).and_then(|(_, cookie)| cookie.split(';').next());
        pair.expect("the link sets a cookie").clone_into(&mut server.cookie);
        server
    }

    /// Returns the most memory that the process had resident.
    pub fn peak_megabytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
        line.split_whitespace().next().and_then(|kilobytes| kilobytes.parse().ok()).unwrap_or(0) / 1_000
    }
}

impl Drop for PageServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection that stays open.
pub struct PageConnection {
    stream: BufReader<TcpStream>,
    head: String,
}

impl PageConnection {
    /// Connects as a browser that is logged in.
    pub fn open(server: &PageServer) -> Self {
        let address = server.host.replace("localhost", "127.0.0.1");
        let stream = TcpStream::connect(address).expect("the server accepts");
        stream.set_nodelay(true).expect("a socket has this option");
        let head = format!("Host: {}\r\nCookie: {}\r\n", server.host, server.cookie);
        Self { stream: BufReader::new(stream), head }
    }

    /// Returns a page; `None` if it is not answered well.
    pub fn get(&mut self, path: &str) -> Option<Vec<u8>> {
        let (head, body) = self.exchange(path);
        head.starts_with("HTTP/1.1 200 ").then_some(body)
    }

    /// Returns the status of the answer for a page; `None` if there is none.
    pub fn status(&mut self, path: &str) -> Option<u16> {
        let (head, _) = self.exchange(path);
        head.split(' ').nth(1)?.parse().ok()
    }

    /// Sends a request.
    fn send(&mut self, path: &str) {
        let request = format!("GET {path} HTTP/1.1\r\n{}\r\n", self.head);
        self.stream.get_mut().write_all(request.as_bytes()).expect("a request can be sent");
    }

    /// Returns the head of an answer.
    fn head(&mut self) -> String {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.stream.read_line(&mut head).unwrap_or(0) == 0 {
                break;
            }
        }
        head
    }

    /// Returns the head of the answer to a request, and its body.
    fn exchange(&mut self, path: &str) -> (String, Vec<u8>) {
        self.send(path);
        let head = self.head();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length = length.and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        let is_whole = self.stream.read_exact(&mut body).is_ok();
        (if is_whole { head } else { String::new() }, body)
    }
}

/// Opens the stream of news, and returns the ends of the log as they come.
pub fn listen(server: &PageServer) -> impl Iterator<Item = u64> + Send + use<> {
    let mut connection = PageConnection::open(server);
    connection.send("/events");
    let head = connection.head();
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let lines = connection.stream.lines().map_while(Result::ok);
    let numbers = lines.filter_map(|line| Some(line.strip_prefix("id: ")?.split('.').next()?.parse().ok()));
    numbers.flatten()
}
