//! Steps that are requests, and servers that have their own mind.

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
};

use crate::support::Sandbox;

/// Gives each request one of the responses, without their first line's `HTTP/1.1`, the last one repeatedly, until
/// the test ends. Returns the address.
#[expect(clippy::disallowed_methods, reason = "somebody has to listen")]
pub fn serve(responses: &'static [&'static str]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("a listener has an address");
    std::thread::spawn(move || {
        for (at, client) in listener.incoming().flatten().enumerate() {
            let (mut client, response) = (client, responses[at.min(responses.len() - 1)]);
            let _ = client.read(&mut [0; 4096]);
            let _ = write!(client, "HTTP/1.1 {response}");
        }
    });
    format!("http://{address}/")
}

#[test]
fn a_retry_waits_as_a_server_asks_but_not_for_a_year() {
    let place = Sandbox::new();
    let address = serve(&[
        "429 Too Many Requests\r\nRetry-After: 31536000\r\nContent-Length: 0\r\n\r\n",
        "429 Too Many Requests\r\nRetry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 0\r\n\r\n",
        "200 OK\r\nContent-Length: 2\r\n\r\nok",
    ]);
    let plan = format!(
        "---\nkind: plan\nid: p\nsteps:\n  - id: get\n    http: {{url: \"{address}\"}}\n    \
         retry: {{max: 2, max_delay: 100ms}}\n---\n"
    );
    place.file("p.md", plan);
    let did = place.wf(&["run", "p.md"]).exits(0);
    let asks = "got status 429 Too Many Requests, expected 200 to 299; the server asks to wait for";
    did.says(&format!("{asks} 365d (`retry-after`); waiting for 100ms only, the `max_delay` of `retry`"))
        .says(&format!("{asks} 0s (`retry-after`)"));
}
