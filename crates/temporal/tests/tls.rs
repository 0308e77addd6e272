//! A server that is reached through TLS, with an authority of its own and certificates on both sides.

use std::{
    net::TcpListener,
    path::Path,
    process::{Child, Stdio},
};

use crate::{
    farm::Farm,
    programs::{Did, program, until},
};

/// Ends TLS in front of a server: it forwards to it what comes from those whose certificate the authority signed.
const PROXY: &str = r#"
import asyncio, ssl, sys
port, target = int(sys.argv[1]), int(sys.argv[2])
tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
tls.load_cert_chain("server.pem", "server.key")
tls.load_verify_locations("ca.pem")
tls.verify_mode = ssl.CERT_REQUIRED
tls.set_alpn_protocols(["h2"])
async def copy(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()
async def serve(reader, writer):
    there = await asyncio.open_connection("127.0.0.1", target)
    await asyncio.gather(copy(reader, there[1]), copy(there[0], writer))
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", port, ssl=tls)
    print("serves", flush=True)
    await server.serve_forever()
asyncio.run(main())
"#;

/// Makes an authority, and certificates of a server and of a client that it signed.
fn make_certificates(folder: &Path) {
    let openssl = |args: &str| {
        let mut command = program("openssl", folder, folder);
        Did::of(command.args(args.split(' '))).exits(0);
    };
    openssl("req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=authority");
    std::fs::write(folder.join("names"), "subjectAltName=IP:127.0.0.1\n").unwrap();
    for name in ["server", "client"] {
        openssl(&format!("req -newkey rsa:2048 -nodes -keyout {name}.key -out {name}.csr -subj /CN={name}"));
        openssl(&format!(
            "x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out {name}.pem -days 2 -extfile names"
        ));
    }
}

struct TlsProxy(Child);

impl Drop for TlsProxy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A farm whose workspace and worker reach the server through TLS alone.
fn farm() -> (Farm, TlsProxy) {
    let mut farm = Farm::at("127.0.0.1");
    let certificates = farm.path("tls");
    std::fs::create_dir(&certificates).unwrap();
    make_certificates(&certificates);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let target = farm.server.address().rsplit_once(':').unwrap().1.to_owned();
    let mut proxy = program("python3", &certificates, &certificates);
    let log = std::fs::File::create(certificates.join("log")).unwrap();
    proxy.args(["-c", PROXY, &port.to_string(), &target]).stdout(log).stderr(Stdio::null());
    let proxy = TlsProxy(proxy.spawn().unwrap());
    until("it serves", || std::fs::read_to_string(certificates.join("log")).unwrap().contains("serves"));
    farm.address = format!("https://127.0.0.1:{port}");
    (farm, proxy)
}

/// Writes the configuration with these files.
fn configure(farm: &mut Farm, files: &[(&str, &str)]) {
    let file = |(key, file): &(&str, &str)| format!("{key}: {}", farm.path("tls").join(file).display());
    let files: Vec<String> = files.iter().map(file).collect();
    farm.server_keys = format!(", tls: {{{}}}", files.join(", "));
    farm.file("wf.yaml", farm.config());
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_run_goes_through_tls_with_an_authority_and_a_certificate_of_its_own() {
    let (mut farm, _proxy) = farm();
    configure(&mut farm, &[("ca", "ca.pem"), ("cert", "client.pem"), ("key", "client.key")]);
    farm.start_worker("w1");
    farm.plan("one", "steps:\n  - {id: one, run: 'echo through'}");
    farm.wf(&["run", "--on", "farm", "one.md"]).exits(0);
    farm.wf(&["logs", "--last", "one"]).exits(0).says("through");
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn what_is_wrong_with_tls_is_said_before_anything_starts() {
    let (mut farm, _proxy) = farm();
    farm.plan("one", "steps:\n  - {id: one, run: 'echo through'}");
    for (files, says) in [
        (&[("ca", "absent.pem")][..], "which `tls.ca` names"),
        (&[("ca", "ca.pem"), ("cert", "client.pem"), ("key", "absent.key")][..], "which `tls.key` names"),
        (&[("ca", "client.pem")][..], "cannot reach the Temporal server"),
        (&[("ca", "ca.pem")][..], "cannot reach the Temporal server"),
    ] {
        configure(&mut farm, files);
        let did = farm.wf(&["run", "--on", "farm", "one.md"]).exits(6);
        let did = did.says(says).says("nothing was started");
        let errors = did.err.lines().filter(|line| line.starts_with("error: ")).count();
        assert_eq!(errors, 1, "{}", did.all());
    }
}
