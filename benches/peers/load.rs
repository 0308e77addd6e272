//! The workloads: graphs of commands, and what is done with them.

use std::fmt::Write as _;

/// What is done with a graph, and from which state.
#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    /// It is run, and nothing is there from before.
    New,
    /// It is run again where it was run before.
    Again,
    /// It is read and judged; nothing runs.
    Check,
    /// It is run, and what its steps print is kept.
    Logs,
    /// It was run until its middle step failed, and goes on.
    Resume,
    /// It was run to its end, and there is nothing to do.
    Nothing,
    /// It is run by so many processes at once, in one folder.
    Many(usize),
}

/// What the steps do. Commands have no `$`, quotes or braces: they stand in every spec as they are.
#[derive(Clone, Copy)]
pub enum Work {
    /// Every step runs this.
    Same(&'static str),
    /// Every step writes its number to the end of the file `order`.
    Mark,
    /// The step in the middle fails until there is a file `go`; the others do nothing.
    Half,
}

/// A workload.
#[derive(Clone)]
pub struct Load {
    /// What it is called.
    pub name: &'static str,
    /// For each step, the steps that it needs.
    pub needs: Vec<Vec<usize>>,
    /// What the steps do.
    pub work: Work,
    /// How many run at once.
    pub jobs: usize,
    /// What is done with it.
    pub kind: Kind,
}

impl Load {
    /// The command of a step.
    pub fn command(&self, step: usize) -> String {
        match self.work {
            Work::Same(command) => command.into(),
            Work::Mark => format!("echo {step} >> order"),
            Work::Half if step == self.needs.len() / 2 => "test -f go".into(),
            Work::Half => "true".into(),
        }
    }

    /// The names of the steps that a step needs, with a word before and between them.
    pub fn names(&self, step: usize, before: &str, between: &str) -> String {
        let names = self.needs[step].iter().map(|need| format!("{before}{need}"));
        names.collect::<Vec<String>>().join(between)
    }

    /// Whether no step needs another.
    pub fn is_fan(&self) -> bool {
        self.needs.iter().all(Vec::is_empty)
    }

    /// Whether each step needs the one before it alone.
    pub fn is_chain(&self) -> bool {
        let mut needs = self.needs.iter().enumerate();
        needs.all(|(at, needs)| at == 0 && needs.is_empty() || at > 0 && needs == &[at - 1])
    }

    /// Whether what is done already is told by the files that steps leave.
    pub fn stamps(&self) -> bool {
        matches!(self.kind, Kind::Resume | Kind::Nothing)
    }

    /// How many steps a measurement runs.
    pub fn steps(&self) -> usize {
        match self.kind {
            Kind::Resume => self.needs.len() - self.needs.len() / 2,
            Kind::Many(times) => self.needs.len() * times,
            _ => self.needs.len(),
        }
    }

    /// The list that the floor reads, from this step on: without it, those before count as done.
    pub fn list(&self, from: usize) -> String {
        let mut text = String::new();
        for step in from..self.needs.len() {
            let needs = self.needs[step].iter().filter(|need| **need >= from);
            let needs: Vec<String> = needs.map(|need| (need - from).to_string()).collect();
            let _ = writeln!(text, "{}\t{}", needs.join(" "), self.command(step));
        }
        text
    }

    /// What it is, in words.
    pub fn told(&self) -> String {
        let (count, jobs) = (self.needs.len(), self.jobs);
        let what = match self.kind {
            Kind::New => "new state",
            Kind::Again => "existing state",
            Kind::Check => "read and judged only",
            Kind::Logs => "each prints 1 MB, which is kept",
            Kind::Resume => "the middle one had failed; goes on from there",
            Kind::Nothing => "all done already",
            Kind::Many(times) => return format!("{times} runs at once of {count} steps each"),
        };
        let command = match (self.work, self.kind) {
            (Work::Same(command), Kind::New) => format!(" of `{command}`"),
            _ => String::new(),
        };
        let steps = if count == 1 { "step" } else { "steps" };
        format!("{count} {steps}{command}, {jobs} at once; {what}")
    }
}

fn chain(count: usize) -> Vec<Vec<usize>> {
    let need = |at: usize| at.checked_sub(1).into_iter().collect();
    (0..count).map(need).collect()
}

fn fan(count: usize) -> Vec<Vec<usize>> {
    vec![Vec::new(); count]
}

/// Layers of so many steps, each of which needs three of the layer before.
fn layers(count: usize, wide: usize) -> Vec<Vec<usize>> {
    let need = |at: usize| match (at / wide).checked_sub(1) {
        None => vec![],
        Some(layer) => {
            let of = |k: usize| layer * wide + (at * 7 + k * 13) % wide;
            (0..3).map(of).collect()
        }
    };
    (0..count).map(need).collect()
}

fn load(name: &'static str, needs: Vec<Vec<usize>>, jobs: usize, kind: Kind) -> Load {
    let work = match kind {
        Kind::Logs => Work::Same("cat mb"),
        Kind::Resume => Work::Half,
        _ => Work::Same("true"),
    };
    Load { name, needs, work, jobs, kind }
}

/// All workloads, in the order in which they are measured.
pub fn all() -> Vec<Load> {
    let program =
        Load { work: Work::Same("/bin/true"), ..load("layered-program", layers(1000, 40), 2, Kind::New) };
    vec![
        load("single-new", fan(1), 2, Kind::New),
        load("single", fan(1), 2, Kind::Again),
        load("chain100", chain(100), 2, Kind::New),
        load("chain1000", chain(1000), 2, Kind::New),
        load("fan100", fan(100), 2, Kind::New),
        load("fan1000", fan(1000), 2, Kind::New),
        load("fan1000-p8", fan(1000), 8, Kind::New),
        load("fan10000", fan(10_000), 2, Kind::New),
        load("fan10000-p8", fan(10_000), 8, Kind::New),
        load("layered", layers(1000, 40), 2, Kind::New),
        program,
        load("check10k", layers(10_000, 40), 2, Kind::Check),
        load("check100k", layers(100_000, 40), 2, Kind::Check),
        load("logs", fan(1000), 2, Kind::Logs),
        load("resume", chain(1000), 2, Kind::Resume),
        load("nothing", chain(1000), 2, Kind::Nothing),
        load("many", chain(5), 2, Kind::Many(200)),
    ]
}

/// Small graphs, by which is seen that a program runs each step once and in order.
pub fn marks() -> Vec<Load> {
    let mark = |name, needs| Load { work: Work::Mark, ..load(name, needs, 2, Kind::New) };
    vec![mark("chain10", chain(10)), mark("fan10", fan(10)), mark("layers30", layers(30, 6))]
}

/// What flushes are counted on: for each, a name and the number of steps beyond a single one.
pub fn flushed() -> Vec<Load> {
    vec![
        load("single", fan(1), 2, Kind::New),
        load("chain50", chain(50), 2, Kind::New),
        load("fan200", fan(200), 2, Kind::New),
        load("fan200-p8", fan(200), 8, Kind::New),
    ]
}
