use super::exact::{exact_duration, shell_words};
use super::spoken::cron_in_words;
use super::{RiskDirection, SummaryBuilder, SummaryLineKind};
use wf_base::time::Moment;
use wf_model::schedule::{DstGapPolicy, DstOverlapPolicy, DstPolicy, GoalSchedule, TimingRule};
use wf_model::{
    Goal, GoalApproval, GoalEvent, GoalOverlapPolicy, MissedTimesChoice, MissedTimesPolicy,
    NotificationDelivery, NotificationRule, OnUnmet, WebhookUrl,
};

/// The schedule of a goal, its consequences and its notifications. The id and the title are shown
/// with its plan.
pub(super) fn goal(goal: &Goal, sheet: &mut SummaryBuilder) {
    let Goal {
        id: _,
        title: _,
        path: _,
        timing,
        missed,
        window,
        overlap,
        auto_pause_after,
        backend,
        on_failure,
        is_job,
        approval,
        notify,
    } = goal;
    times(timing, sheet);
    let late = format!("{}: a run that would start later counts as missed", exact_duration(*window));
    sheet.add_line(SummaryLineKind::Graph, RiskDirection::Plain, "window", late);
    sheet.mark_default(*window == Goal::WINDOW);
    late_slots(missed, sheet);
    let (text, usual) = (overlap_text(*overlap), *overlap == GoalOverlapPolicy::default());
    sheet.add_line(SummaryLineKind::Graph, RiskDirection::Plain, "overlap", text);
    sheet.mark_default(usual);
    let (text, most) = match auto_pause_after {
        Some(count) => (format!("{count} failed reconciliations in a row"), f64::from(*count)),
        None => ("never: it is not paused automatically".into(), f64::INFINITY),
    };
    sheet.add_line(SummaryLineKind::Effort, RiskDirection::AtMost(most), "auto_pause_after", text);
    sheet.mark_default(auto_pause_after.is_none());
    let text = backend.as_ref().map_or_else(|| "this machine".into(), |name| format!("the backend {name}"));
    sheet.add_line(SummaryLineKind::Reach, RiskDirection::Plain, "backend", text);
    sheet.mark_default(backend.is_none());
    let (text, level) = match on_failure {
        OnUnmet::Report => ("report: a notification is sent, and nothing is repaired", 0.0),
        OnUnmet::SpawnPlan if *is_job => {
            ("its plan runs at each scheduled time, unattended; no check says what it achieved", 2.0)
        }
        OnUnmet::SpawnPlan => ("spawn_plan: its repair steps run, unattended", 1.0),
    };
    let key = if *is_job { "run" } else { "on_failure" };
    sheet.add_line(SummaryLineKind::Decision, RiskDirection::AtMost(level), key, text);
    if *on_failure == OnUnmet::SpawnPlan {
        let (text, level) = match approval {
            GoalApproval::Standing => (format!("standing: a {} uses a standing approval", goal.noun()), 0.0),
            GoalApproval::None => (format!("none: a {} needs no approval", goal.noun()), 1.0),
        };
        sheet.add_line(SummaryLineKind::Decision, RiskDirection::AtMost(level), "approval", text);
    }
    let told: Vec<String> = notify.iter().map(notifications_lines).collect();
    sheet.add_each(SummaryLineKind::Reach, RiskDirection::Grant, "notify", &told);
}

fn times(timing: &GoalSchedule, sheet: &mut SummaryBuilder) {
    let GoalSchedule { rules, exclude, zone, active_from, active_until, splay } = timing;
    let due: Vec<String> = rules.iter().map(rule).collect();
    sheet.add_each(SummaryLineKind::Graph, RiskDirection::Plain, "schedule", &due);
    if let Some(TimingRule::Cron { dst, .. } | TimingRule::At { dst, .. }) = rules.first() {
        clocks(*dst, sheet);
    }
    sheet.add_line(SummaryLineKind::Graph, RiskDirection::Plain, "timezone", zone.name());
    let excluded: Vec<String> = exclude.iter().map(ToString::to_string).collect();
    sheet.add_each(SummaryLineKind::Graph, RiskDirection::Guard, "exclude", &excluded);
    let shown = |at: &Option<Moment>| at.map_or_else(|| "none".into(), |at| at.to_string());
    sheet.add_line(SummaryLineKind::Graph, RiskDirection::Plain, "active_from", shown(active_from));
    sheet.mark_default(active_from.is_none());
    sheet.add_line(SummaryLineKind::Graph, RiskDirection::Plain, "active_until", shown(active_until));
    sheet.mark_default(active_until.is_none());
    sheet.add_line(SummaryLineKind::Graph, RiskDirection::Plain, "splay", exact_duration(*splay));
    sheet.mark_default(splay.is_zero());
}

