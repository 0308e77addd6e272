use serde_json::{Value, json};

use super::{GoalOutcome, ReconciliationHealth, consecutive_failures, health_notification};
use wf_base::name::RunId;
use wf_base::time::Moment;
use wf_model::{Goal, GoalEvent, NotificationDelivery, NotificationRule, WebhookUrl};

/// The consequences of the end of a reconciliation besides its result.
#[derive(Debug, Default)]
pub struct FollowUps {
    /// The reason why the goal pauses now, if it does.
    pub pause: Option<String>,
    /// The notifications to send.
    pub notices: Vec<Value>,
}

/// A reconciliation as notifications name it.
#[derive(Clone, Copy, Debug)]
pub struct NotifiedReconciliation<'a> {
    /// Its check run.
    pub look: &'a RunId,
    pub repair: Option<&'a RunId>,
    /// Its scheduled time.
    pub slot: Option<Moment>,
    /// True if the scheduled time before it was blocked.
    pub was_blocked: bool,
}

/// Returns the consequences of the end of a reconciliation. `before` are the ends of earlier ones, newest first; failures
/// before the goal was last resumed do not count.
pub fn follow_ups(
    goal: &Goal,
    before: &[(Moment, ReconciliationHealth)],
    resumed: Option<Moment>,
    cycle: NotifiedReconciliation<'_>,
    outcome: &GoalOutcome,
    at: Moment,
) -> FollowUps {
    let mut healths = before.iter().map(|(_, health)| *health);
    let last = healths.find(|health| *health != ReconciliationHealth::Cancelled);
    // Who was told that the goal is blocked is told that it is well.
    let last = if cycle.was_blocked { Some(ReconciliationHealth::Waiting) } else { last };
    let in_a_row = consecutive_failures(before.iter().copied(), resumed);
    let mut follows = FollowUps::default();
    if let Some(news) = health_notification(last, outcome.health) {
        follows.notices.extend(notifications(goal, news, &outcome.reason, Some(cycle), at));
    }
    if let Some(most) = goal.auto_pause_after
        && outcome.health.is_failure()
        && in_a_row + 1 >= most as usize
    {
        let reason = format!("{most} reconciliations failed in a row");
        follows.notices.extend(notifications(goal, GoalEvent::Paused, &reason, Some(cycle), at));
        follows.pause = Some(reason);
    }
    follows
}

/// The notifications that scheduled times were missed.
pub fn missed_notifications(goal: &Goal, missed: u64, at: Moment) -> Vec<Value> {
    let reason = match missed {
        0 => return Vec::new(),
        1 => "1 slot was missed".to_owned(),
        count => format!("{count} slots were missed"),
    };
    notifications(goal, GoalEvent::Missed, &reason, None, at)
}

/// Returns the notifications to send: one for each recipient, subscribed to the event or to all of its kind.
pub fn notifications(
    goal: &Goal,
    event: GoalEvent,
    reason: &str,
    reconciliation: Option<NotifiedReconciliation<'_>>,
    at: Moment,
) -> Vec<Value> {
    // What waits for people is not as desired either, and no repair has restored it.
    let is_failure = event == GoalEvent::Waiting;
    let wants = |notify: &&NotificationRule| {
        event.is_for_all()
            || notify.on.contains(&event)
            || is_failure && notify.on.contains(&GoalEvent::Failed)
    };
    let runs = reconciliation.into_iter().flat_map(|cycle| [Some(cycle.look), cycle.repair]);
    let runs: Vec<String> = runs.flatten().map(ToString::to_string).collect();
    let message = json!({
        "goal": goal.id,
        "title": goal.title,
        "path": goal.path,
        "news": event.as_str(),
        "reason": reason,
        "slot": reconciliation.and_then(|cycle| cycle.slot),
        "at": at,
        "runs": runs,
    });
    let one = |notify: &NotificationRule| json!({"by": recipient_json(&notify.by), "message": message});
    goal.notify.iter().filter(wants).map(one).collect()
}

fn recipient_json(by: &NotificationDelivery) -> Value {
    match by {
        NotificationDelivery::Exec(argv) => json!({"exec": argv}),
        NotificationDelivery::Webhook { url, secret } => {
            let url = match url {
                WebhookUrl::Text(text) => json!({"text": text}),
                WebhookUrl::Secret(name) => json!({"secret": name}),
            };
            json!({"webhook": {"url": url, "secret": secret}})
        }
    }
}
