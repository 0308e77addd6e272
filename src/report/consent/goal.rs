use super::exact::{period, words};
use super::spoken::spoken;
use super::{Kind, Sense, Sheet};
use crate::model::{
    Goal, GoalApproval, GoalNews, Missed, MissedRun, Notify, NotifyBy, OnUnmet, Overlap, WebhookUrl,
};
use crate::schedule::{Dst, Fold, Gap, Timing, When};
use crate::time::Moment;

/// When a goal begins by itself, what follows, and who is told. What its plan says already, its
/// id and its title, is shown with that.
pub(super) fn goal(goal: &Goal, sheet: &mut Sheet) {
    let Goal {
        id: _,
        title: _,
        path: _,
        timing,
        missed,
        window,
        overlap,
        auto_pause_after,
        on_failure,
        approval,
        notify,
    } = goal;
    times(timing, sheet);
    let late = format!("{}: what begins later is missed", period(*window));
    sheet.put(Kind::Graph, Sense::Plain, "window", late);
    sheet.usual(*window == Goal::WINDOW);
    late_slots(missed, sheet);
    let (text, usual) = (together(*overlap), *overlap == Overlap::default());
    sheet.put(Kind::Graph, Sense::Plain, "overlap", text);
    sheet.usual(usual);
    let (text, most) = match auto_pause_after {
        Some(count) => (format!("{count} failed cycles in a row"), f64::from(*count)),
        None => ("never: it does not pause by itself".into(), f64::INFINITY),
    };
    sheet.put(Kind::Effort, Sense::AtMost(most), "auto_pause_after", text);
    sheet.usual(auto_pause_after.is_none());
    let (text, level) = match on_failure {
        OnUnmet::Report => ("report: it is told, and nothing is done", 0.0),
        OnUnmet::SpawnPlan => ("spawn_plan: its steps run, by themselves", 1.0),
    };
    sheet.put(Kind::Decision, Sense::AtMost(level), "on_failure", text);
    if *on_failure == OnUnmet::SpawnPlan {
        let (text, level) = match approval {
            GoalApproval::Standing => ("standing: a repair spends a standing approval", 0.0),
            GoalApproval::None => ("none: a repair asks nobody", 1.0),
        };
        sheet.put(Kind::Decision, Sense::AtMost(level), "approval", text);
    }
    let told: Vec<String> = notify.iter().map(told).collect();
    sheet.each(Kind::Reach, Sense::Grant, "notify", &told);
}

fn times(timing: &Timing, sheet: &mut Sheet) {
    let Timing {
        rules,
        exclude,
        zone,
        active_from,
        active_until,
        splay,
    } = timing;
    let due: Vec<String> = rules.iter().map(rule).collect();
    sheet.each(Kind::Graph, Sense::Plain, "schedule", &due);
    if let Some(When::Cron { dst, .. } | When::At { dst, .. }) = rules.first() {
        clocks(*dst, sheet);
    }
    sheet.put(Kind::Graph, Sense::Plain, "timezone", zone.name());
    let excluded: Vec<String> = exclude.iter().map(ToString::to_string).collect();
    sheet.each(Kind::Graph, Sense::Guard, "exclude", &excluded);
    let shown = |at: &Option<Moment>| at.map_or_else(|| "none".into(), |at| at.to_string());
    sheet.put(Kind::Graph, Sense::Plain, "active_from", shown(active_from));
    sheet.usual(active_from.is_none());
    sheet.put(
        Kind::Graph,
        Sense::Plain,
        "active_until",
        shown(active_until),
    );
    sheet.usual(active_until.is_none());
    sheet.put(Kind::Graph, Sense::Plain, "splay", period(*splay));
    sheet.usual(splay.is_zero());
}

/// A rule in words, with what they are of.
fn rule(rule: &When) -> String {
    match rule {
        When::Cron {
            expression,
            zone,
            dst: _,
        } => {
            let text = expression.to_string();
            let zone = zone.name();
            match spoken(&text) {
                Some(words) => format!("{words}, {zone} ({text})"),
                None => format!("{text}, {zone}"),
            }
        }
        When::At {
            civil,
            zone,
            dst: _,
        } => format!("once, at {civil}, {}", zone.name()),
    }
}

fn clocks(dst: Dst, sheet: &mut Sheet) {
    let Dst { gap, overlap } = dst;
    let text = match gap {
        Gap::Skip => "skip: a time that the clock passes over does not come",
        Gap::RunAtTransition => "run_at_transition: a time that the clock passes over comes then",
    };
    sheet.put(Kind::Graph, Sense::Plain, "dst.gap", text);
    sheet.usual(gap == Gap::default());
    let text = match overlap {
        Fold::First => "first: a time that is shown twice comes the first time",
        Fold::Last => "last: a time that is shown twice comes the last time",
        Fold::Both => "both: a time that is shown twice comes twice",
    };
    sheet.put(Kind::Graph, Sense::Plain, "dst.overlap", text);
    sheet.usual(overlap == Fold::default());
}

fn late_slots(missed: &Missed, sheet: &mut Sheet) {
    let Missed { run, window, cap } = missed;
    let (text, level) = match run {
        MissedRun::None => ("none: what was missed stays so", 0.0),
        MissedRun::Latest => ("latest: the last that was missed begins after all", 1.0),
        MissedRun::All => ("all: all that were missed begin after all", 2.0),
    };
    let usual = Missed::default();
    sheet.put(Kind::Effort, Sense::AtMost(level), "missed.run", text);
    sheet.usual(*run == usual.run);
    let back = Sense::AtMost(window.as_secs_f64());
    sheet.put(Kind::Effort, back, "missed.window", period(*window));
    sheet.usual(*window == usual.window);
    let most = Sense::AtMost(f64::from(*cap));
    sheet.put(Kind::Effort, most, "missed.cap", cap.to_string());
    sheet.usual(*cap == usual.cap);
}

fn together(overlap: Overlap) -> &'static str {
    match overlap {
        Overlap::Skip => "skip: a slot that comes while a cycle goes on is skipped",
        Overlap::QueueOne => "queue_one: the last slot that comes meanwhile waits",
        Overlap::QueueAll => "queue_all: all slots that come meanwhile wait",
        Overlap::Replace => "replace: a slot that comes cancels the cycle that goes on",
        Overlap::Allow => "allow: several cycles may go on at once",
    }
}

fn told(notify: &Notify) -> String {
    let Notify { on, by } = notify;
    let on: Vec<&str> = on.iter().copied().map(GoalNews::as_str).collect();
    let by = match by {
        NotifyBy::Exec(argv) => format!("runs {}", words(argv.iter().map(String::as_str))),
        NotifyBy::Webhook { url, secret } => {
            let to = match url {
                WebhookUrl::Text(url) => url.clone(),
                WebhookUrl::Secret(name) => format!("the address in the secret {name}"),
            };
            let signed = match secret {
                Some(name) => format!("signed with the secret {name}"),
                None => "not signed".into(),
            };
            format!("posts to {to}, {signed}")
        }
    };
    format!("{}: {by}", on.join(", "))
}
