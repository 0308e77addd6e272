//! A workspace with a backend: its server, its object store and its workers, each in a folder of its own.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::{Child, Command},
};

use serde_json::Value;
use wf_base::name::RunId;
use wf_store::StoreReader;

use crate::{
    programs::{Did, kill_all_of, program, until},
    server::TemporalServer,
};

/// The program of the workers; `wf` is beside it.
const WORKER: &str = env!("CARGO_BIN_EXE_wf-temporal");

/// The workers that have a queue of their own beside that of all, with their name.
const OWN_QUEUES: [&str; 2] = ["w1", "w2"];

/// A backend, and a workspace whose runs go there. All its processes end with it.
pub struct Farm {
    pub server: TemporalServer,
    /// Variables of all its programs.
    pub variables: Vec<(String, String)>,
    /// The address of its object store.
    pub objects: String,
    /// The address of its server in `wf.yaml`.
    pub address: String,
    /// More keys of the server there.
    pub server_keys: String,
    workers: BTreeMap<String, Child>,
    dir: tempfile::TempDir,
}

impl Farm {
    /// A farm with some workers: w1, w2 and so on.
    pub fn new(workers: usize) -> Self {
        let mut farm = Self::at("127.0.0.1");
        for number in 1..=workers {
            farm.start_worker(&format!("w{number}"));
        }
        farm
    }

    /// A farm without workers, whose server listens at an address.
    pub fn at(ip: &str) -> Self {
        Self::with_settings(ip, &[])
    }

    /// A farm without workers, whose server listens at an address and has some settings.
    pub fn with_settings(ip: &str, settings: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["server", "home", "space", "objects"] {
            std::fs::create_dir(dir.path().join(folder)).unwrap();
        }
        let server = TemporalServer::start(&dir.path().join("server"), ip, settings);
        let objects = format!("file://{}", dir.path().join("objects").display());
        let (variables, address, server_keys) = (Vec::new(), server.address(), String::new());
        let workers = BTreeMap::new();
        let farm = Self { server, variables, objects, address, server_keys, workers, dir };
        farm.file("wf.yaml", farm.config());
        farm
    }

    /// The text of a `wf.yaml` with the backend `farm`.
    pub fn config(&self) -> String {
        format!(
            "backends:\n  farm:\n    temporal: {{address: \"{}\"{}}}\n    objects: {}\n    queues: {{default: wf-test{}}}\n",
            self.address,
            self.server_keys,
            self.objects,
            OWN_QUEUES.map(|name| format!(", {name}: wf-{name}")).concat(),
        )
    }

