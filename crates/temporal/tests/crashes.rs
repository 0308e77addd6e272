//! Every process that works for a run is killed, one after the other, or cut off from the server, at points between its
//! durable writes.
//!
//! A seed selects the points. `WF_TEST_SEED` is another seed than 0, and `WF_TEST_CASES` the number of cases.

use std::{collections::BTreeSet, path::Path, process::Child, time::Duration};

use wf_base::digest::Sha256Digest;

use crate::{
    cable::Cable,
    deaths::assert_whole,
    farm::Farm,
    lost::assert_replays,
    programs::{Did, signal, until},
};

/// A plan whose steps may all be interrupted, and whose end shows that each was done. Some are those of the worker in which
/// points count, so that it has work in every run.
const ANY: &str = r"policy: {max_parallel: 3}
steps:
  - id: first
    runs_on: w1
    run: sleep 0.2; echo first > first.txt
    artifacts: [first.txt]
    idempotent: true
    retry: {max: 5, on: [interrupted], backoff: 10ms}
    verify: [{name: there, run: test -s first.txt}]
  - id: long
    depends_on: [first]
    for_each: [1, 2, 3, 4, 5, 6]
    run: cat first.txt; sleep 0.2; echo $WF_ITEM > f$WF_ITEM
    idempotent: true
    retry: {max: 5, on: [interrupted], backoff: 10ms}
  - id: part
    depends_on: [first]
    uses: part.md
  - id: all
    runs_on: w1
    depends_on: [long, part]
    run: cat f1 f2 f3 f4 f5 f6 parts/b
    idempotent: true
    retry: {max: 5, on: [interrupted], backoff: 10ms}";

/// A plan that it runs.
const PART: &str = r"steps:
  - id: a
    run: sleep 0.3; mkdir -p parts; echo a > parts/a
    artifacts: [parts/a]
    idempotent: true
    retry: {max: 5, on: [interrupted], backoff: 10ms}
    verify: [{name: there, run: test -s parts/a}]
  - id: b
    depends_on: [a]
    run: sleep 0.3; cp parts/a parts/b
    idempotent: true
    retry: {max: 5, on: [interrupted], backoff: 10ms}";

/// What breaks.
#[derive(Clone, Copy, Debug)]
enum Victim {
    /// A worker. What its steps started dies with it.
    Worker,
    /// A worker, and the server at the same time.
    WorkerAndServer,
    /// The server, when a worker has come to a point.
    Server,
    /// The network between a worker and the server. The worker goes on, and cannot say so for a while.
    Network,
    /// The command that records the run.
    Engine,
    /// The program by which the command follows the run.
    Follower,
}

const VICTIMS: [Victim; 6] = [
    Victim::Worker,
    Victim::Engine,
    Victim::WorkerAndServer,
    Victim::Follower,
    Victim::Server,
    Victim::Network,
];

/// The longest time that the network is cut, in seconds: a worker counts as lost after ten.
const LONGEST_CUT: usize = 20;

impl Victim {
    /// Returns the name of the process whose points count.
    fn role(self) -> &'static str {
        match self {
            Self::Worker | Self::WorkerAndServer | Self::Server | Self::Network => "worker",
            Self::Engine => "engine",
            Self::Follower => "follower",
        }
    }

    fn is_worker(self) -> bool {
        self.role() == "worker"
    }
}

/// Returns a number below another one, which a seed and a case select.
pub fn choose(seed: u64, case: usize, count: usize) -> usize {
    let digest = Sha256Digest::of_bytes(format!("{seed}/{case}").as_bytes());
    digest.to_string().bytes().fold(0, |sum, byte| (sum * 31 + usize::from(byte)) % count)
}

#[expect(clippy::disallowed_methods, reason = "a test is told how much it does")]
pub fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

/// The backend, and the workers w1, in which points count, and w2.
struct CrashTest {
    farm: Farm,
}

impl CrashTest {
    /// Starts the run, with a plan for the points of a process.
    fn start(&mut self, victim: Victim, plan: &str) -> Child {
        let plan = format!("{}:{plan}", victim.role());
        let mut run = self.farm.command(&["run", "--on", "farm", "any.md"]);
        if victim.is_worker() {
            self.farm.start_worker_with("w1", &[("WF_CRASH", &plan)]);
        } else {
            self.farm.start_worker("w1");
            run.env("WF_CRASH", &plan);
        }
        run.spawn().unwrap()
    }

    /// Returns the number of points that a process comes to in a run.
    fn points(&mut self, victim: Victim) -> usize {
        let list = self.farm.path(victim.role());
        let run = self.start(victim, &format!("list={}", list.display()));
        Did::ended(run).exits(0);
        self.farm.kill_host("w1");
        lines(&list)
    }

