//! The laws, in more than a thousand worlds; `cargo bench --bench simulate` looks at more.

use crate::sim::{Coverage, Faults, LAWS, Options, faults::Fault, simulate, smaller};

/// How many worlds a change is tried in.
const SEEDS: u64 = 1500;

fn options(seed: u64) -> Options {
    Options { seed, steps: 8, faults: Faults::ALL, trace: false }
}

#[test]
fn every_law_holds_in_every_world() {
    let mut coverage = Coverage::default();
    for seed in 0..SEEDS {
        let told = simulate(&options(seed));
        if let Some(broken) = told.broken {
            match smaller(options(seed)) {
                Some(failure) => panic!("{failure}"),
                None => panic!("seed {seed}: {broken:?}, and not again"),
            }
        }
        coverage.add(&told.coverage);
    }
    assert_eq!(coverage.gaps(), [""; 0], "the worlds do not come to that any more");
}

/// Worlds that broke a law once, each with how many steps its plans have and the troubles that it does without.
#[test]
fn a_world_that_broke_a_law_keeps_it_now() {
    let without = [Fault::Crash, Fault::Store, Fault::Cancel, Fault::Meddle];
    let calm = without.into_iter().fold(Faults::ALL, Faults::without);
    for (seed, faults) in [
        (38_451, calm),
        (38_451, Faults::ALL),
        (40_937, Faults::ALL),
        (52_276, Faults::ALL),
        (56_637, Faults::ALL),
        (61_902, Faults::ALL),
        (89_572, Faults::ALL),
        (114_213, Faults::ALL),
        (133_239, Faults::ALL),
        (686_281, Faults::ALL),
        (857_130, Faults::ALL),
        (893_401, Faults::ALL),
    ] {
        let told = simulate(&Options { faults, ..options(seed) });
        assert!(told.broken.is_none(), "seed {seed}: {:?}", told.broken);
    }
}

#[test]
fn a_seed_always_tells_the_same_story() {
    for seed in 0..20 {
        let story = || simulate(&Options { trace: true, ..options(seed) }).trace;
        assert_eq!(story(), story());
    }
}

#[test]
fn the_documents_list_the_laws() {
    let path = "docs/guarantees.md";
    let text = std::fs::read_to_string(path).unwrap();
    let (begin, end) = ("| law | statement |\n|---|---|\n", "\n\n");
    let at = text.find(begin).expect("there is a table of the laws") + begin.len();
    let length = text[at..].find(end).unwrap() + 1;
    let row = |law: &crate::sim::laws::Law| format!("| `{}` | {} |\n", law.name, law.says);
    let rows: String = LAWS.iter().map(row).collect();
    #[expect(clippy::disallowed_methods, reason = "a switch for the person who runs the tests")]
    if std::env::var("WF_UPDATE").is_ok() {
        let anew = format!("{}{rows}{}", &text[..at], &text[at + length..]);
        std::fs::write(path, anew).unwrap();
        return;
    }
    assert_eq!(&text[at..at + length], rows, "{path} is out of date; WF_UPDATE=1 writes it anew");
}
