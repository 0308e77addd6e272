//! What running steps costs, beside other programs that run steps and beside the least that it can
//! cost. `benches/peers/run` installs those programs and calls this; `--help` tells what can be
//! chosen. How it measures is told in docs/performance.md.
//!
//! Every measurement of one program is preceded at once by one of the floor, and ratios are
//! medians over those pairs, so that a busy machine disturbs them little.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark reads the clock, starts programs and prints"
)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Parser;

#[path = "peers/durable.rs"]
mod durable;
#[path = "peers/floor.rs"]
mod floor;
#[path = "peers/flush.rs"]
mod flush;
#[path = "peers/load.rs"]
mod load;
#[path = "peers/measure.rs"]
mod measure;
#[path = "peers/ours.rs"]
mod ours;
#[path = "peers/plot.rs"]
mod plot;
#[path = "peers/program.rs"]
mod program;
#[path = "peers/python.rs"]
mod python;
#[path = "peers/report.rs"]
mod report;
#[path = "peers/rounds.rs"]
mod rounds;
#[path = "peers/small.rs"]
mod small;
#[path = "peers/table.rs"]
mod table;
#[path = "peers/target.rs"]
mod target;

use load::Load;
use program::Program;
use report::{Machine, Report};

/// Measures wf, other programs and the floor with the same workloads.
#[derive(Parser)]
#[command(name = "peers", bin_name = "benches/peers/run")]
struct Options {
    /// Workloads, by name, with commas between them; all if none is named
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    workload: Vec<String>,

    /// Programs, by name; the floor is always among them. All that are installed if none is named
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    peer: Vec<String>,

    /// How often each program is measured
    #[arg(long, default_value_t = 5, value_name = "N")]
    rounds: usize,

    /// Write all raw figures here
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Draw what a step costs over the number of steps; needs the chains and fans
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,

    /// Write tables as Markdown here
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,

    /// Measure nothing; read the figures that --json wrote
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,

    /// Only see that each program runs every step once and in order
    #[arg(long)]
    check: bool,

    /// Do not count flushes to the disk
    #[arg(long)]
    no_flushes: bool,

    /// Work in a folder below this one; target/peers otherwise
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,

    /// Measure this wf, not the one that is built with the benchmark
    #[arg(long, value_name = "FILE")]
    wf: Option<PathBuf>,

    /// Name all workloads and programs
    #[arg(long)]
    list: bool,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    if let Some(well) = helped(&words) {
        return ExitCode::from(u8::from(!well));
    }
    // Cargo adds `--bench`.
    let words = words.into_iter().filter(|word| word != "--bench");
    match compared(&Options::parse_from(words)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            println!("{reason}");
            ExitCode::FAILURE
        }
    }
}

/// What the benchmark does when it calls itself: the floors, and the process of a measurement.
fn helped(words: &[String]) -> Option<bool> {
    let number = |at: usize| words[at].parse().expect("a number is a number");
    Some(match words.get(1)?.as_str() {
        "floor" => floor::run(Path::new(&words[3]), number(2)),
        "floor-check" => floor::check(Path::new(&words[2])),
        "floor-wal" => durable::run(Path::new(&words[3]), number(2), Path::new(&words[4])),
        "many" => measure::many(number(2), &words[3..]),
        "measure" => {
            let figures = measure::measure(&words[2..]);
            let figures = serde_json::to_string(&figures);
            println!("{}", figures.expect("figures can be written"));
            true
        }
        _ => return None,
    })
}