    /// Cuts a worker off from the server at a point, for some seconds, and lets the run end.
    fn cut(&mut self, point: usize, seconds: usize) {
        let cable = Cable::to(self.farm.server.socket());
        let direct = std::mem::replace(&mut self.farm.address, cable.address());
        let plan = format!("worker:stop={}", point + 1);
        self.farm.start_worker_with("w1", &[("WF_CRASH", &plan)]);
        self.farm.address = direct;
        let mut run = self.farm.start(&["run", "--on", "farm", "any.md"]);
        let worker = self.farm.pid("w1");
        let mut has_ended = false;
        until("the worker stops, or the run ended", || {
            has_ended = run.try_wait().unwrap().is_some();
            has_ended || is_stopped(worker)
        });
        if !has_ended {
            cable.set_cut(true);
            signal("CONT", worker);
            std::thread::sleep(Duration::from_secs(seconds as u64));
            cable.set_cut(false);
        }
        Did::ended(run).exits(0);
        self.farm.runs().values().for_each(|run| assert_whole(&self.farm, run));
        assert_replays(&self.farm, &self.farm.run());
        assert!(!self.farm.has_ended("w1"), "{}", self.farm.log("w1"));
        self.farm.kill_host("w1");
    }

    /// Kills a process at a point, lets the others go on, and the run end.
    fn kill(&mut self, victim: Victim, point: usize) {
        let before = self.runs();
        let mut run = self.start(victim, &(point + 1).to_string());
        let mut has_ended = || run.try_wait().unwrap().is_some();
        if victim.is_worker() {
            // Which worker does what is a matter of luck, so the point may not be reached.
            until("the worker died, or the run ended", || self.farm.has_ended("w1") || has_ended());
        } else {
            until("the command ended", &mut has_ended);
        }
        if matches!(victim, Victim::WorkerAndServer | Victim::Server) {
            self.farm.server.kill();
            self.farm.server.restart();
        }
        if victim.is_worker() {
            self.farm.kill_host("w1");
            self.farm.start_worker("w1");
        }
        let followed = Did::ended(run);
        let runs: BTreeSet<String> = self.runs().difference(&before).cloned().collect();
        if runs.is_empty() {
            assert!(!victim.is_worker(), "{}", followed.all());
        } else {
            if followed.code != Some(0) {
                let id = self.farm.run();
                // Its end may have been recorded before the command was killed.
                until("the run is followed to its end", || {
                    let followed = self.farm.wf(&["resume", &id]);
                    followed.code == Some(0) || followed.all().contains("has already finished")
                });
            }
            assert_eq!(self.farm.show()["run"]["state"], "succeeded");
            self.farm.runs().values().for_each(|run| assert_whole(&self.farm, run));
            assert_replays(&self.farm, &self.farm.run());
        }
        self.farm.kill_host("w1");
    }

    /// Returns the runs that the workspace has.
    fn runs(&self) -> BTreeSet<String> {
        self.farm.wf(&["runs"]).out.lines().map(str::to_owned).collect()
    }
}

/// True if a process is stopped.
fn is_stopped(pid: u32) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    state.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
}

fn lines(path: &Path) -> usize {
    std::fs::read_to_string(path).unwrap().lines().count()
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn whatever_breaks_at_any_point_a_run_ends_as_it_should() {
    let mut farm = Farm::at("127.0.0.1");
    farm.plan("any", ANY).plan("part", PART);
    farm.start_worker("w2");
    let mut test = CrashTest { farm };
    let [worker, engine, follower] =
        [Victim::Worker, Victim::Engine, Victim::Follower].map(|victim| test.points(victim));
    assert!(worker > 5 && engine > 10 && follower > 10, "points: {worker}, {engine}, {follower}");
    let (seed, cases) = (setting("WF_TEST_SEED", 0), setting("WF_TEST_CASES", 12));
    for case in 0..usize::try_from(cases).unwrap() {
        let victim = VICTIMS[case % VICTIMS.len()];
        let count = match victim {
            Victim::Engine => engine,
            Victim::Follower => follower,
            Victim::Worker | Victim::WorkerAndServer | Victim::Server | Victim::Network => worker,
        };
        let point = choose(seed, case, count);
        eprintln!("case {case} of seed {seed}: {victim:?} at point {point} of {count}");
        match victim {
            Victim::Network => test.cut(point, 1 + choose(seed, case + count, LONGEST_CUT)),
            victim => test.kill(victim, point),
        }
    }
}
