//! Does it help? `cargo bench --bench plants` lets each strategy try itself in the same worlds and
//! prints what came of it: `-- --seeds N` says in how many (2000), `--markdown` prints the tables of
//! docs/does-it-help.md, `--svg FILE` draws its picture, `--ends` tells by which rules runs ended,
//! `--attempts N` gives each run another budget (12).

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use std::process::ExitCode;

#[path = "../tests/plants/mod.rs"]
mod plants;
#[path = "plants/svg.rs"]
mod svg;
#[path = "plants/table.rs"]
mod table;

use plants::{ATTEMPTS, Plans, Plant, Score, Strategy, World};

/// How many worlds of each plant.
const SEEDS: u64 = 2_000;

/// What each strategy made of a plant, in the order of [`Strategy::ALL`].
struct Row {
    plant: Plant,
    scores: Vec<Score>,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        let at = words.iter().position(|word| word == name)?;
        words.get(at + 1)
    };
    let has = |name: &str| words.iter().any(|word| word == name);
    let seeds = value("--seeds").and_then(|seeds| seeds.parse().ok());
    let seeds = seeds.unwrap_or(SEEDS);
    let attempts = value("--attempts").and_then(|attempts| attempts.parse().ok());
    let extent = (seeds, attempts.unwrap_or(ATTEMPTS));
    let rows = rows(extent, &Strategy::ALL);
    for table in table::all(&rows) {
        println!("{}", table.told(has("--markdown")));
    }
    println!("{}", asides(extent));
    if has("--ends") {
        ends(&rows);
    }
    if let Some(file) = value("--svg")
        && let Err(reason) = std::fs::write(file, svg::drawn(&rows))
    {
        println!("{file} cannot be written: {reason}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Tries every plant, two at a time, in so many worlds and with so many attempts.
fn rows((seeds, attempts): (u64, u32), strategies: &[Strategy]) -> Vec<Row> {
    let row = |plant: Plant| {
        let mut plans = Plans::new(attempts);
        let mut scores = vec![Score::default(); strategies.len()];
        for seed in 0..seeds {
            let world = World::new(plant, seed);
            for (score, strategy) in scores.iter_mut().zip(strategies) {
                score.add(&plans.run(&world, *strategy));
            }
        }
        Row { plant, scores }
    };
    let half = Plant::ALL.len() / 2;
    let rows = |of: &[Plant]| of.iter().copied().map(row).collect::<Vec<Row>>();
    std::thread::scope(|scope| {
        let first = scope.spawn(|| rows(&Plant::ALL[..half]));
        let second = rows(&Plant::ALL[half..]);
        let mut all = first.join().expect("nobody panics");
        all.extend(second);
        all
    })
}

/// What is accepted without `strict` though it is not verified, and what is verified where a tool
/// with another parameter has another name.
fn asides(extent: (u64, u32)) -> String {
    let rows = rows(extent, &[Strategy::Loose, Strategy::Named]);
    let line = |row: &Row| {
        let accepted = f64::from(row.scores[0].accepted) / f64::from(row.scores[0].runs.max(1));
        let (accepted, named) = (accepted * 100.0, row.scores[1].share() * 100.0);
        format!("{:<32}{accepted:>14.1}{named:>14.1}", row.plant.name())
    };
    let lines: Vec<String> = rows.iter().map(line).collect();
    let [loose, named] = [Strategy::Loose, Strategy::Named].map(Strategy::name);
    format!("accepted within δ and not verified ({loose}); verified ({named})\n{}", lines.join("\n"))
}

/// Tells how runs ended.
fn ends(rows: &[Row]) {
    for row in rows {
        for (strategy, score) in Strategy::ALL.iter().zip(&row.scores) {
            let (plant, strategy) = (row.plant.name(), strategy.name());
            println!("{plant}: {strategy}: {:?}", score.ends);
        }
    }
}