    /// Returns a path below the folder of the test.
    pub fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    /// Writes a file of the workspace, with the folders above it.
    pub fn file(&self, path: &str, text: impl AsRef<[u8]>) -> &Self {
        let path = self.path("space").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    /// Writes a plan, given what follows its id.
    pub fn plan(&self, id: &str, rest: &str) -> &Self {
        self.file(&format!("{id}.md"), format!("---\nkind: plan\nid: {id}\n{rest}\n---\n# A plan\n"))
    }

    /// Prepares `wf` in a folder.
    pub fn command_in(&self, folder: &Path, args: &[&str]) -> Command {
        let wf = Path::new(WORKER).with_file_name("wf");
        assert!(wf.is_file(), "there is no wf beside wf-temporal: cargo build --bin wf, in its profile");
        let mut command = program(wf.to_str().unwrap(), folder, &self.path("home"));
        command.args(args).envs(self.variables.iter().cloned());
        command
    }

    /// Prepares `wf` in the workspace.
    pub fn command(&self, args: &[&str]) -> Command {
        self.command_in(&self.path("space"), args)
    }

    /// Runs `wf` in the workspace to its end.
    pub fn wf(&self, args: &[&str]) -> Did {
        Did::of(&mut self.command(args))
    }

    /// Starts `wf` in the workspace.
    pub fn start(&self, args: &[&str]) -> Child {
        self.command(args).spawn().unwrap()
    }

    /// Starts a worker, and waits until it works.
    pub fn start_worker(&mut self, name: &str) {
        self.start_worker_with(name, &[]);
    }

    /// Starts a worker with variables of its own, and waits until it works.
    pub fn start_worker_with(&mut self, name: &str, variables: &[(&str, &str)]) {
        let mut command = self.worker_command(name, WORKER);
        command.envs(variables.iter().copied());
        self.adopt_worker(name, &mut command);
    }

    /// Starts a worker of one queue alone, and waits until it works.
    pub fn start_worker_of(&mut self, name: &str, queue: &str) {
        // What precedes the arguments of a worker does nothing.
        let mut command = self.worker_command(name, "env");
        let runs = self.path(name).join("runs").display().to_string();
        command.arg(WORKER).args(["worker", "farm", "--folder", &runs, "--identity", name, "--queue", queue]);
        self.adopt_worker(name, &mut command);
    }

    /// Prepares a worker, in a folder with nothing but its configuration. `wrapper` is `wf-temporal`, or starts what
    /// follows it.
    pub fn worker_command(&self, name: &str, wrapper: &str) -> Command {
        let folder = self.path(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("wf.yaml"), self.config()).unwrap();
        let mut command = program(wrapper, &folder, &folder);
        command.envs(self.variables.iter().cloned());
        if wrapper == WORKER {
            command.args(self.worker_args(name));
        }
        let log = std::fs::File::create(folder.join("log")).unwrap();
        command.stdout(log.try_clone().unwrap()).stderr(log);
        command
    }

    /// Returns the arguments of a worker.
    pub fn worker_args(&self, name: &str) -> Vec<String> {
        let runs = self.path(name).join("runs").display().to_string();
        let args = ["worker", "farm", "--folder", &runs, "--identity", name, "--queue", "default"];
        let own = OWN_QUEUES.contains(&name).then_some(["--queue", name]);
        args.into_iter().chain(own.into_iter().flatten()).map(str::to_owned).collect()
    }

    /// Starts a worker that was prepared, and waits until it works.
    pub fn adopt_worker(&mut self, name: &str, command: &mut Command) {
        let child = command.spawn().unwrap();
        self.workers.insert(name.to_owned(), child);
        until("the worker works, or has ended", || {
            self.log(name).contains("works for") || self.has_ended(name)
        });
    }

    /// Returns what a worker wrote.
    pub fn log(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name).join("log")).unwrap_or_default()
    }

    /// Returns the memory that a worker has in use, in KiB.
    pub fn memory(&self, name: &str) -> u64 {
        let process = format!("/proc/{}/status", self.pid(name));
        let status = std::fs::read_to_string(process).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let line = line.unwrap_or_else(|| panic!("{name} has ended: {}", self.log(name)));
        line.trim().trim_end_matches("kB").trim().parse().unwrap()
    }

    /// Returns the process of a worker.
    pub fn pid(&self, name: &str) -> u32 {
        self.workers[name].id()
    }

    /// True if a worker has ended.
    pub fn has_ended(&mut self, name: &str) -> bool {
        self.workers.get_mut(name).unwrap().try_wait().unwrap().is_some()
    }

    /// Kills a worker, not what it started.
    pub fn kill_worker(&mut self, name: &str) {
        let mut child = self.workers.remove(name).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Tells a worker to end, and returns its process.
    pub fn end_worker(&mut self, name: &str) -> Child {
        let child = self.workers.remove(name).unwrap();
        #[expect(clippy::disallowed_methods, reason = "tests start real programs")]
        let told = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
        assert!(told.unwrap().success());
        child
    }

    /// Kills a worker and all that it started, as the loss of its host does.
    pub fn kill_host(&mut self, name: &str) {
        self.kill_worker(name);
        kill_all_of(&self.path(name));
    }

    /// Returns the latest run, as `wf show` describes it.
    pub fn show(&self) -> Value {
        serde_json::from_str(&self.wf(&["show", "--last", "--json"]).exits(0).out).unwrap()
    }

    /// Returns the id of the latest run, once there is one.
    pub fn run(&self) -> String {
        let mut id = String::new();
        until("a run is recorded", || {
            let shown = self.wf(&["show", "--last", "--json"]);
            let shown: Value = serde_json::from_str(&shown.out).unwrap_or_default();
            shown["run"]["id"].as_str().unwrap_or_default().clone_into(&mut id);
            !id.is_empty()
        });
        id
    }

    pub fn object_with(&self, key: &str) -> PathBuf {
        let files =
            walkdir::WalkDir::new(self.path("objects")).into_iter().map(|entry| entry.unwrap().into_path());
        let has = |path: &PathBuf| {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            serde_json::from_str::<Value>(&text).is_ok_and(|value| value.get(key).is_some())
        };
        files.filter(|path| path.is_file()).find(has).unwrap()
    }

    /// Returns the ids of the latest run and of all nested in it, each by the steps above it.
    pub fn runs(&self) -> BTreeMap<String, String> {
        let reader = StoreReader::from_whole_log(&self.path("space").join(".wf")).unwrap();
        let mut open = vec![(String::new(), RunId::from_stored(self.run()))];
        let mut runs = BTreeMap::new();
        while let Some((above, run)) = open.pop() {
            for (nested, attempt) in reader.runs().children(&run).unwrap() {
                open.push((format!("{above}/{attempt}"), nested));
            }
            runs.insert(above, run.to_string());
        }
        runs
    }

    /// Waits until a step of the latest run has begun.
    pub fn until_started(&self) {
        until("a step begins", || {
            let run = self.run();
            self.count(&run, "run_ended", None) == 0 && self.count(&run, "attempt_started", None) == 1
        });
    }

    /// Returns the events of a run, as recorded in the workspace.
    pub fn events(&self, run: &str) -> Vec<Value> {
        let state = self.path("space").join(".wf");
        let events = StoreReader::from_whole_log(&state)
            .unwrap()
            .events()
            .of_run(&RunId::from_stored(run), 0)
            .unwrap();
        events.iter().map(|(_, event)| serde_json::to_value(event).unwrap()).collect()
    }

    /// Returns the answers to a request of a run that the workspace has.
    pub fn answers(&self, run: &str, request: u32) -> Vec<String> {
        let reader = StoreReader::from_whole_log(&self.path("space").join(".wf")).unwrap();
        let answers = reader.approvals().answers(&RunId::from_stored(run), request).unwrap();
        answers.into_iter().map(|answer| answer.token).collect()
    }

    /// Asserts that the latest run and each nested in it have one beginning and one end, and that the log is whole.
    pub fn assert_whole(&self) {
        for run in self.runs().values() {
            let events = self.events(run);
            assert_eq!(self.count(run, "run_started", None), 1, "{events:?}");
            assert_eq!(events.last().map(|event| event["event"].clone()), Some(Value::from("run_ended")));
        }
        self.wf(&["audit", "verify"]).exits(0).says("valid");
    }

    /// Returns how often a run has an event, of one step or of all.
    pub fn count(&self, run: &str, name: &str, step: Option<&str>) -> usize {
        let is_it = |event: &&Value| event["event"] == name && step.is_none_or(|step| event["step"] == step);
        self.events(run).iter().filter(is_it).count()
    }
}

impl Drop for Farm {
    fn drop(&mut self) {
        self.server.kill();
        kill_all_of(self.dir.path());
    }
}
