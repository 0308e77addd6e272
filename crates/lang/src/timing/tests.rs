use proptest::prelude::*;

use super::timing;
use crate::{InMemoryFiles, LoadedSpec, load};
use wf_base::{
    diag::{Code, Diagnostic},
    time::Moment,
};
use wf_model::schedule::GoalSchedule;

fn goal(lines: &str) -> LoadedSpec {
    let text = format!("---\nkind: goal\nid: g\n{lines}\nverify: [{{name: up, run: x}}]\n---\n");
    let files = [("goal.md".to_owned(), text.into_bytes())];
    load(&InMemoryFiles(files.into()), "goal.md")
}

/// The schedule, and its mistakes.
fn read(lines: &str) -> (Option<GoalSchedule>, Vec<Diagnostic>) {
    let loaded = goal(lines);
    assert_eq!(loaded.diagnostics, [], "{lines}");
    timing(loaded.goal().unwrap(), &loaded.sources[0])
}

fn right(lines: &str) -> GoalSchedule {
    let (timing, wrong) = read(lines);
    assert_eq!(wrong, [], "{lines}");
    timing.unwrap()
}

fn codes(lines: &str) -> Vec<Code> {
    read(lines).1.iter().map(|one| one.code).collect()
}

fn at(text: &str) -> Moment {
    Moment::parse(text).unwrap()
}

#[test]
fn a_day_that_bounds_is_a_whole_day_of_the_zone() {
    let lines = "schedule: \"@hourly\"\ntimezone: Europe/Berlin\n\
                 active_from: 2026-12-01\nactive_until: 2026-12-01";
    let timing = right(lines);
    assert_eq!(timing.active_from, Some(at("2026-11-30T23:00:00Z")));
    let all = timing.slots(at("2020-01-01T00:00:00Z"), at("2030-01-01T00:00:00Z"));
    assert_eq!(all.count(), 24);
}

/// In Santiago the clock goes from 24:00 of September 5 to 01:00 of the 6th.
#[test]
fn a_day_without_a_midnight_begins_when_the_clock_goes_forward() {
    let lines = "schedule: \"@hourly\"\ntimezone: America/Santiago\nactive_from: 2026-09-06";
    assert_eq!(right(lines).active_from, Some(at("2026-09-06T04:00:00Z")));
}

#[test]
fn times_are_of_the_zone_of_the_goal_and_instants_are_what_they_are() {
    let lines = |from: &str| format!("schedule: \"@daily\"\ntimezone: Asia/Tokyo\nactive_from: {from}");
    let from = |text: &str| right(&lines(text)).active_from.unwrap();
    assert_eq!(from("2026-12-01T09:00"), at("2026-12-01T00:00:00Z"));
    assert_eq!(from("2026-12-01T09:00:00Z"), at("2026-12-01T09:00:00Z"));
    assert_eq!(from("2026-12-01T09:00:00+01:00"), at("2026-12-01T08:00:00Z"));
}

#[test]
fn a_rule_has_its_own_zone_or_that_of_the_goal() {
    let timing = right(
        "schedule: [{at: 2026-12-01T09:00, timezone: Asia/Tokyo}, {at: 2026-12-01T09:00}]\n\
         timezone: Europe/Berlin",
    );
    let found: Vec<Moment> =
        timing.slots(at("2026-01-01T00:00:00Z"), at("2027-01-01T00:00:00Z")).map(|slot| slot.at).collect();
    assert_eq!(found, [at("2026-12-01T00:00:00Z"), at("2026-12-01T08:00:00Z")]);
}

#[test]
fn only_what_is_wider_than_the_slots_is_too_wide() {
    let splay = |time: &str| codes(&format!("schedule: \"0 6,18 * * *\"\nsplay: {time}"));
    assert_eq!(splay("12h"), []);
    assert_eq!(splay("12h1m"), [Code::SplayWide]);
    assert_eq!(codes("schedule: {at: 2026-12-01T09:00}\nsplay: 9d"), []);
    let (timing, wrong) = read("schedule: \"@hourly\"\nsplay: 2h");
    assert!(timing.is_some() && wrong.len() == 1, "a warning stops nothing");
}

#[test]
fn what_is_excluded_now_and_then_is_due_at_other_times() {
    let lines = "exclude: [{from: \"00:00\", until: \"24:00\", on: [MON]}]";
    assert_eq!(codes(&format!("schedule: \"0 6 * * *\"\n{lines}")), []);
    let never = codes(&format!(
        "schedule: \"0 6 * * MON\"\nactive_until: 2030-01-01\nactive_from: 2026-01-01\n{lines}"
    ));
    assert_eq!(never, [Code::NeverDue]);
}

#[test]
fn a_goal_that_is_only_due_when_it_is_excluded_is_never_due() {
    let nights = |schedule: &str| {
        let window = "exclude: [{from: \"22:00\", until: \"06:00\"}]";
        codes(&format!("schedule: {schedule}\ntimezone: Europe/Berlin\n{window}"))
    };
    assert_eq!(nights("\"0 23 * * *\""), [Code::NeverDue]);
    assert_eq!(nights("\"*/10 22-5 * * *\""), [Code::NeverDue]);
    assert_eq!(nights("[\"0 23 * * *\", \"0 6 * * *\"]"), []);
    // 23:00 in Tokyo is excluded by the clocks of Tokyo, whatever those of Berlin show.
    assert_eq!(nights("[{cron: \"0 23 * * *\", timezone: Asia/Tokyo}]"), [Code::NeverDue]);
    assert_eq!(nights("[{cron: \"0 12 * * *\", timezone: Pacific/Auckland}]"), []);
}

#[test]
fn windows_that_leave_nothing_are_found_out_and_others_are_not() {
    let windows = |until: &str| {
        codes(&format!(
            "schedule: \"* * * * * *\"\n\
             exclude: [{{from: \"00:00\", until: \"12:00\"}}, {{from: \"12:00\", until: \"{until}\"}}]"
        ))
    };
    assert_eq!(windows("24:00"), [Code::NeverDue]);
    assert_eq!(windows("23:59:59"), []);
    let days = "active_from: 2026-01-01\nexclude: [2026-01-01..2026-01-31]";
    assert_eq!(codes(&format!("schedule: \"* * * * * *\"\n{days}")), []);
    let nights =
        "exclude: [{from: \"22:00\", until: \"08:00\"}, {from: \"08:00\", until: \"22:00\", on: [MON, TUE]}]";
    assert_eq!(codes(&format!("schedule: \"* * * * * *\"\n{nights}")), []);
}

proptest! {
    /// Any text for a time is either read or reported as a mistake, at a location of the file.
    #[test]
    fn any_text_is_a_time_or_a_mistake(
        cron in "[0-9*/,#LW? @a-zA-Zé+-]{0,16}",
        day in "[0-9.T:Z+-]{0,22}",
        clock in "[0-9:]{0,6}") {
        let lines = format!(
            "schedule: '{cron}'\ntimezone: '{day}'\nactive_from: '{day}'\nactive_until: '{clock}'\n\
             exclude: ['{day}', {{from: '{clock}', until: '06:00'}}]"
        );
        let loaded = goal(&lines);
        prop_assert_eq!(&loaded.diagnostics, &[]);
        let source = &loaded.sources[0];
        let (timing, wrong) = timing(loaded.goal().unwrap(), source);
        prop_assert!(timing.is_some() || !wrong.is_empty());
        for mistake in wrong {
            prop_assert!(mistake.span.start <= mistake.span.end);
            prop_assert!(source.text().get(mistake.span.range()).is_some(), "{mistake:?}");
        }
    }
}
