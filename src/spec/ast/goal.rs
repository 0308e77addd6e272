use super::{
    Budget, Check, DstRule, Escalation, Exclude, GateRef, MissedRule, Notify, Param, Plan,
    PlanKind, Planner, Policy, Repair, Replan, ScheduleRule, Secret, foreign, planner, sound,
};
use crate::diag::{Code, Diagnostic};
use crate::expr::Template;
use crate::model::{Given, GoalApproval, OnStuck, OnUnmet, Overlap, Taint};
use crate::name::{EnvName, Name, PlanId, SkillName};
use crate::source::Spanned;
use crate::spec::decode::{Decoder, Entries, Fields, OneOrMany, Period, record, words};

record! {
    /// A goal: a desired state, looked at on a schedule, and repaired within what was approved.
    pub struct Goal as "a goal" {
        /// What the file is.
        required kind: GoalKind,
        /// The id of the goal, unique in the workspace: lower-case words joined by hyphens.
        expected id: Spanned<PlanId>,
        /// A line for people.
        optional title: String,
        /// A few lines for people.
        optional description: String,
        /// When it is looked at: one rule, or several.
        expected schedule: Spanned<OneOrMany<ScheduleRule>>,
        /// The zone in which times without one are read, by its IANA name: `UTC` if absent.
        optional timezone: Spanned<String>,
        /// What happens where clocks are put forward or back.
        optional dst: DstRule,
        /// Days and times of the day at which it is not looked at.
        default exclude: Vec<Exclude>,
        /// No slot is before this: a date, a time in the goal's zone, or an instant.
        optional active_from: Spanned<String>,
        /// No slot is after this: a date, which is a whole day, a time in the goal's zone, or an
        /// instant.
        optional active_until: Spanned<String>,
        /// How far slots are spread out: each goal has its own part of it, always the same.
        optional splay: Spanned<Period>,
        /// How late a slot may begin and still be on time: `1m` if absent.
        optional window: Spanned<Period>,
        /// What is done about slots at which nobody was there.
        optional missed: MissedRule,
        /// What is done about a slot that comes while a cycle goes on: `skip` if absent.
        optional overlap: Spanned<Overlap>,
        /// After how many failed cycles in a row it pauses: it never does if absent.
        optional auto_pause_after: Spanned<u32>,
        /// The desired state.
        expected verify: Spanned<Vec<Check>>,
        /// What follows where it is not as desired: `report` if absent.
        optional on_failure: Spanned<OnUnmet>,
        /// How it is made as desired.
        optional repair: Repair,
        /// Whose word a repair needs: `standing` if absent.
        optional approval: Spanned<GoalApproval>,
        /// Who is told of what.
        default notify: Vec<Notify>,
        /// Typed inputs, each with a default: a JSON Schema each.
        default params: Entries<Name, Param>,
        /// Environment variables for every step.
        default env: Entries<EnvName, Template>,
        /// Values that must not be seen, and where they come from.
        default secrets: Entries<EnvName, Secret>,
        /// The skills that its repair may use; those that it names if absent.
        optional skills: Vec<Spanned<SkillName>>,
        /// How steps share the machine and what a failure does.
        optional policy: Policy,
        /// The longest a look may take, and the longest a repair may.
        optional timeout: Spanned<Period>,
        /// What a look may use up at most, and what a repair may: attempts, time, tokens, money.
        optional budget: Box<Budget>,
        /// Rules at trigger points, for looks, for repairs and for every step: names of files in
        /// `gates/`, or gates.
        default gates: Vec<GateRef>,
        /// What the blocks of gates lead to, by name.
        default escalation: Entries<Name, Escalation>,
        /// How far a repair that failed is tried another way; not at all if absent.
        optional replan: Replan,
        /// A program that is asked for another way where no declared one is left.
        optional planner: Box<Planner>,
        /// What follows where no declared way is left: `consult_planner` where there is a planner,
        /// else `abandon`.
        optional on_stuck: OnStuck,
    }
    instead {
        "steps" => "steps belong to the repair: write `repair: {steps: […]}`",
        "finally" => "let the repair use a plan that has `finally`: `repair: {uses: PLAN.md}`",
        "inspect" => "a goal has one list of checks: write them below `verify`",
        "test" => "a goal has one list of checks: write them below `verify`",
        "outputs" => "nothing uses a goal, so that nothing could read them",
        "cron" => "write `schedule: \"0 6 * * *\"`",
        "at" => "write `schedule: {at: 2026-12-01T09:00}`",
    }
    foreign foreign::GOAL;
    aside {
        /// The parameters that every goal has besides its own.
        given: Entries<Name, Param>,
    }
    finish is_sound;
}

/// The kind of a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoalKind {
    /// `goal`
    Goal,
}

words!(GoalKind { "goal" => Self::Goal });

words!(Overlap {
    "skip" => Self::Skip,
    "queue_one" => Self::QueueOne,
    "queue_all" => Self::QueueAll,
    "replace" => Self::Replace,
    "allow" => Self::Allow,
});

words!(OnUnmet { "report" => Self::Report, "spawn_plan" => Self::SpawnPlan });

words!(GoalApproval { "standing" => Self::Standing, "none" => Self::None });

