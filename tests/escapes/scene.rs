//! What lies outside: files, sockets and processes that nobody in a sandbox may touch.

use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader, Read as _},
    net::{TcpListener, UdpSocket},
    os::{
        linux::net::SocketAddrExt as _,
        unix::{
            fs::{PermissionsExt as _, chown, symlink},
            net::{SocketAddr, UnixDatagram, UnixListener},
        },
    },
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
};

use super::attempt::Attempt;
use crate::support::Did;

/// The user without a name.
pub const NOBODY: u32 = 65534;

/// A further group of that user.
pub const GROUP: u32 = 54_321;

/// Who runs wf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    Own,
    Nobody,
}

/// Where programs are found, by everybody.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

/// A place with everything to reach for.
pub struct Scene {
    base: tempfile::TempDir,
    who: Who,
    /// Contained in the name of every file that an attempt makes where it may not.
    pub tag: String,
    /// What no attempt may print.
    pub secret: String,
    pub(super) heard: Arc<Mutex<Vec<String>>>,
    pub(super) victims: Vec<(&'static str, Child)>,
    vars: Vec<(&'static str, String)>,
    pub(super) segment: Option<Child>,
}

impl Scene {
    pub fn new(who: Who) -> Self {
        // What is below /tmp can be written as far as Landlock knows, so elsewhere, if that may be.
        let mut base = tempfile::Builder::new();
        base.prefix("wf-escapes-");
        let base = base.tempdir_in("/srv").or_else(|_| base.tempdir());
        let base = base.expect("a temporary folder");
        let tag = base.path().file_name().unwrap().to_string_lossy()[11..].to_owned();
        let number = tag.bytes().fold(7_u64, |sum, byte| sum * 131 + u64::from(byte));
        let mut scene = Self {
            base,
            who,
            secret: format!("canary-{number:016x}"),
            tag,
            heard: Arc::default(),
            victims: Vec::new(),
            vars: Vec::new(),
            segment: None,
        };
        scene.files();
        scene.sockets();
        scene.give_away();
        scene.memory(number);
        scene
    }

    /// A path of the scene; the workspace is `ws`.
    pub fn at(&self, path: &str) -> PathBuf {
        self.base.path().join(path)
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Copies a program. Nothing of this process ever has the copy open: whatever another test
    /// starts meanwhile would keep it from being executed.
    fn copy(&self, from: &str, to: &str) {
        #[expect(clippy::disallowed_methods, reason = "tests start real programs")]
        let copied = Command::new("cp").arg(from).arg(self.at(to)).status();
        assert!(copied.expect("cp can be started").success());
    }

    fn files(&self) {
        let secret = format!("{}\n", self.secret);
        for path in ["outside/secret.txt", "home/.ssh/id"] {
            self.write(path, &secret);
        }
        for path in ["outside/guarded.txt", "ws/guarded.txt"] {
            self.write(path, "\n".repeat(64));
        }
        for folder in ["/tmp", "/var/tmp", "/dev/shm"] {
            fs::write(format!("{folder}/wf-escape-{}-secret", self.tag), &secret).unwrap();
        }
        self.write("ws/wf.yaml", "logs: {max_bytes: 1MiB}\n");
        self.write("ws/tool.py", "#!/usr/bin/python3\nimport sys\nopen(sys.argv[1], 'w')\n");
        let mode = |path, mode| {
            fs::set_permissions(self.at(path), fs::Permissions::from_mode(mode)).unwrap();
        };
        mode("ws/tool.py", 0o755);
        self.copy("/usr/bin/touch", "ws/own");
        fs::create_dir(self.at("ws/out")).unwrap();
        symlink("../outside", self.at("ws/leads-out")).unwrap();
        fs::create_dir(self.at("bin")).unwrap();
        self.copy(env!("CARGO_BIN_EXE_wf"), "bin/wf");
        for path in ["", "bin", "bin/wf"] {
            mode(path, 0o755);
        }
    }

    /// Gives all to the user who runs wf, and leaves a program that gives the rights of ours.
    fn give_away(&self) {
        if self.who == Who::Own {
            return;
        }
        for entry in walkdir::WalkDir::new(self.base.path()).into_iter().flatten() {
            std::os::unix::fs::lchown(entry.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        for folder in ["/tmp", "/var/tmp", "/dev/shm"] {
            let path = format!("{folder}/wf-escape-{}-secret", self.tag);
            chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        self.write("ws/root-only.txt", format!("{}\n", self.secret));
        self.copy("/usr/bin/cat", "ws/suid-cat");
        for (path, mode) in [("ws/root-only.txt", 0o600), ("ws/suid-cat", 0o4755)] {
            fs::set_permissions(self.at(path), fs::Permissions::from_mode(mode)).unwrap();
        }
    }

    /// Everything that can be connected to.
    fn sockets(&mut self) {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        self.vars.push(("TCP", tcp.local_addr().unwrap().port().to_string()));
        self.listen(move || Some(tcp.accept().ok()?.0));
        let six = TcpListener::bind("[::1]:0");
        let port = six.as_ref().map_or(1, |six| six.local_addr().unwrap().port());
        self.vars.push(("TCP6", port.to_string()));
        if let Ok(six) = six {
            self.listen(move || Some(six.accept().ok()?.0));
        }
        for path in ["outside/socket", "ws/socket"] {
            let listener = UnixListener::bind(self.at(path)).unwrap();
            self.listen(move || Some(listener.accept().ok()?.0));
        }
        let name = format!("wf-escape-{}", self.tag);
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let listener = UnixListener::bind_addr(&address).unwrap();
        self.listen(move || Some(listener.accept().ok()?.0));
        self.vars.push(("ABSTRACT", name));
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        self.vars.push(("UDP", udp.local_addr().unwrap().port().to_string()));
        self.hear(move |room| udp.recv(room).ok());
        let datagrams = UnixDatagram::bind(self.at("ws/datagrams")).unwrap();
        self.hear(move |room| datagrams.recv(room).ok());
        let pipe = self.at("ws/pipe");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let mut pipe = File::options().read(true).write(true).open(pipe).unwrap();
        self.hear(move |room| pipe.read(room).ok());
    }

    /// Writes down what comes on connections, until the tests end.
    fn listen<R: std::io::Read + Send + 'static>(
        &self,
        mut accept: impl FnMut() -> Option<R> + Send + 'static,
    ) {
        self.hear(move |room| {
            let mut line = accept()?;
            line.read(room).ok()
        });
    }

    fn hear(&self, mut next: impl FnMut(&mut [u8]) -> Option<usize> + Send + 'static) {
        let heard = Arc::clone(&self.heard);
        #[expect(clippy::disallowed_methods, reason = "what is outside of wf listens at any time")]
        std::thread::spawn(move || {
            let mut room = [0; 256];
            while let Some(length) = next(&mut room) {
                let text = String::from_utf8_lossy(&room[..length]).trim().to_owned();
                heard.lock().unwrap().push(text);
            }
        });
    }

    /// A segment of shared memory with the secret in it, held by a process outside.
    fn memory(&mut self, number: u64) {
        let key = (number & 0x3fff_ffff) | 1;
        let script = format!(
            "import ctypes, sys\nlibc = ctypes.CDLL(None)\nlibc.shmat.restype = ctypes.c_void_p\n\
             number = libc.shmget({key}, 4096, 0o1600)\nat = libc.shmat(number, None, 0)\n\
             ctypes.memmove(at, b'{}', 23)\nprint('ready', flush=True)\nsys.stdin.read()\n\
             libc.shmctl(number, 0, None)\n",
            self.secret
        );
        let mut holder = self.program("python3");
        holder.args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut holder = holder.spawn().expect("python3 can be started");
        let mut line = String::new();
        BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        self.segment = Some(holder);
        self.vars.push(("SEGMENT", key.to_string()));
    }

    /// A program that the user of the scene starts in the workspace.
    pub fn program(&self, program: &str) -> Command {
        #[expect(clippy::disallowed_methods, reason = "tests start real programs")]
        let new = |program: &str| Command::new(program);
        let mut command = match self.who {
            Who::Own => new(program),
            Who::Nobody => {
                let mut command = new("setpriv");
                command.args(["--reuid=65534", "--regid=65534", &format!("--groups={GROUP}"), "--", program]);
                command
            }
        };
        command.current_dir(self.at("ws")).env_clear();
        let home = self.at("home");
        command.env("PATH", PATH).env("HOME", home).env("LC_ALL", "C.UTF-8").env("HIDDEN", &self.secret);
        command.stdin(Stdio::null());
        command
    }

    /// Runs wf, which inherits descriptors that it knows nothing of.
    pub fn wf(&self, args: &[&str]) -> Did {
        let mut command = self.program("sh");
        let script = r#"wf=$1 outside=$2; shift 2; exec "$wf" "$@" 8< "$outside/secret.txt" 9< "$outside""#;
        command.args(["-c", script, "sh"]).arg(self.at("bin/wf")).arg(self.at("outside"));
        let output = command.args(args).output().expect("wf can be started");
        Did {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// A first run, so that there is a state with something in it that is to be found.
    pub fn first_run(&self) {
        let plan = format!(
            "---\nkind: plan\nid: first\nsteps:\n  - id: first\n    run: echo 'word={0}' >> \"$WF_OUTPUT\"; echo '{0}'\n    outputs: {{word: {{type: string}}}}\n---\n",
            self.secret
        );
        self.write("ws/first.md", plan);
        self.wf(&["run", "first.md"]).exits(0);
        fs::remove_file(self.at("ws/first.md")).unwrap();
        self.write("ws/.wf/guarded.txt", format!("{}\n", self.secret));
        if self.who == Who::Nobody {
            chown(self.at("ws/.wf/guarded.txt"), Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }

    /// The variables of an attempt.
    pub fn vars(&mut self, attempt: &Attempt) -> Vec<(&'static str, String)> {
        let mut vars = self.vars.clone();
        vars.push(("NAME", attempt.name.to_owned()));
        vars.push(("TAG", self.tag.clone()));
        vars.push(("MARK", format!("wf-escape-{}-{}", self.tag, attempt.name)));
        vars.push(("OUTSIDE", self.at("outside").display().to_string()));
        let victim = self.program("sleep").arg("120").stdout(Stdio::null()).spawn();
        let victim = victim.expect("sleep can be started");
        vars.push(("VICTIM", victim.id().to_string()));
        self.victims.push((attempt.name, victim));
        vars
    }
}
