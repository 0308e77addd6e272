//! Programs that try to get out of a sandbox. What they reach is seen from outside.
//!
//! Each is run as a check, as a step with `allow`, and, where it does no harm, without a sandbox: there
//! it must get through, or it would show nothing.

#![expect(clippy::print_stdout, reason = "the tables are for people")]

use std::collections::BTreeMap;

mod attempt;
mod control;
mod deputies;
mod files;
mod grants;
mod kernel;
mod limits;
mod odd_places;
mod outcome;
mod private;
mod processes;
mod programs;
mod repositories;
pub mod scene;
mod sockets;
mod traces;

use attempt::Attempt;
use outcome::{Mode, got_through};
use scene::{Scene, Who};

fn all() -> Vec<Attempt> {
    let lists =
        [files::ATTEMPTS, sockets::ATTEMPTS, processes::ATTEMPTS, kernel::ATTEMPTS, programs::ATTEMPTS];
    lists.concat()
}

/// What is tried and by whom, and the names of those that got through.
struct Tried {
    title: String,
    step: bool,
    names: Vec<&'static str>,
    through: BTreeMap<String, String>,
}

fn tried(who: Who, mode: Mode) -> Tried {
    let mut scene = Scene::new(who);
    let chosen = |attempt: &Attempt| match mode {
        Mode::Check => attempt.check,
        Mode::Step => attempt.step,
        Mode::Open => attempt.proven,
    };
    let mut attempts: Vec<Attempt> = all().into_iter().filter(chosen).collect();
    let not = outcome::compile(&scene, &attempts);
    for name in &not {
        println!("NOT TESTED: {name}: there is no C compiler (cc)");
    }
    attempts.retain(|attempt| !not.contains(attempt.name));
    if mode == Mode::Open {
        std::fs::write(scene.at("ws/wf.yaml"), "sandbox: off\n").unwrap();
    }
    scene.first_run();
    let through = got_through(&mut scene, mode, &attempts);
    let names = attempts.iter().map(|attempt| attempt.name).collect();
    Tried { title: format!("{mode:?} by {who:?}").to_lowercase(), step: mode == Mode::Step, names, through }
}

/// Whether something of these that is needed is missing, which is said aloud.
pub fn missing(program: &str, what: &str) -> bool {
    let path =
        ["/usr/local/bin", "/usr/bin", "/bin"].map(|folder| std::path::Path::new(folder).join(program));
    let found = path.iter().any(|path| path.exists());
    if !found {
        println!("NOT TESTED: {what}: there is no `{program}`");
        assert!(std::env::var_os("CI").is_none(), "{program} must be there in CI");
    }
    !found
}

fn print(tables: &[Tried]) {
    println!(
        "\n{:<30} {:<62} {}",
        "attempt",
        "tries to",
        tables.iter().map(|t| format!("{:<18}", t.title)).collect::<String>()
    );
    for attempt in all() {
        let cells = tables.iter().map(|table| {
            let was_tried = table.names.contains(&attempt.name);
            match (was_tried, table.through.contains_key(attempt.name), attempt.granted) {
                (false, ..) => "",
                (true, false, _) => "stopped",
                (true, true, Some(_)) => "granted",
                (true, true, None) => "GOT THROUGH",
            }
        });
        let cells: String = cells.map(|cell| format!("{cell:<18}")).collect();
        println!("{:<30} {:<62} {cells}", attempt.name, attempt.tries);
    }
    for table in tables {
        println!("{}: {} attempts, {} got through", table.title, table.names.len(), table.through.len());
    }
}

pub fn may_be_nobody() -> bool {
    if !rustix::process::geteuid().is_root() {
        println!("NOT TESTED: as root, and as another user: the tests run as an ordinary user");
        return false;
    }
    !missing("setpriv", "as an ordinary user")
}

#[test]
fn nobody_gets_out() {
    assert!(all().len() >= 40);
    if missing("python3", "nearly every attempt to get out of a sandbox") {
        return;
    }
    let mut tables = vec![tried(Who::Own, Mode::Step), tried(Who::Own, Mode::Check)];
    if may_be_nobody() {
        tables.extend([tried(Who::Nobody, Mode::Step), tried(Who::Nobody, Mode::Check)]);
    }
    print(&tables);
    let mut through = Vec::new();
    for table in &tables {
        let granted =
            |name: &str| table.step && all().iter().any(|one| one.name == name && one.granted.is_some());
        let wrong = table.through.iter().filter(|(name, _)| !granted(name));
        through.extend(wrong.map(|(name, reason)| format!("{}: {name}: {reason}", table.title)));
    }
    assert!(through.is_empty(), "these got through:\n{}", through.join("\n"));
}

#[test]
fn without_a_sandbox_everybody_gets_out() {
    if missing("python3", "whether the attempts are real") {
        return;
    }
    let tried = tried(Who::Own, Mode::Open);
    let not: Vec<_> = tried.names.iter().filter(|name| !tried.through.contains_key(**name)).collect();
    assert!(not.is_empty(), "these show nothing, they fail anyway: {not:?}");
}
