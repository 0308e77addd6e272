//! Measures programs in turns: each right after the base, in every round again.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use super::{
    load::{Kind, Load, marks},
    measure::{Figures, measured},
    program::{Job, Program},
    report::{Outcome, Row},
};

/// A program that has had so many seconds for a workload is not measured again.
const ENOUGH: f64 = 60.0;

/// A program in its folder, with all that its spec consists of.
pub struct Place {
    dir: PathBuf,
    job: Job,
    spec: BTreeSet<OsString>,
    kind: Kind,
    fresh: bool,
    used: f64,
}

impl Place {
    /// Makes the folder; or says why the program cannot do that.
    pub fn new(program: &Program, load: &Load, dir: &Path) -> Result<Place, &'static str> {
        let dir = dir.join(load.name).join(program.name);
        let mut job = program.prepare(load, &dir)?;
        if let Kind::Many(times) = load.kind {
            let own = std::env::current_exe().expect("the benchmark knows its file");
            let many = [&own.to_string_lossy(), "many", &times.to_string()].map(str::to_owned);
            job.argv = many.into_iter().chain(job.argv).collect();
        }
        Ok(Place { spec: entries(&dir), dir, job, kind: load.kind, fresh: true, used: 0.0 })
    }

    /// Measures once, or says what was wrong with what comes before that.
    pub fn measured(&mut self) -> Figures {
        let first = std::mem::replace(&mut self.fresh, false);
        match self.kind {
            Kind::New | Kind::Check | Kind::Logs | Kind::Many(_) => self.cleared(),
            Kind::Again | Kind::Nothing => {
                if first && let Err(bad) = self.before(true) {
                    return bad;
                }
            }
            Kind::Resume => {
                self.cleared();
                if let Err(bad) = self.before(false) {
                    return bad;
                }
                fs::write(self.dir.join("go"), "").expect("a file can be made");
            }
        }
        let argv = match self.kind {
            Kind::Resume | Kind::Nothing => &self.job.again,
            _ => &self.job.argv,
        };
        let figures = measured(argv, &self.dir);
        self.used += figures.wall;
        figures
    }

    /// What happens before a measurement is to succeed, or to fail.
    fn before(&mut self, well: bool) -> Result<(), Figures> {
        let mut figures = measured(&self.job.argv, &self.dir);
        self.used += figures.wall;
        if (figures.code == Some(0)) == well {
            return Ok(());
        }
        let unasked = "what was to fail did not".to_owned();
        figures.error = Some(figures.error.unwrap_or(unasked));
        Err(figures)
    }

    /// Removes all but the spec.
    fn cleared(&self) {
        for name in entries(&self.dir).difference(&self.spec) {
            let path = self.dir.join(name);
            let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            removed.expect("what a program left can be removed");
        }
    }

    /// Whether the state is sound, if the program can tell.
    fn sound(&self) -> bool {
        let Some(argv) = &self.job.sound else {
            return true;
        };
        measured(argv, &self.dir).code == Some(0)
    }

    /// What is measured.
    pub fn argv(&self) -> &[String] {
        &self.job.argv
    }

    /// Where.
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

fn entries(dir: &Path) -> BTreeSet<OsString> {
    let entries = fs::read_dir(dir).expect("the folder can be read").flatten();
    entries.map(|entry| entry.file_name()).collect()
}

/// Measures a workload so many times with each program.
pub fn outcome(load: &Load, programs: &[Program], dir: &Path, rounds: usize) -> Outcome {
    let mut without = Vec::new();
    let mut places = Vec::new();
    for program in programs {
        match Place::new(program, load, dir) {
            Ok(place) => places.push((program.name, place)),
            Err(reason) => without.push((program.name.to_owned(), reason.to_owned())),
        }
    }
    // Where logs are kept, the least is a shell that writes them into files.
    let redirect = load.kind == Kind::Logs && places.iter().any(|(name, _)| *name == "xargs");
    let base = if redirect { "xargs" } else { "floor" };
    let at = places.iter().position(|(name, _)| *name == base);
    let (_, mut least) = places.remove(at.expect("the floor runs everything"));
    let row = |name: &str| Row { program: name.to_owned(), pairs: Vec::new(), error: None };
    let mut rows: Vec<Row> = places.iter().map(|(name, _)| row(name)).collect();
    for _ in 0..rounds {
        for (row, (_, place)) in rows.iter_mut().zip(&mut places) {
            if row.error.is_some() || place.used > ENOUGH {
                continue;
            }
            let before = least.measured();
            assert!(before.error.is_none(), "the base fails: {:?}", before.error);
            let own = place.measured();
            row.error.clone_from(&own.error);
            row.pairs.push((before, own));
        }
    }
    for (row, (_, place)) in rows.iter_mut().zip(&places) {
        if row.error.is_none() && !place.sound() {
            row.error = Some("its state is not sound afterwards".into());
        }
    }
    let _ = fs::remove_dir_all(dir.join(load.name));
    Outcome {
        load: load.name.to_owned(),
        told: load.told(),
        steps: load.steps(),
        base: base.to_owned(),
        rows,
        without,
    }
}

/// Whether a program runs each step of small graphs once, and none before those it needs: of which
/// graphs that was seen, or what it did wrong.
pub fn checked(program: &Program, dir: &Path) -> Result<Vec<&'static str>, String> {
    let mut seen = Vec::new();
    for load in marks() {
        let Ok(mut place) = Place::new(program, &load, dir) else {
            continue;
        };
        seen.push(load.name);
        let found = place.measured();
        if let Some(error) = found.error {
            return Err(format!("{} fails: {error}", load.name));
        }
        let order = fs::read_to_string(place.dir.join("order")).unwrap_or_default();
        let order: Vec<usize> = order.lines().filter_map(|line| line.parse().ok()).collect();
        legal(&load, &order).map_err(|reason| format!("{}: {reason}", load.name))?;
    }
    let _ = fs::remove_dir_all(dir);
    Ok(seen)
}

/// Whether this is an order in which the steps could run.
fn legal(load: &Load, order: &[usize]) -> Result<(), String> {
    let mut done = vec![false; load.needs.len()];
    for step in order {
        let needs = load.needs.get(*step).ok_or("a step that there is not")?;
        if let Some(need) = needs.iter().find(|need| !done[**need]) {
            return Err(format!("step {step} ran before {need}, which it needs"));
        }
        if std::mem::replace(&mut done[*step], true) {
            return Err(format!("step {step} ran twice"));
        }
    }
    match done.iter().position(|done| !done) {
        Some(step) => Err(format!("step {step} did not run")),
        None => Ok(()),
    }
}
