//! The timeline of runs of every kind: none, one step, retries, many steps, a run that goes on, a clock that went back.
//!
//! The places of bars are compared as numbers, since a picture that looks right may still lie about the times.

use super::{
    BarKind, CheckMark, MAX_TIMELINE_ROWS, RunTimeline, TimelineBar, TimelineRange, TimelineRow, choose_rows,
    timeline_html,
};
use std::time::Duration;
use wf_base::time::Moment;

fn at(millis: i64) -> Moment {
    Moment::from_millis(1_800_000_000_000 + millis)
}

fn bar(kind: BarKind, from: i64, until: Option<i64>, state: &str) -> TimelineBar {
    TimelineBar { kind, from: at(from), until: until.map(at), state: state.into(), text: "attempt 1".into() }
}

fn row(name: &str, bars: Vec<TimelineBar>) -> TimelineRow {
    TimelineRow {
        name: name.into(),
        link: format!("/runs/1/steps/{name}"),
        state: "verified".into(),
        started: bars.first().map(|bar| bar.from),
        bars,
        ..TimelineRow::default()
    }
}

fn drawn(ended: Option<i64>, now: i64, rows: Vec<TimelineRow>) -> String {
    timeline_html(&RunTimeline {
        begun: at(0),
        ended: ended.map(at),
        now: at(now),
        is_live: ended.is_none(),
        range: None,
        rows,
    })
    .unwrap()
}

#[test]
fn a_run_without_steps_has_no_picture() {
    let empty =
        RunTimeline { begun: at(0), ended: None, now: at(5), is_live: true, range: None, rows: vec![] };
    assert_eq!(timeline_html(&empty), None);
}

#[test]
fn a_step_is_a_bar_with_its_times_that_leads_to_it() {
    let mut one = row("build<b>", vec![bar(BarKind::Running, 250, Some(750), "succeeded")]);
    one.marks = vec![CheckMark { at: at(1000), ruling: "pass".into(), name: "sum".into() }];
    one.is_critical = true;
    let picture = drawn(Some(1000), 5000, vec![one]);
    assert!(picture.contains("<rect x=\"25.00%\" y=\"5.0\" width=\"50.00%\" height=\"16.0\""), "{picture}");
    assert!(
        picture.contains("build&lt;b&gt;: attempt 1, running for 0.5s from 2027-01-15 08:00:00"),
        "{picture}"
    );
    assert!(picture.contains("<a href=\"/runs/1/steps/build&lt;b&gt;\" class=\"row\""), "{picture}");
    assert!(picture.contains("check sum: pass") && picture.contains("class=\"critical\""), "{picture}");
    assert!(picture.contains("data-state=\"verified\"") && picture.contains("✓ verified"), "{picture}");
    assert!(
        !picture.contains("class=\"now\"") && !picture.contains("style") && !picture.contains("data-now"),
        "{picture}"
    );
}

#[test]
fn attempts_are_segments_and_those_that_failed_have_a_cross() {
    let bars = vec![
        bar(BarKind::Queued, 0, Some(100), ""),
        bar(BarKind::Running, 100, Some(400), "failed"),
        bar(BarKind::Verifying, 400, Some(500), ""),
        bar(BarKind::Running, 500, Some(1000), "succeeded"),
    ];
    let picture = drawn(Some(1000), 1000, vec![row("build", bars)]);
    assert_eq!(picture.matches("<rect ").count(), 4, "{picture}");
    assert_eq!(picture.matches("class=\"cross\"").count(), 1, "{picture}");
    assert!(
        picture.contains("fill=\"url(#hatch)\"") && picture.contains("fill=\"url(#stripe)\""),
        "{picture}"
    );
}

#[test]
fn what_goes_on_reaches_to_now() {
    let picture = drawn(None, 2000, vec![row("build", vec![bar(BarKind::Running, 1000, None, "running")])]);
    assert!(picture.contains("<rect data-open x=\"50.00%\" y=\"5.0\" width=\"50.00%\""), "{picture}");
    assert!(picture.contains("<div class=\"timeline\" data-length=\"2000\" data-now=\"2000\">"), "{picture}");
    assert!(
        picture.contains("class=\"now\" x1=\"100.00%\"") && picture.contains("running since"),
        "{picture}"
    );
}

