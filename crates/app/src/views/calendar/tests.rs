//! Whatever the ledger has is seen, however often a goal is due and however much is recorded; and each cut is marked.

use std::collections::BTreeMap;

use super::{
    days::{CalendarHour, CalendarPage},
    hours::{HourCell, MAX_PLANNED, slot_word},
    recent::recent_days,
    slots::LedgerSlot,
};
use wf_base::{name::RunId, time::Moment};
use wf_core::goal::{ReconciliationCause, ReconciliationHealth, SlotState};
use wf_model::schedule::{CronExpression, DstPolicy, GoalSchedule, ScheduleZone, TimingRule};
use wf_store::{SlotRow, SlotTally};

const HOUR: i64 = 3_600_000;

fn now() -> Moment {
    Moment::parse("2026-11-28T12:00:00Z").unwrap()
}

fn schedule_of(cron: &str, zone: &str) -> GoalSchedule {
    let (expression, zone) = (CronExpression::parse(cron).unwrap(), ScheduleZone::parse(zone).unwrap());
    GoalSchedule::of(TimingRule::Cron { expression, zone, dst: DstPolicy::default() })
}

fn entry(slot: Moment, health: Option<ReconciliationHealth>) -> LedgerSlot {
    let (state, run) = match health {
        Some(_) => (SlotState::Started, Some(RunId::from_bytes([1; 16]))),
        None => (SlotState::Missed, None),
    };
    let (cause, reason) = (ReconciliationCause::Schedule, String::new());
    LedgerSlot { row: SlotRow { slot, last: slot, count: 1, state, cause, reason, at: slot, run }, health }
}

/// The last slots of a schedule before now, of which one failed, one was missed, and the others were healthy.
fn recorded(schedule: &GoalSchedule, distance: i64, count: usize) -> Vec<LedgerSlot> {
    let length = i64::try_from(count).unwrap() * distance;
    let from = Moment::from_millis(now().millis() - length);
    let slots: Vec<Moment> = schedule.slots(from, now()).map(|slot| slot.at).collect();
    let last = slots.len().saturating_sub(1);
    let health = |at: usize| match at {
        at if at == last => Some(ReconciliationHealth::Failed),
        at if at == last / 2 => None,
        _ => Some(ReconciliationHealth::Healthy),
    };
    slots.iter().enumerate().map(|(at, slot)| entry(*slot, health(at))).collect()
}

/// Counts entries as the store does: by quarters of an hour, state and result.
fn tallies(ledger: &[LedgerSlot]) -> Vec<SlotTally> {
    let mut tallies: BTreeMap<(i64, &str), SlotTally> = BTreeMap::new();
    for LedgerSlot { row, health } in ledger {
        let quarter = Moment::from_millis(row.slot.millis().div_euclid(900_000) * 900_000);
        let key = (quarter.millis(), slot_word(*health, row.state));
        let tally = SlotTally { quarter, last: row.last, count: 0, state: row.state, health: *health };
        let tally = tallies.entry(key).or_insert(tally);
        (tally.count, tally.last) = (tally.count + row.count, tally.last.max(row.last));
    }
    tallies.into_values().collect()
}

/// Returns the number of recorded slots that words tell.
fn told(words: &str) -> u64 {
    let counts =
        words.split([',', ';']).filter(|part| !part.contains("planned") && !part.contains("computed"));
    counts.filter_map(|part| part.trim().split_once(' ')?.0.parse::<u64>().ok()).sum()
}

fn first(ledger: &[LedgerSlot]) -> Option<Moment> {
    ledger.first().map(|entry| entry.row.slot)
}

/// Returns the numbers of entries by their day, or by their hour.
fn expected(ledger: &[LedgerSlot], length: usize) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for entry in ledger {
        *counts.entry(entry.row.slot.to_string()[..length].to_owned()).or_insert(0) += 1;
    }
    counts
}

