//! The simulation, as long as it is wanted: `cargo bench --bench simulate`. Seeds run on every
//! processor; `-- --seeds N` says how many, `--seed S` which one, and `--trace` tells its story.
//! `--steps N` bounds the plans and `--without FAULT` leaves a kind of trouble out.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a benchmark reads the clock and prints; a law that is broken ends it"
)]

use std::{
    process::ExitCode,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

#[path = "../tests/sim/mod.rs"]
mod sim;

use sim::{Coverage, Faults, LAWS, Options, faults::Fault, simulate, smaller};

/// From how many seeds on everything should have happened.
const MANY: u64 = 2_000;

/// What is asked for.
struct Asked {
    from: u64,
    seeds: u64,
    options: Options,
}

fn main() -> ExitCode {
    let asked = asked();
    let begin = Instant::now();
    let (coverage, failed) = tried(&asked);
    if let Some(options) = failed {
        tell(&options);
        return ExitCode::FAILURE;
    }
    let took = begin.elapsed();
    println!("{coverage}");
    for law in LAWS {
        println!("  {:<34} {}", law.name, law.says);
    }
    let (seeds, laws) = (asked.seeds, LAWS.len());
    let rate = seeds as f64 / took.as_secs_f64();
    println!("{seeds} seeds in {took:.1?}, {rate:.0} a second; {laws} laws hold");
    let gaps = coverage.gaps();
    if seeds >= MANY && !gaps.is_empty() {
        println!("never seen: {}", gaps.join(", "));
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Tries seeds on every processor, until all are tried or one breaks a law.
fn tried(asked: &Asked) -> (Coverage, Option<Options>) {
    let (next, failed) = (AtomicU64::new(asked.from), Mutex::new(None));
    let coverage = Mutex::new(Coverage::default());
    let work = || {
        let mut seen = Coverage::default();
        while failed.lock().expect("nobody panics").is_none() {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= asked.from.saturating_add(asked.seeds) {
                break;
            }
            let options = Options { seed, ..asked.options };
            let told = simulate(&options);
            seen.add(&told.coverage);
            told.trace.iter().for_each(|line| println!("{line}"));
            if told.broken.is_some() {
                *failed.lock().expect("nobody panics") = Some(options);
            }
        }
        coverage.lock().expect("nobody panics").add(&seen);
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let failed = failed.into_inner().expect("nobody panics");
    (coverage.into_inner().expect("nobody panics"), failed)
}

/// Says what a seed breaks; the shortest story of it, if its own is not told already.
fn tell(options: &Options) {
    let seed = options.seed;
    println!("seed {seed} breaks a law");
    let failure = (!options.trace).then(|| smaller(*options)).flatten();
    match failure {
        Some(failure) => println!("{failure}"),
        None => println!("{:?}", simulate(options).broken),
    }
}

fn asked() -> Asked {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        let at = words.iter().position(|word| word == name)?;
        words.get(at + 1)?.parse::<u64>().ok()
    };
    let mut faults = Faults::ALL;
    for pair in words.windows(2).filter(|pair| pair[0] == "--without") {
        let fault = Fault::ALL.into_iter().find(|fault| fault.name() == pair[1]);
        faults = fault.map_or(faults, |fault| faults.without(fault));
    }
    let steps = value("--steps").and_then(|steps| usize::try_from(steps).ok()).unwrap_or(8);
    let trace = words.iter().any(|word| word == "--trace");
    let one = value("--seed");
    let seeds = value("--seeds").unwrap_or(if one.is_some() { 1 } else { 100_000 });
    let options = Options { seed: 0, steps, faults, trace };
    Asked { from: one.unwrap_or(0), seeds, options }
}
