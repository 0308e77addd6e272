//! The cost of steps on a backend: `cargo bench -p wf-temporal --bench steps` runs a plan of 1,000 steps that do
//! nothing with 1, 2 and 4 workers, and prints steps per second, the time a step takes alone, and the memory of a
//! worker. Beside it: the same plan here, and a workflow of the same library that starts as many processes and does
//! nothing else. `-- --steps N` takes another number. It needs a server: `crates/temporal/tests/install`; and
//! `cargo build --release --bin wf`.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and fails where it cannot go on"
)]

#[path = "steps/bare.rs"]
mod bare;
#[path = "../tests/farm.rs"]
#[expect(dead_code, reason = "the tests need more of it")]
mod farm;
#[path = "../tests/programs.rs"]
#[expect(dead_code, reason = "the tests need more of it")]
mod programs;
#[path = "../tests/server.rs"]
#[expect(dead_code, reason = "the tests need more of it")]
mod server;

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use farm::Farm;

/// The number of steps a worker does at once, at most.
const AT_ONCE: usize = 100;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let numbers = |name: &str, default: &[usize]| {
        let at = words.iter().position(|word| word == name);
        let given = at.and_then(|at| words.get(at + 1));
        given.map_or(default.to_vec(), |text| text.split(',').map(|word| word.parse().unwrap()).collect())
    };
    let steps = numbers("--steps", &[1_000])[0];
    let mut farm = Farm::at("127.0.0.1");
    farm.plan("wide", &wide(steps)).plan("one", &wide(1));
    let (run, wide, one) = (["run", "-q"], ["wide.md"], ["one.md"]);
    let wf = |farm: &Farm, words: [&[&str]; 3]| drop(farm.wf(&words.concat()).exits(0));
    Measurement::of(&farm, || wf(&farm, [&run, &[], &wide])).print("here", steps);
    Measurement::of(&farm, || wf(&farm, [&run, &[], &one])).print("here", 1);
    for workers in 1..=4 {
        farm.start_worker(&format!("w{workers}"));
        if !numbers("--workers", &[1, 2, 4]).contains(&workers) {
            continue;
        }
        let what = format!("backend, {workers} workers");
        let there = ["--on", "farm"];
        // Each time anew: what else the machine does changes what everything costs.
        let bare = Measurement::of(&farm, || bare::run(&farm.server.address(), steps));
        bare.print("bare workflow, 1 worker", steps);
        Measurement::of(&farm, || wf(&farm, [&run, &there, &one])).print(&what, 1);
        let took = Measurement::of(&farm, || wf(&farm, [&run, &there, &wide]));
        took.print(&what, steps);
        let share = 100 * bare.took.as_millis() / took.took.as_millis().max(1);
        println!("  {share} % of bare; {} MiB of memory for the first worker", farm.memory("w1") >> 10);
    }
}

/// The cost of something.
struct Measurement {
    took: Duration,
    /// The processor time of the server, of the workers, of the steps they began, of this program, and of what it
    /// called.
    cpu: [Duration; 5],
}

impl Measurement {
    fn of(farm: &Farm, act: impl FnOnce()) -> Self {
        let cpu = || {
            let here = Spent::here();
            let workers = (1..=4).map(|number| Spent::in_folder(&farm.path(&format!("w{number}"))));
            let workers: Vec<Spent> = workers.collect();
            let own = workers.iter().map(|worker| worker.own).sum();
            let steps = workers.iter().map(|worker| worker.children).sum();
            [Spent::in_folder(&farm.path("server")).own, own, steps, here.own, here.children]
        };
        let before = cpu();
        #[expect(clippy::disallowed_methods, reason = "this measures")]
        let begun = Instant::now();
        act();
        let took = begun.elapsed();
        let after = cpu();
        Self { took, cpu: std::array::from_fn(|part| after[part].saturating_sub(before[part])) }
    }

    fn print(&self, what: &str, steps: usize) {
        let count = u32::try_from(steps).unwrap();
        let rate = steps as u128 * 1_000 / self.took.as_millis().max(1);
        let cpu = self.cpu.map(|cpu| cpu / count);
        let (took, total) = (self.took, cpu.iter().sum::<Duration>());
        let [server, workers, of_steps, here, called] = cpu;
        println!("{what}: {steps} steps in {took:.1?}, {rate} steps/s");
        println!(
            "  processor, each step: {total:.1?} = server {server:.1?} + workers {workers:.1?} + their steps \
             {of_steps:.1?} + this program {here:.1?} + what it called {called:.1?}"
        );
    }
}

/// A plan of steps that do nothing, all at once.
fn wide(steps: usize) -> String {
    let items: Vec<String> = (0..steps).map(|item| item.to_string()).collect();
    format!(
        "policy: {{max_parallel: {AT_ONCE}}}\nsteps:\n  - {{id: step, for_each: [{}], run: \"true\"}}",
        items.join(", ")
    )
}

/// The length of a tick of `/proc`, which Linux gives in hundredths of a second on every machine.
const TICK: Duration = Duration::from_millis(10);

/// The processor time of processes, and of their children they waited for.
#[derive(Clone, Copy, Default)]
struct Spent {
    own: Duration,
    children: Duration,
}

impl Spent {
    /// Returns the time of all processes that work in a folder or below it, or have it in their arguments.
    fn in_folder(folder: &Path) -> Self {
        let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
        let word = format!("{}/", folder.display());
        let belongs = |process: &PathBuf| {
            std::fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder))
                || std::fs::read_to_string(process.join("cmdline")).is_ok_and(|words| words.contains(&word))
        };
        processes.filter(belongs).fold(Self::default(), |sum, process| {
            let of = Self::of(&process);
            Self { own: sum.own + of.own, children: sum.children + of.children }
        })
    }

    /// Returns the time of this process.
    fn here() -> Self {
        Self::of(Path::new("/proc/self"))
    }

    fn of(process: &Path) -> Self {
        // It may have ended meanwhile.
        let stat = std::fs::read_to_string(process.join("stat")).unwrap_or_default();
        // Behind the name of the program, of which nobody knows what it contains.
        let words: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = |field: usize| words.get(field).map_or(0, |word| word.parse::<u32>().unwrap());
        Self { own: TICK * (ticks(11) + ticks(12)), children: TICK * (ticks(13) + ticks(14)) }
    }
}
