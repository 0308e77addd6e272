//! The program is killed at every point at which it makes something durable, started again, and
//! must end as if nothing had happened.
//!
//! `WF_CONVERGE=1` kills at every point instead of a sample, and prints the table:
//! `WF_CONVERGE=1 cargo test --test it -- converge --nocapture`.

mod generated;
mod plans;
mod trial;

use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use plans::Scene;
use trial::{End, Role, points, trial, uninterrupted};

/// How many points of a scene are tried where nobody asks for all.
const SAMPLE: usize = 5;

/// What came of the trials of one scene.
#[derive(Default)]
struct Row {
    points: usize,
    kills: usize,
    wrong: Vec<String>,
}

/// A kill that is to be tried.
struct Planned {
    scene: usize,
    role: Role,
    at: usize,
}

#[test]
fn whatever_is_killed_ends_as_if_it_had_not_been() {
    let scenes = plans::scenes();
    let ends: Vec<End> = scenes.iter().map(uninterrupted).collect();
    let mut rows: BTreeMap<(usize, Role), Row> = BTreeMap::new();
    let mut planned = Vec::new();
    for (scene, what) in scenes.iter().enumerate() {
        for role in [Role::Engine, Role::Keeper] {
            let points = points(what, role).len();
            let every = if all() { 1 } else { points.div_ceil(SAMPLE) };
            // Different scenes begin their sample at different points.
            let first = 1 + scene % every.max(1);
            let kills = (first..=points).step_by(every.max(1));
            let row = Row { points, ..Row::default() };
            rows.insert((scene, role), row);
            planned.extend(kills.map(|at| Planned { scene, role, at }));
        }
    }
    let rows = Mutex::new(rows);
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(kill) = planned.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (scene, end) = (&scenes[kill.scene], &ends[kill.scene]);
                    let done = trial(scene, kill.role, kill.at, end);
                    let mut rows = rows.lock().unwrap();
                    let row = rows.get_mut(&(kill.scene, kill.role)).unwrap();
                    row.kills += 1;
                    row.wrong.extend(done.err());
                }
            });
        }
    });
    let rows = rows.into_inner().unwrap();
    let table = table(&scenes, &rows);
    println!("{table}");
    let wrong: Vec<&String> = rows.values().flat_map(|row| &row.wrong).collect();
    for wrong in wrong.iter().take(20) {
        println!("{wrong}\n");
    }
    assert!(wrong.is_empty(), "{table}");
}

/// Whether every point is tried.
fn all() -> bool {
    #[expect(clippy::disallowed_methods, reason = "the size is chosen by hand")]
    std::env::var("WF_CONVERGE").is_ok()
}

fn table(scenes: &[Scene], rows: &BTreeMap<(usize, Role), Row>) -> String {
    let mut text = String::from("scene               killed   points  kills  wrong\n");
    for ((scene, role), row) in rows {
        let name = scenes[*scene].name;
        let (points, kills, wrong) = (row.points, row.kills, row.wrong.len());
        text += &format!("{name:<20}{:<8}{points:>7}{kills:>7}{wrong:>7}\n", role.word());
    }
    text
}
