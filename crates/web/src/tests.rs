//! A server as programs meet it: over a socket, in a workspace without a state.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use crate::{SiteAddress, SiteOptions, WebServer};
use wf_app::Host;

/// A server in a thread of its own, which lives as long as the process.
struct Served {
    address: SocketAddr,
    link: String,
}

fn serve() -> Served {
    let (sender, receiver) = std::sync::mpsc::channel();
    #[expect(clippy::disallowed_methods, reason = "a server lives as long as the tests")]
    std::thread::spawn(move || {
        let folder = tempfile::tempdir().unwrap();
        let host = Host::new(BTreeMap::new(), folder.path().to_path_buf()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let address = SiteAddress::parse("127.0.0.1:0", None).unwrap();
            let (metrics_token, action_words) = (Some("t0ken".into()), |action: &_| format!("{action:?}"));
            let options = SiteOptions { address, metrics_token, operate_for: None, action_words };
            let server = WebServer::bind(host, options).await.unwrap();
            let origin = server.origin();
            let link = server.add_link().unwrap();
            let path = link.strip_prefix(&origin).unwrap().to_owned();
            let address = origin.strip_prefix("http://").unwrap().parse().unwrap();
            sender.send(Served { address, link: path }).unwrap();
            server.serve().await
        });
    });
    receiver.recv().unwrap()
}

impl Served {
    /// Sends a request as it is, and returns all that is answered.
    fn send(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8(answer).unwrap()
    }

    fn ask(&self, method: &str, path: &str, headers: &str) -> String {
        let host = self.address;
        self.send(&format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\r\n"))
    }

    /// Sends a form as a page of the site does.
    fn post(&self, path: &str, cookie: &str, form: &str) -> String {
        let host = self.address;
        let length = form.len();
        self.send(&format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nConnection: close\r\n{cookie}\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n\r\n{form}"
        ))
    }

    /// Opens the link, and returns the header that lets in.
    fn log_in(&self) -> String {
        self.open_link(&self.link)
    }

    /// Does the same with another link, of a browser that is let in.
    fn log_in_with(&self, login: &str) -> String {
        let page = self.post("/links", login, "access=operate").replace("&#x2f;", "/");
        let link = page.split(&format!("http://{}", self.address)).last().unwrap();
        self.open_link(link.split('<').next().unwrap())
    }

    fn open_link(&self, link: &str) -> String {
        // To look at it does not use it up.
        for method in ["HEAD", "GET"] {
            let page = self.ask(method, link, "");
            assert!(page.starts_with("HTTP/1.1 200 ") && !page.contains("set-cookie"), "{method}: {page}");
        }
        let answer = self.post("/login", "", link.strip_prefix("/login?").unwrap());
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        let cookie =
            answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie is set");
        assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict; Max-Age=604800"), "{cookie}");
        format!("Cookie: {}\r\n", cookie.split(';').next().unwrap())
    }
}

fn status(answer: &str) -> &str {
    answer.get(9..12).unwrap_or(answer)
}

#[test]
fn a_link_lets_one_browser_in_and_no_other_request() {
    let served = serve();
    for path in [
        "/",
        "/inbox",
        "/runs",
        "/runs/1a2b",
        "/goals",
        "/activity",
        "/memory",
        "/skills",
        "/audit",
        "/secrets",
        "/events",
    ] {
        assert_eq!(status(&served.ask("GET", path, "")), "401", "{path}");
        assert_eq!(status(&served.ask("GET", path, "Cookie: wf_login=0\r\n")), "401", "{path}");
    }
    assert_eq!(status(&served.ask("GET", "/login?key=0", "")), "401");
    assert_eq!(status(&served.ask("GET", "/login", "")), "401");
    let cookie = served.log_in();
    assert_eq!(status(&served.ask("GET", &served.link, "")), "401", "a link works once");
    let again = served.post("/login", "", served.link.strip_prefix("/login?").unwrap());
    assert_eq!(status(&again), "401", "a link works once");
    let pages = [
        "/",
        "/inbox",
        "/runs?state=failed",
        "/goals",
        "/activity?q=x&plan=%3C&before=7",
        "/memory?q=a",
        "/skills",
    ];
    for path in pages.into_iter().chain(["/connections", "/secrets", "/audit?kind=x", "/audit/verify"]) {
        let page = served.ask("GET", path, &cookie);
        assert_eq!(status(&page), "200", "{path}: {page}");
        assert!(page.contains("content-security-policy: default-src 'none'; style-src 'self'"), "{page}");
        assert!(page.contains("cache-control: no-store") && page.contains("referrer-policy: same-origin"));
    }
    for path in [
        "/runs/1a2b",
        "/runs/../../etc/passwd",
        "/goals/none",
        "/inbox/1/1",
        "/memory/1",
        "/skills/x",
        "/audit/1",
        "/audit/x",
        "/none",
    ] {
        assert_eq!(status(&served.ask("GET", path, &cookie)), "404", "{path}");
    }
}

