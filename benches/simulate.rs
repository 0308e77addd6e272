//! The simulation, as long as it is wanted: `cargo bench --bench simulate`. Seeds run on every
//! processor; `-- --seeds N` says how many, `--seed S` which one, and `--trace` tells its story.
//! `--steps N` bounds the plans and `--without FAULT` leaves a kind of trouble out.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::exit,
    reason = "a benchmark reads the clock and prints; a law that is broken ends it"
)]

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

#[path = "../tests/sim/mod.rs"]
mod sim;

use sim::faults::Fault;
use sim::{Coverage, Faults, LAWS, Options, simulate, smaller};

/// What is asked for.
struct Asked {
    from: u64,
    seeds: u64,
    options: Options,
}

fn main() {
    let asked = asked();
    let begin = Instant::now();
    let (next, stop) = (AtomicU64::new(asked.from), AtomicBool::new(false));
    let (coverage, failed) = (Mutex::new(Coverage::default()), Mutex::new(None));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut seen = Coverage::default();
                while !stop.load(Ordering::Relaxed) {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= asked.from + asked.seeds {
                        break;
                    }
                    let options = Options {
                        seed,
                        ..asked.options
                    };
                    let told = simulate(&options);
                    seen.add(&told.coverage);
                    told.trace.iter().for_each(|line| println!("{line}"));
                    if told.broken.is_some() {
                        stop.store(true, Ordering::Relaxed);
                        *failed.lock().expect("nobody panics") = Some(options);
                    }
                }
                coverage.lock().expect("nobody panics").add(&seen);
            });
        }
    });
    let failed: Option<Options> = failed.into_inner().expect("nobody panics");
    if let Some(options) = failed {
        println!(
            "seed {} breaks a law; looking for a shorter story",
            options.seed
        );
        let failure = if asked.options.trace {
            None
        } else {
            smaller(options)
        };
        match failure {
            Some(failure) => println!("{failure}"),
            None => println!("{:?}", simulate(&options).broken),
        }
        std::process::exit(1);
    }
    let took = begin.elapsed();
    let coverage = coverage.into_inner().expect("nobody panics");
    println!("{coverage}");
    for gap in coverage.gaps() {
        println!("never seen: {gap}");
    }
    for law in LAWS {
        println!("  {:<34} {}", law.name, law.says);
    }
    let rate = asked.seeds as f64 / took.as_secs_f64();
    println!(
        "{} seeds in {took:.1?}, {rate:.0} a second; {} laws hold",
        asked.seeds,
        LAWS.len()
    );
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
    let steps = value("--steps")
        .and_then(|steps| usize::try_from(steps).ok())
        .unwrap_or(8);
    let trace = words.iter().any(|word| word == "--trace");
    let one = value("--seed");
    let seeds = value("--seeds").unwrap_or(if one.is_some() { 1 } else { 100_000 });
    let options = Options {
        seed: 0,
        steps,
        faults,
        trace,
    };
    Asked {
        from: one.unwrap_or(0),
        seeds,
        options,
    }
}
