//! What is left of an agent after a crash of the engine, or the loss of its host.

use wf_core::machine::Effect;

use super::{
    agents::{answers, asked, briefed, gated, talking, tool, tool_ended, uses},
    answers::guarded,
    killed::{Killed, attempt},
};

#[test]
fn a_resumed_agent_asks_for_exactly_what_was_open() {
    asks_for_exactly_what_was_open(Killed::resume);
}

#[test]
fn an_agent_whose_host_is_lost_asks_for_exactly_what_was_open() {
    asks_for_exactly_what_was_open(|run| run.resume_agent(&attempt("a", 1)));
}

fn asks_for_exactly_what_was_open(lose: impl Fn(&mut Killed) -> Vec<Effect>) {
    let resumed = |run: &mut Killed| {
        let known = run.events.len();
        assert_eq!(asked(&lose(run)), ["watch"]);
        let again = asked(&run.feed(briefed("a")));
        assert_eq!(run.events.len(), known, "nothing is decided anew");
        again
    };
    let mut run = talking(guarded);
    assert_eq!(resumed(&mut run), ["model 1"]);
    run.feed(uses(1, &["read", "read"]));
    assert_eq!(resumed(&mut run), ["gates of 1.0"]);
    run.feed(gated(tool(1, 0), None));
    assert_eq!(resumed(&mut run), ["tool 1.0"]);
    run.feed(tool_ended(1, 0));
    assert_eq!(resumed(&mut run), ["gates of 1.1"]);
    run.feed(gated(tool(1, 1), Some("no")));
    assert_eq!(resumed(&mut run), ["model 2, 1 refused: gate `guard` blocked the call: no"]);
    run.feed(answers(2, Some("wrong")));
    assert_eq!(resumed(&mut run), ["model 3, repairs: wrong"]);
    run.feed(answers(3, None));
    assert_eq!(resumed(&mut run), ["end: done"]);
}