#[test]
fn another_host_and_another_site_are_refused() {
    let served = serve();
    let cookie = served.log_in();
    for host in ["evil.example", "evil.example:8420", "127.0.0.1:1", "localhost"] {
        let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{cookie}\r\n");
        assert_eq!(status(&served.send(&request)), "421", "{host}");
    }
    let two = format!(
        "GET / HTTP/1.1\r\nHost: {0}\r\nHost: {0}\r\nConnection: close\r\n{cookie}\r\n",
        served.address
    );
    assert_eq!(status(&served.send(&two)), "421");
    let own = format!("{cookie}Origin: http://{}\r\n", served.address);
    for foreign in ["", "Origin: null\r\n", "Origin: http://evil.example\r\n"] {
        assert_eq!(status(&served.ask("POST", "/logout", &format!("{cookie}{foreign}"))), "403", "{foreign}");
    }
    let form = format!("{own}Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 0\r\n");
    assert_eq!(status(&served.ask("POST", "/links", &form)), "200");
    assert_eq!(status(&served.ask("POST", "/logout", &own)), "303");
    assert_eq!(status(&served.ask("GET", "/", &cookie)), "401", "the login has ended");
}

#[test]
fn metrics_are_read_with_a_login_or_the_token() {
    let served = serve();
    let cookie = served.log_in();
    for headers in [
        "",
        "Authorization: Bearer t0kem\r\n",
        "Authorization: Basic t0ken\r\n",
        "Authorization: Bearer t0ken\r\nAuthorization: Bearer t0ken\r\n",
        "Cookie: wf_login=0\r\n",
    ] {
        assert_eq!(status(&served.ask("GET", "/metrics", headers)), "401", "{headers}");
    }
    for headers in ["Authorization: Bearer t0ken\r\n", "authorization: bearer t0ken\r\n", cookie.as_str()] {
        let wanted = format!("{headers}Accept: application/openmetrics-text\r\n");
        let text = served.ask("GET", "/metrics", &wanted);
        assert!(text.contains("application/openmetrics-text") && text.ends_with("# EOF\n"), "{text}");
    }
    assert_eq!(
        status(&served.ask("GET", "/", "Authorization: Bearer t0ken\r\n")),
        "401",
        "it reads nothing else"
    );
}

#[test]
fn malformed_requests_end_their_connection_alone() {
    let served = serve();
    let long = format!("GET /{} HTTP/1.1\r\nHost: {}\r\n\r\n", "x".repeat(100_000), served.address);
    for request in ["\r\n\r\n", "GET\r\n\r\n", "\u{0}\u{1}\u{2}\r\n\r\n", &long] {
        let mut stream = TcpStream::connect(served.address).unwrap();
        let _ = stream.write_all(request.as_bytes());
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(!answer.starts_with(b"HTTP/1.1 200"), "{request}");
    }
    assert_eq!(status(&served.ask("GET", "/style.css", "")), "200");
}

