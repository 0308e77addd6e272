use serde_json::{Value, json};

use crate::goal::{Health, Verdict, failed_in_a_row, news};
use crate::model::{Goal, GoalNews, Notify, NotifyBy, WebhookUrl};
use crate::store::CycleRow;
use crate::time::Moment;

/// What follows from the end of a cycle besides its result.
#[derive(Debug, Default)]
pub struct Follows {
    /// Why the goal pauses now, if it does.
    pub pause: Option<String>,
    /// What people are to be told.
    pub notices: Vec<Value>,
}

/// What follows from the end of a cycle, after those that ended before it, newest first. What failed
/// before the goal was last resumed counts no more.
pub fn follows(
    goal: &Goal,
    (before, resumed): (&[CycleRow], Option<Moment>),
    (cycle, verdict, at): (&CycleRow, &Verdict, Moment),
) -> Follows {
    let ends = before.iter().filter_map(|cycle| cycle.ended.as_ref());
    let ends = ends.map(|(at, health, _)| (*at, *health));
    let mut healths = ends.clone().map(|(_, health)| health);
    let last = healths.find(|health| *health != Health::Cancelled);
    let in_a_row = failed_in_a_row(ends, resumed);
    let mut follows = Follows::default();
    if let Some(news) = news(last, verdict.health) {
        follows
            .notices
            .extend(notices(goal, news, (&verdict.why, Some(cycle), at)));
    }
    if let Some(most) = goal.auto_pause_after
        && verdict.health.is_failure()
        && in_a_row + 1 >= most as usize
    {
        let why = format!("{most} cycles failed in a row");
        follows
            .notices
            .extend(notices(goal, GoalNews::Paused, (&why, Some(cycle), at)));
        follows.pause = Some(why);
    }
    follows
}

/// What people are to be told: one notice for each who wants to hear it.
pub fn notices(
    goal: &Goal,
    news: GoalNews,
    (why, cycle, at): (&str, Option<&CycleRow>, Moment),
) -> Vec<Value> {
    let wants = |notify: &&Notify| notify.on.contains(&news);
    let runs: Vec<String> = cycle
        .into_iter()
        .flat_map(|cycle| [Some(&cycle.run), cycle.repair.as_ref()])
        .flatten()
        .map(ToString::to_string)
        .collect();
    let message = json!({
        "goal": goal.id,
        "title": goal.title,
        "path": goal.path,
        "news": news.as_str(),
        "why": why,
        "slot": cycle.and_then(|cycle| cycle.slot),
        "at": at,
        "runs": runs,
    });
    let one = |notify: &Notify| json!({"by": by(&notify.by), "message": message});
    goal.notify.iter().filter(wants).map(one).collect()
}

fn by(by: &NotifyBy) -> Value {
    match by {
        NotifyBy::Exec(argv) => json!({"exec": argv}),
        NotifyBy::Webhook { url, secret } => {
            let url = match url {
                WebhookUrl::Text(text) => json!({"text": text}),
                WebhookUrl::Secret(name) => json!({"secret": name}),
            };
            json!({"webhook": {"url": url, "secret": secret}})
        }
    }
}
