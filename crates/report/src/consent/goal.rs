use super::exact::{exact_duration, shell_words};
use super::spoken::cron_in_words;
use super::view::RecordView;
use super::{RiskDirection, SummaryBuilder, SummaryLineKind};
use wf_base::time::Moment;
use wf_model::schedule::{DstGapPolicy, DstOverlapPolicy, DstPolicy, GoalSchedule, TimingRule};
use wf_model::{
    Goal, GoalApproval, GoalEvent, GoalOverlapPolicy, MissedTimesChoice, MissedTimesPolicy,
    NotificationDelivery, NotificationRule, OnUnmet, WebhookUrl,
};

// Its schedule, consequences and notifications. The id and the title are shown with its plan.
view! { goal: Goal in Graph {
    own timing = RecordView::view,
    plain window = format!("{}: a run that would start later counts as missed", exact_duration(*window));
        *window == Goal::WINDOW,
    below missed,
    plain overlap = overlap_text(*overlap); *overlap == GoalOverlapPolicy::default(),
    most auto_pause_after in Effort = pause_text(*auto_pause_after); auto_pause_after.is_none(),
    plain backend in Reach =
        backend.as_ref().map_or_else(|| "this machine".into(), |name| format!("the backend {name}"));
        backend.is_none(),
    whole on_failure = consequence,
    grant notify in Reach = &notify.iter().map(notification_text).collect::<Vec<_>>(),
} aside id, title, path, is_job, approval }

fn pause_text(count: Option<u32>) -> (String, f64) {
    count.map_or_else(
        || ("never: it is not paused automatically".into(), f64::INFINITY),
        |count| (format!("{count} failed reconciliations in a row"), f64::from(count)),
    )
}

/// The effect of a failed check, and the approval that it needs.
fn consequence(goal: &Goal, sheet: &mut SummaryBuilder) {
    let text = match goal.on_failure {
        OnUnmet::Report => ("report: a notification is sent, and nothing is repaired", 0.0),
        OnUnmet::SpawnPlan if goal.is_job => {
            ("its plan runs at each scheduled time, unattended; no check says what it achieved", 2.0)
        }
        OnUnmet::SpawnPlan => ("spawn_plan: its repair steps run, unattended", 1.0),
    };
    let key = if goal.is_job { "run" } else { "on_failure" };
    sheet.add(SummaryLineKind::Decision, RiskDirection::AtMost, key, text, false);
    let approval = match goal.approval {
        GoalApproval::Standing => (format!("standing: a {} uses a standing approval", goal.noun()), 0.0),
        GoalApproval::None => (format!("none: a {} needs no approval", goal.noun()), 1.0),
    };
    let approval = (goal.on_failure == OnUnmet::SpawnPlan).then_some(approval);
    lines!(sheet in Decision { most "approval" = approval });
}

view! { timing: GoalSchedule in Graph {
    own rules = schedule,
    plain zone as "timezone" = zone.name(),
    guard exclude,
    plain active_from = moment_text(*active_from); active_from.is_none(),
    plain active_until = moment_text(*active_until); active_until.is_none(),
    plain splay; splay.is_zero(),
} }

fn moment_text(at: Option<Moment>) -> String {
    at.map_or_else(|| "none".into(), |at| at.to_string())
}

fn schedule(rules: &[TimingRule], sheet: &mut SummaryBuilder) {
    lines!(sheet in Graph { plain "schedule" = &rules.iter().map(rule_text).collect::<Vec<_>>() });
    if let Some(TimingRule::Cron { dst, .. } | TimingRule::At { dst, .. }) = rules.first() {
        sheet.below("dst", |sheet| dst.view(sheet));
    }
}

/// A rule in words, with its subject.
fn rule_text(rule: &TimingRule) -> String {
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

view! { dst: DstPolicy in Graph {
    plain gap = match gap {
        DstGapPolicy::Skip => "skip: a time that the clock change skips is dropped",
        DstGapPolicy::RunAtTransition => {
            "run_at_transition: a time that the clock change skips runs at the transition"
        }
    }; *gap == DstGapPolicy::default(),
    plain overlap = match overlap {
        DstOverlapPolicy::First => "first: a repeated time runs at its first occurrence",
        DstOverlapPolicy::Last => "last: a repeated time runs at its last occurrence",
        DstOverlapPolicy::Both => "both: a repeated time runs twice",
    }; *overlap == DstOverlapPolicy::default(),
} }

view! { missed: MissedTimesPolicy in Effort {
    most run = match run {
        MissedTimesChoice::None => ("none: missed runs are dropped", 0.0),
        MissedTimesChoice::Latest => ("latest: the last missed run is made up for", 1.0),
        MissedTimesChoice::All => ("all: every missed run is made up for", 2.0),
    }; *run == MissedTimesPolicy::default().run,
    most window; *window == MissedTimesPolicy::default().window,
    most cap; *cap == MissedTimesPolicy::default().cap,
} }

fn overlap_text(overlap: GoalOverlapPolicy) -> &'static str {
    match overlap {
        GoalOverlapPolicy::Skip => "skip: a slot that is due during a reconciliation is skipped",
        GoalOverlapPolicy::QueueOne => {
            "queue_one: the last slot that is due during a reconciliation is queued"
        }
        GoalOverlapPolicy::QueueAll => "queue_all: all slots that are due during a reconciliation are queued",
        GoalOverlapPolicy::Replace => "replace: a slot that is due cancels the running reconciliation",
        GoalOverlapPolicy::Allow => "allow: reconciliations may run concurrently",
    }
}

fn notification_text(notify: &NotificationRule) -> String {
    let NotificationRule { on, by } = notify;
    let on: Vec<&str> = on.iter().copied().map(GoalEvent::as_str).collect();
    let by = match by {
        NotificationDelivery::Exec(argv) => {
            format!("runs {}", shell_words(argv))
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
