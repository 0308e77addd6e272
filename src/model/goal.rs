use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::name::{EnvName, PlanId};
use crate::schedule::Timing;

/// When a goal is looked at, and what follows. What it looks at, and how it repairs that, is its
/// [`Plan`](super::Plan).
///
/// **Invariant:** `on_failure` is [`OnUnmet::SpawnPlan`] exactly when the plan of the goal has
/// steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    /// The id of the goal, and of its plan; unique in the workspace.
    pub id: PlanId,
    /// A line for people.
    pub title: Option<String>,
    /// The file of the goal, relative to the workspace.
    pub path: String,
    /// When it is due.
    pub timing: Timing,
    /// What is done about slots at which nobody was there.
    pub missed: Missed,
    /// How late a slot may begin and still be on time.
    pub window: Duration,
    /// What is done about a slot that comes while a cycle is still going on.
    pub overlap: Overlap,
    /// After how many failed cycles in a row the goal pauses; `None`: it never does by itself.
    /// Never 0.
    pub auto_pause_after: Option<u32>,
    /// What follows where a look finds that the state is not as desired.
    pub on_failure: OnUnmet,
    /// Whose word a repair needs.
    pub approval: GoalApproval,
    /// Who is told of what.
    pub notify: Vec<Notify>,
}

/// What is done about slots that nobody began in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missed {
    /// Which of them begin after all.
    pub run: MissedRun,
    /// How far back they are looked for.
    pub window: Duration,
    /// How many begin at most; the earliest of the rest stay missed. Never 0.
    pub cap: u32,
}

/// Which missed slots begin after all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum MissedRun {
    /// None of them.
    None,
    /// The last one.
    #[default]
    Latest,
    /// All of them, in order.
    All,
}

/// What is done about a slot that comes while a cycle of the same goal is still going on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Overlap {
    /// It is skipped.
    #[default]
    Skip,
    /// It waits for the end of the cycle; of several that wait, the last one begins.
    QueueOne,
    /// It waits for the end of the cycle, as all that came before it.
    QueueAll,
    /// The cycle is cancelled, and the slot begins.
    Replace,
    /// It begins beside the cycle.
    Allow,
}

/// What follows where a look finds that the state is not as desired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnUnmet {
    /// It is told.
    #[default]
    Report,
    /// It is repaired: the plan of the goal runs with its steps.
    SpawnPlan,
}

/// Whose word a repair needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum GoalApproval {
    /// A standing approval: signed once, spent by each repair.
    #[default]
    Standing,
    /// Nobody's: a repair runs as the plan of anybody who starts it would.
    None,
}

/// Who is told when a goal goes from one condition to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notify {
    /// What is told; each at most once.
    pub on: Vec<GoalNews>,
    /// How.
    pub by: NotifyBy,
}

/// How somebody is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NotifyBy {
    /// By a program with its arguments, without a shell. It reads the news from standard input.
    Exec(Vec<String>),
    /// By a request to an address.
    Webhook {
        /// The address.
        url: WebhookUrl,
        /// The secret of the plan that the request is signed with; `None`: it is not signed.
        secret: Option<EnvName>,
    },
}

/// Where the address of a webhook stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WebhookUrl {
    /// In the file.
    Text(String),
    /// In a secret of the plan: who knows the address may post to it.
    Secret(EnvName),
}

/// What there is to tell about a goal. It is told when it begins, not as long as it lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum GoalNews {
    /// The state is not as desired, and no repair has made it so.
    Failed,
    /// A repair has made the state as desired.
    Repaired,
    /// The state is as desired again, and no repair of this goal did it.
    Healthy,
    /// A repair waits for people.
    Waiting,
    /// The goal pauses, as too many cycles have failed.
    Paused,
    /// Slots were missed.
    Missed,
}

/// The parameters that the plan of a goal has besides its own. All are text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Given {
    /// What the checks said that failed in the look before a repair: a JSON list, `[]` in a look.
    /// Untrusted: it carries what checks printed.
    FailedChecks,
    /// The slot of the cycle, as RFC 3339; empty in one that no slot began.
    Slot,
    /// The slot before it, as RFC 3339; empty if there is none.
    PrevSlot,
}

impl Goal {
    /// How late a slot may begin and still be on time, if the goal does not say.
    pub const WINDOW: Duration = Duration::from_mins(1);
}

impl Default for Missed {
    fn default() -> Self {
        Self {
            run: MissedRun::default(),
            window: Duration::from_hours(24),
            cap: 100,
        }
    }
}

impl Given {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::FailedChecks, Self::Slot, Self::PrevSlot];

    /// The name of the parameter.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FailedChecks => "failed_checks",
            Self::Slot => "slot",
            Self::PrevSlot => "prev_slot",
        }
    }

    /// Its value where nothing else gives one.
    pub fn default_value(self) -> &'static str {
        match self {
            Self::FailedChecks => "[]",
            Self::Slot | Self::PrevSlot => "",
        }
    }
}

/// Gives each value of a choice the word that stands for it in files and on screens.
macro_rules! words {
    ($($type:ident { $($value:ident => $word:literal),* $(,)? })*) => { $(
        impl $type {
            /// Every value, in the order in which they are told.
            pub const ALL: &'static [Self] = &[$(Self::$value),*];

            /// Its word.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$value => $word),* }
            }

            /// The value that a word stands for.
            pub fn parse(word: &str) -> Option<Self> {
                Self::ALL.iter().find(|one| one.as_str() == word).copied()
            }
        }
    )* };
}

words! {
    MissedRun { None => "none", Latest => "latest", All => "all" }
    Overlap {
        Skip => "skip", QueueOne => "queue_one", QueueAll => "queue_all",
        Replace => "replace", Allow => "allow",
    }
    OnUnmet { Report => "report", SpawnPlan => "spawn_plan" }
    GoalApproval { Standing => "standing", None => "none" }
    GoalNews {
        Failed => "failed", Repaired => "repaired", Healthy => "healthy",
        Waiting => "waiting", Paused => "paused", Missed => "missed",
    }
}