fn compared(options: &Options) -> Result<(), String> {
    if let Some(file) = &options.wf {
        let file = file.canonicalize();
        ours::choose(&file.map_err(|reason| format!("there is no such wf: {reason}"))?);
    }
    let loads = chosen(options)?;
    if options.list {
        for load in &loads {
            println!("{:<16} {}", load.name, load.told());
        }
        println!("\n{}", program::names().join(", "));
        return Ok(());
    }
    let report = match &options.from {
        Some(file) => {
            let text = fs::read(file).map_err(|reason| told(file, "read", &reason))?;
            let report: Report = serde_json::from_slice(&text)
                .map_err(|reason| format!("{} has no figures: {reason}", file.display()))?;
            report.outcomes.iter().for_each(|outcome| println!("{}", table::told(outcome)));
            report
        }
        None => measured(options, &loads)?,
    };
    if !report.flushes.is_empty() {
        println!("{}", table::flushed(&report));
    }
    save(options.json.as_deref(), || json(&report))?;
    save(options.markdown.as_deref(), || table::markdown(&report))?;
    save(options.plot.as_deref(), || plot::drawn(&report))
}

fn json(report: &Report) -> String {
    serde_json::to_string_pretty(report).expect("figures can be written")
}

fn told(file: &Path, what: &str, reason: &std::io::Error) -> String {
    format!("{} cannot be {what}: {reason}", file.display())
}

fn save(file: Option<&Path>, text: impl FnOnce() -> String) -> Result<(), String> {
    let Some(file) = file else {
        return Ok(());
    };
    fs::write(file, text()).map_err(|reason| told(file, "written", &reason))
}

/// The workloads that were asked for.
fn chosen(options: &Options) -> Result<Vec<Load>, String> {
    let all = load::all();
    let names: Vec<&str> = all.iter().map(|load| load.name).collect();
    let known = program::names();
    for (asked, names) in [(&options.workload, &names), (&options.peer, &known)] {
        if let Some(other) = asked.iter().find(|asked| !names.contains(&asked.as_str())) {
            return Err(format!("there is no `{other}`; there are {}", names.join(", ")));
        }
    }
    let asked = &options.workload;
    let wanted = |load: &Load| asked.is_empty() || asked.iter().any(|name| name == load.name);
    Ok(all.into_iter().filter(wanted).collect())
}

fn measured(options: &Options, loads: &[Load]) -> Result<Report, String> {
    let below = options.dir.clone().unwrap_or_else(program::installed);
    fs::create_dir_all(&below).map_err(|reason| told(&below, "made", &reason))?;
    let dir = tempfile::Builder::new().prefix("work-").tempdir_in(&below);
    let dir = dir.map_err(|reason| told(&below, "used", &reason))?;
    let mut names = options.peer.clone();
    if !names.is_empty() && !names.iter().any(|name| name == "floor") {
        names.push("floor".into());
    }
    let (there, mut missing) = program::found(&names);
    let mut programs: Vec<Program> = Vec::new();
    for program in there {
        match rounds::checked(&program, &dir.path().join("check")) {
            Ok(graphs) => {
                let Program { name, version, .. } = &program;
                println!("{name:<11} {version}; right: {}", graphs.join(", "));
                programs.push(program);
            }
            Err(reason) => missing.push((program.name.to_owned(), reason)),
        }
    }
    for (name, reason) in &missing {
        println!("{name:<11} not measured: {reason}");
    }
    println!();
    let mut report = Report {
        machine: Machine::this(dir.path()),
        versions: versions(&programs),
        missing,
        outcomes: Vec::new(),
        flushes: Vec::new(),
    };
    if options.check {
        return Ok(report);
    }
    if !programs.iter().any(|program| program.name == "floor") {
        return Err("the floor does not run".into());
    }
    for load in loads {
        let outcome = rounds::outcome(load, &programs, dir.path(), options.rounds.max(1));
        println!("{}", table::told(&outcome));
        report.outcomes.push(outcome);
        // What is known is kept, whatever becomes of the rest.
        save(options.json.as_deref(), || json(&report))?;
    }
    if !options.no_flushes {
        report.flushes = flush::counted(&programs, &dir.path().join("flush"));
    }
    Ok(report)
}

fn versions(programs: &[Program]) -> Vec<(String, String)> {
    let version = |program: &Program| (program.name.to_owned(), program.version.clone());
    programs.iter().map(version).collect()
}