/// A rule in words, with its subject.
fn rule(rule: &TimingRule) -> String {
    match rule {
        TimingRule::Cron { expression, zone, dst: _ } => {
            let text = expression.to_string();
            let zone = zone.name();
            match cron_in_words(&text) {
                Some(words) => format!("{words}, {zone} ({text})"),
                None => format!("{text}, {zone}"),
            }
        }
        TimingRule::At { civil, zone, dst: _ } => format!("once, at {civil}, {}", zone.name()),
    }
}

fn clocks(dst: DstPolicy, sheet: &mut SummaryBuilder) {
    let DstPolicy { gap, overlap } = dst;
    let text = match gap {
        DstGapPolicy::Skip => "skip: a time that the clock change skips is dropped",
        DstGapPolicy::RunAtTransition => {
            "run_at_transition: a time that the clock change skips runs at \
            the transition"
        }
    };
    sheet.add_line(SummaryLineKind::Graph, RiskDirection::Plain, "dst.gap", text);
    sheet.mark_default(gap == DstGapPolicy::default());
    let text = match overlap {
        DstOverlapPolicy::First => "first: a repeated time runs at its first occurrence",
        DstOverlapPolicy::Last => "last: a repeated time runs at its last occurrence",
        DstOverlapPolicy::Both => "both: a repeated time runs twice",
    };
    sheet.add_line(SummaryLineKind::Graph, RiskDirection::Plain, "dst.overlap", text);
    sheet.mark_default(overlap == DstOverlapPolicy::default());
}

fn late_slots(missed: &MissedTimesPolicy, sheet: &mut SummaryBuilder) {
    let MissedTimesPolicy { run, window, cap } = missed;
    let (text, level) = match run {
        MissedTimesChoice::None => ("none: missed runs are dropped", 0.0),
        MissedTimesChoice::Latest => ("latest: the last missed run is made up for", 1.0),
        MissedTimesChoice::All => ("all: every missed run is made up for", 2.0),
    };
    let usual = MissedTimesPolicy::default();
    sheet.add_line(SummaryLineKind::Effort, RiskDirection::AtMost(level), "missed.run", text);
    sheet.mark_default(*run == usual.run);
    let back = RiskDirection::AtMost(window.as_secs_f64());
    sheet.add_line(SummaryLineKind::Effort, back, "missed.window", exact_duration(*window));
    sheet.mark_default(*window == usual.window);
    let most = RiskDirection::AtMost(f64::from(*cap));
    sheet.add_line(SummaryLineKind::Effort, most, "missed.cap", cap.to_string());
    sheet.mark_default(*cap == usual.cap);
}

fn overlap_text(overlap: GoalOverlapPolicy) -> &'static str {
    match overlap {
        GoalOverlapPolicy::Skip => "skip: a slot that is due during a reconciliation is skipped",
        GoalOverlapPolicy::QueueOne => {
            "queue_one: the last slot that is due during a reconciliation is \
            queued"
        }
        GoalOverlapPolicy::QueueAll => "queue_all: all slots that are due during a reconciliation are queued",
        GoalOverlapPolicy::Replace => "replace: a slot that is due cancels the running reconciliation",
        GoalOverlapPolicy::Allow => "allow: reconciliations may run concurrently",
    }
}

fn notifications_lines(notify: &NotificationRule) -> String {
    let NotificationRule { on, by } = notify;
    let on: Vec<&str> = on.iter().copied().map(GoalEvent::as_str).collect();
    let by = match by {
        NotificationDelivery::Exec(argv) => {
            format!("runs {}", shell_words(argv.iter().map(String::as_str)))
        }
        NotificationDelivery::Webhook { url, secret } => {
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
