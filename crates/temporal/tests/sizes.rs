//! Plans of many steps: a run goes through several histories, and what each part of it keeps stays within its bounds.

use std::fmt::Write as _;

use temporalio_common::protos::temporal::api::history::v1::History;

use crate::{farm::Farm, histories::histories};

/// The steps in a layer of the graph.
const LAYER: usize = 50;

/// The longest history that a server of production keeps without a warning, in events.
const MOST_EVENTS: usize = 10_240;

/// The largest message that the server takes, in bytes.
const MOST_BYTES: usize = 2 * 1024 * 1024;

/// A plan of some steps: a half of them items of one step, a half in layers, of which each step needs two of the layer above.
fn many(steps: usize) -> String {
    let items: Vec<String> = (0..steps / 2).map(|item| item.to_string()).collect();
    let mut plan = format!(
        "policy: {{max_parallel: 100}}\nsteps:\n  - {{id: item, for_each: [{}], run: \"true\"}}",
        items.join(", ")
    );
    for number in 0..steps - items.len() {
        let (layer, place) = (number / LAYER, number % LAYER);
        let above = match layer.checked_sub(1) {
            None => String::new(),
            Some(above) => format!("depends_on: [l{above}_{place}, l{above}_{}], ", (place + 1) % LAYER),
        };
        write!(plan, "\n  - {{id: l{layer}_{place}, {above}run: \"true\"}}").unwrap();
    }
    plan
}

/// Returns the largest event of a history, in bytes.
fn largest(history: &History) -> usize {
    history.events.iter().map(|event| serde_json::to_vec(event).unwrap().len()).max().unwrap()
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_run_of_thousands_of_steps_goes_through_several_histories() {
    #[expect(clippy::disallowed_methods, reason = "it says how large the run is")]
    let steps = std::env::var("WF_TEST_STEPS").map_or(3_000, |steps| steps.parse().unwrap());
    let farm = Farm::new(2);
    farm.plan("many", &many(steps));
    farm.wf(&["run", "-q", "--on", "farm", "many.md"]).exits(0);
    let run = farm.run();
    assert_eq!(farm.count(&run, "attempt_ended", None), steps);
    farm.wf(&["show", &run]).exits(0).says("succeeded");
    farm.wf(&["audit", "verify"]).exits(0).says("valid");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let histories = runtime.block_on(histories(&farm, &run));
    let events: Vec<usize> = histories.iter().map(|history| history.events.len()).collect();
    let bytes = histories.iter().map(largest).max().unwrap();
    let memory = ["w1", "w2"].map(|worker| farm.memory(worker) >> 10);
    let stored = walkdir::WalkDir::new(farm.path("objects"))
        .into_iter()
        .map(|entry| entry.unwrap().metadata().unwrap());
    let state = stored.map(|meta| meta.len()).max().unwrap();
    eprintln!(
        "events of each history: {events:?}; the largest has {bytes} bytes, the largest object {state}; workers: {memory:?} MiB"
    );
    assert!(events.len() > 1 && events.iter().all(|count| *count < MOST_EVENTS), "{events:?}");
    assert!(bytes < MOST_BYTES, "an event of {bytes} bytes");
    assert!(memory.iter().all(|mib| *mib < 300), "{memory:?} MiB");
}