#[test]
fn a_browser_that_may_only_look_changes_nothing() {
    let served = serve();
    let operator = served.log_in();
    let link = |cookie: &str, access: &str| served.post("/links", cookie, &format!("access={access}"));
    let page = link(&operator, "look").replace("&#x2f;", "/");
    let path = page.split(&format!("http://{}", served.address)).last().unwrap();
    let looker = served.open_link(path.split('<').next().unwrap());
    assert_eq!(status(&served.ask("GET", "/goals", &looker)), "200");
    for path in ["/goals/mirror/pause", "/goals/mirror/resume", "/goals/mirror/run"] {
        let answer = served.post(path, &looker, "reason=x");
        assert_eq!(status(&answer), "403", "{path}");
        assert!(answer.contains("This browser may only look"), "{answer}");
        let refused = served.post(path, &operator, "reason=x");
        assert_eq!(status(&refused), "409", "it may, but there is no such goal: {refused}");
        assert_eq!(status(&served.ask("POST", path, &operator)), "403", "{path}: it comes from another site");
        assert_eq!(status(&served.ask("GET", path, &operator)), "405", "{path}");
    }
    let (secret, long) = ("/secrets/box/token", format!("value={}", "x".repeat(64 * 1024)));
    for (who, form, answered) in
        [(&looker, "value=x", "403"), (&operator, "value=x", "404"), (&operator, &long, "413")]
    {
        assert_eq!(status(&served.post(secret, who, form)), answered, "{answered}");
    }
    assert_eq!(status(&served.ask("POST", secret, &operator)), "403", "it comes from another site");
    assert_eq!(status(&served.ask("GET", secret, &operator)), "405");
    assert_eq!(status(&link(&looker, "operate")), "403", "it gives no more than it has");
    assert_eq!(status(&link(&looker, "look")), "200");
    assert_eq!(status(&link(&operator, "operate")), "200");
    assert_eq!(status(&link(&operator, "everything")), "422");
}

#[test]
fn a_login_that_sends_more_than_a_person_can_is_told_to_wait() {
    let served = serve();
    let one = served.log_in();
    let other = served.log_in_with(&one);
    let answers: Vec<String> = (0..80).map(|_| served.post("/goals/mirror/run", &one, "")).collect();
    let refused = answers.iter().filter(|answer| status(answer) == "429").count();
    assert!((1..=21).contains(&refused), "{refused} of 80");
    let last = answers.last().unwrap();
    assert!(last.contains("retry-after: 1\r\n") && last.contains("more than a person can"), "{last}");
    assert_eq!(
        status(&served.post("/goals/mirror/run", &other, "")),
        "409",
        "another login is not concerned"
    );
    assert_eq!(status(&served.ask("GET", "/goals", &one)), "200", "nor are pages");
    let page = served.post("/logout", &format!("{one}Accept: text/html\r\n"), "");
    assert!(page.contains("<h1>Too many requests</h1>"), "a browser gets a page: {page}");
}

#[test]
fn whoever_guesses_is_told_to_wait() {
    let served = serve();
    let guesses = (0..25).map(|number| served.ask("GET", &format!("/login?key={number}"), ""));
    let answers: Vec<String> = guesses.map(|answer| status(&answer).to_owned()).collect();
    assert_eq!((answers[0].as_str(), answers[24].as_str()), ("401", "429"));
    let login = served.log_in();
    assert_eq!(status(&served.ask("GET", "/goals", &login)), "200", "a valid link is not refused");
    let token = |token: &str| served.ask("GET", "/metrics", &format!("Authorization: Bearer {token}\r\n"));
    assert_eq!(status(&token("t0ken")), "200");
    assert!((0..25).any(|_| status(&token("t0kem")) == "429"));
    let refused = token("t0ken");
    assert_eq!(status(&refused), "429", "none is compared for a while");
    assert!(refused.contains("retry-after: "), "{refused}");
    assert_eq!(status(&served.ask("GET", "/metrics", &login)), "200", "a login reads them all the same");
}

#[test]
fn only_so_many_streams_are_open_and_a_closed_one_makes_room() {
    let served = serve();
    let login = served.log_in();
    let open = || {
        let mut stream = TcpStream::connect(served.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let request = format!("GET /events HTTP/1.1\r\nHost: {}\r\n{login}\r\n", served.address);
        stream.write_all(request.as_bytes()).unwrap();
        let mut head = [0; 12];
        stream.read_exact(&mut head).unwrap();
        (stream, head)
    };
    let mut streams: Vec<_> = (0..256).map(|_| open()).collect();
    assert!(streams.iter().all(|(_, head)| head == b"HTTP/1.1 200"));
    let refused = served.ask("GET", "/events", &login);
    assert_eq!(status(&refused), "503");
    assert!(refused.contains("retry-after: 5\r\n"), "{refused}");
    assert_eq!(status(&served.ask("GET", "/goals", &login)), "200", "pages have places of their own");
    drop(streams.pop());
    let is_room = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        open().1 == *b"HTTP/1.1 200"
    });
    assert!(is_room);
}