#[test]
fn no_time_and_a_clock_that_went_back_make_a_narrow_bar() {
    let none = drawn(Some(0), 0, vec![row("a", vec![bar(BarKind::Running, 0, Some(0), "succeeded")])]);
    assert!(none.contains("width=\"0.25%\""), "{none}");
    let bars = vec![
        bar(BarKind::Running, 500, Some(-500), "succeeded"),
        bar(BarKind::Running, -500, Some(500), "succeeded"),
    ];
    let back = drawn(Some(-500), -500, vec![row("a", bars)]);
    assert!(back.contains("<rect x=\"100.00%\" y=\"5.0\" width=\"0.25%\""), "{back}");
    assert!(back.contains("<rect x=\"0.00%\" y=\"5.0\" width=\"100.00%\""), "{back}");
}

#[test]
fn a_part_of_the_time_is_drawn_as_wide_as_all_of_it() {
    let bars = vec![
        bar(BarKind::Running, 0, Some(400), "failed"),
        bar(BarKind::Running, 500, Some(1000), "succeeded"),
        bar(BarKind::Running, 1500, Some(2000), "succeeded"),
    ];
    let mut one = row("build", bars);
    one.marks =
        [400, 1000].map(|time| CheckMark { at: at(time), ruling: "pass".into(), name: "sum".into() }).into();
    let (from, to) = (Duration::from_millis(750), Duration::from_millis(1250));
    let range = Some(TimelineRange { from, to });
    let timeline =
        RunTimeline { begun: at(0), ended: None, now: at(2000), is_live: true, range, rows: vec![one] };
    let picture = timeline_html(&timeline).unwrap();
    assert_eq!(picture.matches("<rect ").count(), 1, "{picture}");
    assert!(picture.contains("<rect x=\"0.00%\" y=\"5.0\" width=\"50.00%\""), "{picture}");
    assert_eq!(picture.matches("class=\"check\"").count(), 1, "{picture}");
    // The ticks are those of the run, and now is elsewhere.
    assert!(picture.contains(">800 ms</text>") && picture.contains(">1 s</text>"), "{picture}");
    assert!(!picture.contains(">0</text>") && !picture.contains("class=\"now\""), "{picture}");
}

#[test]
fn what_goes_on_ends_now_also_in_a_part_that_is_longer() {
    let rows = vec![row("build", vec![bar(BarKind::Running, 500, None, "running")])];
    let range = Some(TimelineRange { from: Duration::from_millis(500), to: Duration::from_millis(1500) });
    let timeline = RunTimeline { begun: at(0), ended: None, now: at(1000), is_live: true, range, rows };
    let picture = timeline_html(&timeline).unwrap();
    assert!(picture.contains("data-length=\"1000\" data-now=\"500\" data-part>"), "{picture}");
    assert!(picture.contains("<rect data-open x=\"0.00%\" y=\"5.0\" width=\"50.00%\""), "{picture}");
    assert!(picture.contains("class=\"now\" x1=\"50.00%\""), "{picture}");
}

#[test]
fn of_many_steps_those_that_failed_are_drawn_and_the_rest_is_counted() {
    let rows = (0..1000).map(|number| {
        let mut one = row(&format!("s{number}"), vec![bar(BarKind::Running, number, Some(number + 1), "")]);
        one.state = if number == 999 { "failed".into() } else { "verified".into() };
        one
    });
    let choice = choose_rows(rows.chain([row("unbegun", vec![])]).collect(), MAX_TIMELINE_ROWS);
    assert_eq!(choice.rows.len(), MAX_TIMELINE_ROWS);
    let names: Vec<&str> = choice.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!((names[0], names[198], names[199]), ("s0", "s198", "s999"));
    assert_eq!(choice.others_text().unwrap(), "801 more: 801 verified");
    let all =
        choose_rows(vec![row("unbegun", vec![]), row("a", vec![bar(BarKind::Running, 1, None, "")])], 9);
    assert_eq!((all.rows[0].name.as_str(), all.others_text()), ("a", None));
    assert_eq!(
        choose_rows((0..1240).map(|_| row("a", vec![])).collect(), 0).others_text().unwrap(),
        "1,240 more: 1,240 verified"
    );
}