fn is_sound(goal: &mut Goal, fields: &Fields<'_, '_>, decoder: &mut Decoder<'_>) {
    sound::some_time(goal.timeout.as_ref(), decoder);
    sound::own_names(&goal.env, decoder);
    planner::is_asked(goal.on_stuck, fields, decoder);
    if let Some(budget) = &goal.budget {
        budget.leaves_steps_something(0, decoder);
    }
    let mut wrong = |at, message: &str, help: &str| {
        decoder.note(Diagnostic::new(Code::ValueWrong, at, message).help(help));
    };
    if let Some(count) = goal.auto_pause_after.as_ref().filter(|c| c.value == 0) {
        let message = "after 0 failed cycles it would never begin";
        wrong(
            count.span,
            message,
            "write 1 or more, or remove it to never pause",
        );
    }
    let short = |window: &&Spanned<Period>| window.value.0 < std::time::Duration::from_secs(1);
    if let Some(window) = goal.window.as_ref().filter(short) {
        let message = "nothing begins so exactly: every slot would be missed";
        wrong(window.span, message, "write 1s or more");
    }
    agrees(goal, fields, decoder);
    add_given(goal, decoder);
}

/// Notes keys that contradict each other, or mean nothing together.
fn agrees(goal: &Goal, fields: &Fields<'_, '_>, decoder: &mut Decoder<'_>) {
    let spawns = goal.on_unmet() == OnUnmet::SpawnPlan;
    // A word that could not be read has been reported, and says nothing.
    let is_read = |key: &str, read: bool| read || !fields.has(key);
    if spawns && !fields.has("repair") {
        let message = "`on_failure: spawn_plan` has nothing to start";
        let mistake = Diagnostic::new(Code::KeyMissing, fields.key("on_failure"), message);
        decoder.note(mistake.help("add `repair: {uses: PLAN.md}` or `repair: {steps: […]}`"));
    }
    if fields.has("repair") && !spawns && is_read("on_failure", goal.on_failure.is_some()) {
        let message = "the repair would never start";
        let mistake = Diagnostic::new(Code::KeyMissing, fields.key("repair"), message);
        decoder.note(mistake.help("write `on_failure: spawn_plan`, or remove it"));
    }
    for key in ["approval", "replan"] {
        if fields.has(key) && !fields.has("repair") {
            let message = format!("`{key}` means nothing without `repair`");
            let mistake = Diagnostic::new(Code::KeyMissing, fields.key(key), message);
            decoder.note(mistake.help("add `repair`, or remove it"));
        }
    }
    let overlap = goal.overlap.as_ref().map(|word| word.value);
    let overlap = overlap.unwrap_or_default();
    let keeps_all = matches!(overlap, Overlap::QueueAll | Overlap::Allow);
    if let Some(all) = goal.missed.as_ref().and_then(MissedRule::all)
        && !keeps_all
        && is_read("overlap", goal.overlap.is_some())
    {
        let word = overlap.as_str();
        let message = format!(
            "`run: all` begins several slots, and `overlap: {word}` keeps only one of them"
        );
        let mistake = Diagnostic::new(Code::ValueWrong, all, message);
        decoder.note(mistake.help("write `overlap: queue_all`, or `run: latest`"));
    }
}

/// Adds the parameters that every goal has. Nobody else may declare them.
fn add_given(goal: &mut Goal, decoder: &mut Decoder<'_>) {
    for given in Given::ALL {
        let name = given.as_str();
        let mut own = goal.params.iter().map(|(own, _)| own);
        if let Some(own) = own.find(|own| own.value.as_str() == name) {
            let message = format!("every goal has the parameter `{name}` already");
            let mistake = Diagnostic::new(Code::DuplicateId, own.span, message);
            decoder.note(mistake.help("remove it, and read it as it is"));
            continue;
        }
        let Ok(known) = Name::parse(name) else {
            continue;
        };
        let at = crate::source::Span::default();
        let Some(schema) = decoder.schema(serde_json::json!({ "type": "string" }), at) else {
            continue;
        };
        let taint = match given {
            Given::FailedChecks => Taint::External,
            Given::Slot | Given::PrevSlot => Taint::Owner,
        };
        let param = Param {
            schema,
            default: Some(Spanned::new(given.default_value().into(), at)),
            taint,
            description: None,
        };
        goal.given.0.push((Spanned::new(known, at), param));
    }
}

impl Goal {
    /// The plan of the goal: its checks as criteria, and its repair as steps.
    pub fn plan(&self) -> Plan {
        let mut params = self.params.clone();
        params.0.extend(self.given.iter().cloned());
        let steps = self.repair.as_ref().map(Repair::to_steps);
        Plan {
            kind: PlanKind::Plan,
            id: self.id.clone(),
            title: self.title.clone(),
            description: self.description.clone(),
            params,
            env: self.env.clone(),
            secrets: self.secrets.clone(),
            skills: self.skills.clone(),
            policy: self.policy.clone(),
            timeout: self.timeout.clone(),
            budget: self.budget.clone(),
            steps,
            finally: Vec::new(),
            inspect: Vec::new(),
            test: Vec::new(),
            verify: self
                .verify
                .as_ref()
                .map_or_else(Vec::new, |checks| checks.value.clone()),
            outputs: Entries::default(),
            gates: self.gates.clone(),
            escalation: self.escalation.clone(),
            replan: self.replan.clone(),
            planner: self.planner.clone(),
            on_stuck: self.on_stuck,
            layers: None,
            briefing: String::new(),
        }
    }

    /// What follows where the state is not as desired.
    pub fn on_unmet(&self) -> OnUnmet {
        let word = self.on_failure.as_ref().map(|word| word.value);
        word.unwrap_or_default()
    }

    /// The secrets that the news of the goal are sent with.
    pub fn told_with(&self) -> impl Iterator<Item = &Spanned<EnvName>> {
        let hooks = self.notify.iter().filter_map(|one| one.webhook.as_ref());
        hooks.flat_map(|hook| hook.url_secret.iter().chain(&hook.secret))
    }
}