#[test]
fn every_cell_with_a_record_shows_it_however_often_a_goal_is_due() {
    for (cron, distance) in
        [("* * * * * *", 1_000), ("* * * * *", 60_000), ("0 * * * *", HOUR), ("0 7 * * *", 24 * HOUR)]
    {
        let schedule = schedule_of(cron, "UTC");
        for count in [0, 1, 100_000] {
            let ledger = recorded(&schedule, distance, count);
            let tallies = tallies(&ledger);
            let mut seen = BTreeMap::new();
            // The months of the last records: those of a goal that is due each day begin long ago.
            for month in ["2026-11", "2026-10"] {
                let page = CalendarPage::new(&schedule, month, now(), first(&ledger));
                let is_dense = distance < HOUR;
                assert_eq!(page.is_dense(&tallies), is_dense, "{cron} {count}");
                if is_dense {
                    for day in page.by_hour(&tallies).hours {
                        for (hour, cell) in day.cells.iter().enumerate() {
                            seen.insert(format!("{month}-{:02}T{hour:02}", day.day), told(&cell.words));
                        }
                    }
                    continue;
                }
                let shown = page.by_day(&ledger);
                for day in shown.weeks.into_iter().flatten().flatten() {
                    assert_eq!(day.more, "", "{cron} {count}: nothing is cut");
                    for slot in day.slots {
                        let is_recorded = !matches!(slot.state, "planned" | "unrecorded" | "before");
                        *seen.entry(slot.at.to_string()[..13].to_owned()).or_insert(0) +=
                            u64::from(is_recorded);
                    }
                }
            }
            seen.retain(|_, count| *count > 0);
            let mut expected = expected(&ledger, 13);
            expected.retain(|hour, _| hour.as_str() >= "2026-10");
            assert_eq!(seen, expected, "{cron} {count}");
        }
    }
}

#[test]
fn the_last_days_show_all_records_and_the_worst_of_each() {
    for (cron, distance) in [("* * * * * *", 1_000), ("* * * * *", 60_000), ("0 * * * *", HOUR)] {
        let schedule = schedule_of(cron, "UTC");
        for count in [0, 1, 100_000] {
            let ledger = recorded(&schedule, distance, count);
            let recent = recent_days(&schedule, now(), &tallies(&ledger), first(&ledger)).unwrap();
            assert_eq!((recent.first.as_str(), recent.last.as_str()), ("2026-08-31", "2026-11-28"));
            let seen = recent.days.iter().map(|day| (day.date.clone(), told(&day.words)));
            let seen: BTreeMap<String, u64> = seen.filter(|(_, count)| *count > 0).collect();
            let mut expected = expected(&ledger, 10);
            expected.retain(|date, _| date.as_str() >= "2026-08-31");
            assert_eq!(seen, expected, "{cron} {count}");
            if count > 0 {
                assert_eq!(recent.days[0].state, "failed", "{cron} {count}");
            }
            let svg = recent.svg.unwrap();
            let absent = 90 - recent.days.len();
            assert_eq!(svg.matches(": before its first record</title>").count(), absent, "{cron} {count}");
        }
    }
}

fn cell(hours: &[super::DayHours], day: usize, hour: usize) -> &HourCell {
    &hours[day - 1].cells[hour]
}

#[test]
fn a_cut_is_marked_and_hides_no_record() {
    let schedule = schedule_of("* * * * * *", "UTC");
    let ledger = recorded(&schedule, 1_000, 100);
    let at = Moment::parse("2026-11-28T11:59:30Z").unwrap();
    let page = CalendarPage::new(&schedule, "2026-11", at, first(&ledger));
    let hours = page.by_hour(&tallies(&ledger)).hours;
    let cut = format!("not computed (more than {MAX_PLANNED} slots)");
    assert_eq!(cell(&hours, 28, 11).words, "1 missed, 98 healthy, 29 planned");
    // 3,000 s from then on end in the next hour, which has a record, too.
    let present = cell(&hours, 28, 12);
    assert_eq!((present.state.as_str(), present.words.ends_with(&cut)), ("failed", true), "{present:?}");
    assert!(present.words.starts_with("1 failed, 2971 planned; "), "{present:?}");
    assert!(present.page.is_some());
    let last = cell(&hours, 30, 23);
    assert_eq!((last.state.as_str(), last.words.as_str()), ("uncomputed", cut.as_str()));
    assert_eq!((cell(&hours, 27, 3).state.as_str(), &cell(&hours, 27, 3).page), ("before", &None));
}

#[test]
fn an_hour_of_many_slots_lists_the_worst_and_counts_the_others() {
    let schedule = schedule_of("* * * * * *", "Asia/Kolkata");
    let begin = Moment::parse("2026-11-28T03:30:00Z").unwrap();
    let at = |second: i64| Moment::from_millis(begin.millis() + second * 1_000);
    let health = |second| {
        if second == 1_800 { Some(ReconciliationHealth::Failed) } else { Some(ReconciliationHealth::Healthy) }
    };
    let ledger: Vec<LedgerSlot> = (0..3_600).map(|second| entry(at(second), health(second))).collect();
    let hour = CalendarHour::new(&schedule, "2026-11-28T09", now(), Some(begin)).unwrap();
    assert_eq!((hour.month().as_str(), hour.span().0), ("2026-11", begin));
    let listed = hour.slots(&ledger);
    let failed: Vec<_> = listed.slots.iter().filter(|slot| slot.state == "failed").collect();
    assert_eq!((failed.len(), failed[0].local.as_str(), failed[0].utc.as_str()), (1, "09:30", "04:00"));
    assert_eq!((listed.slots.len(), listed.more.as_str()), (100, "3500 healthy"));
    for text in ["2026-11-28T24", "2026-11-31T09", "2026-11-28", "x", ""] {
        assert!(CalendarHour::new(&schedule, text, now(), None).is_none(), "{text}");
    }
}

#[test]
fn one_day_with_many_slots_makes_its_month_one_of_hours() {
    // Each minute of a Monday: neither tomorrow nor most days have any.
    let schedule = schedule_of("* * * * 1", "UTC");
    let page = CalendarPage::new(&schedule, "2026-12", now(), None);
    assert!(page.is_dense(&[]));
    let hours = page.by_hour(&[]).hours;
    assert_eq!(cell(&hours, 7, 0).words, "60 planned");
    assert_eq!(
        (cell(&hours, 8, 0).state.as_str(), cell(&hours, 8, 0).words.as_str()),
        ("", "nothing is due")
    );
    // A goal that was due each minute, and is due once a day now.
    let ledger = recorded(&schedule_of("* * * * *", "UTC"), 60_000, 100);
    let schedule = schedule_of("0 7 * * *", "UTC");
    let page = CalendarPage::new(&schedule, "2026-11", now(), None);
    assert!(page.is_dense(&tallies(&ledger)));
    let many = LedgerSlot {
        row: SlotRow {
            count: 60,
            last: now(),
            ..entry(Moment::parse("2026-09-29T07:00:00Z").unwrap(), None).row
        },
        health: None,
    };
    assert!(!page.is_dense(&tallies(std::slice::from_ref(&many))), "one a day was left out");
    let shown = page.by_day(&[many]).weeks;
    let missed = shown.into_iter().flatten().flatten().flat_map(|day| day.slots);
    assert_eq!(missed.filter(|slot| slot.state == "missed").count(), 28);
}

#[test]
fn a_record_that_the_schedule_does_not_have_any_more_is_listed() {
    let schedule = schedule_of("0 7 * * *", "Europe/Vienna");
    let noon = Moment::parse("2026-11-20T11:00:00Z").unwrap();
    let before = Moment::parse("2026-11-19T06:30:00Z").unwrap();
    let shown = CalendarPage::new(&schedule, "2026-11", now(), Some(before)).by_day(&[entry(noon, None)]);
    let days: Vec<_> = shown.weeks.into_iter().flatten().flatten().collect();
    assert_eq!(days[18].slots[0].state, "before", "it did not exist");
    let day = &days[19];
    let slots: Vec<_> =
        day.slots.iter().map(|slot| (slot.local.as_str(), slot.utc.as_str(), slot.state)).collect();
    assert_eq!(slots, [("07:00", "06:00", "unrecorded"), ("12:00", "11:00", "missed")]);
}
