use clap::Args;
use serde_json::{Value, json};

use super::who;
use crate::bus::Act;
use crate::cli::execute::Telling;
use crate::cli::goals::{Begin, Hold, LEADER, as_kept, begin, by_name, ledger_of, poke, tell};
use crate::cli::{Exit, Failure, Ui, load, watch};
use crate::goal::{Cause, Health, Known, turn};
use crate::model::Goal;
use crate::report::{WARN, paint};
use crate::store::Reader;
use crate::time::Moment;

/// Run the cycles of slots of the past that did not begin
#[derive(Args, Debug)]
#[command(after_help = "\
Slots that have begun are left alone, so that it can be given again: after an interruption it goes
on where it was. Excluded slots stay excluded. A daemon runs the slots one after the other; without
one, this command does.")]
pub struct BackfillArgs {
    /// The goal: its id, or its file
    #[arg(value_name = "GOAL")]
    goal: String,
    /// From this instant on
    #[arg(long, value_name = "INSTANT", value_parser = super::next::instant)]
    from: Moment,
    /// Up to this instant
    #[arg(long, value_name = "INSTANT", value_parser = super::next::instant)]
    to: Moment,
    /// How many slots at most
    #[arg(short = 'n', long, value_name = "N", default_value_t = 100)]
    limit: usize,
    /// Show the slots, and touch nothing
    #[arg(long)]
    dry_run: bool,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Runs what did not begin.
pub fn run(ui: &Ui, args: &BackfillArgs) -> Result<Exit, Failure> {
    let workspace = ui.workspace();
    let (ready, goal) = by_name(ui, &args.goal)?;
    let slots = slots(ui, &goal, args)?;
    if args.dry_run {
        if args.json {
            ui.print_json(&document(&slots, &[]))?;
            return Ok(Exit::Ok);
        }
        let lines: String = slots.iter().map(|slot| slot.to_second() + "\n").collect();
        ui.print(&lines)?;
        return Ok(Exit::Ok);
    }
    let (store, reader) = ledger_of(ui, &ready)?;
    let now = ui.env.now();
    let mut ledger = crate::cli::goals::StoreLedger {
        store: &store,
        reader: &reader,
        token: None,
    };
    turn(&*as_kept(&goal, &reader)?, &mut ledger, now)?;
    let due = store.backfill(&goal.id, slots.clone(), now).wait()?;
    let known = reader.known(&goal.id)?;
    drop((store, reader));
    ui.note(&to_begin(due, slots.len()));
    if let (Some(from), Some(to), 1..) = (slots.first(), slots.last(), due) {
        let act = Act::GoalBackfilled {
            goal: goal.id.clone(),
            from: *from,
            to: *to,
            slots: due as u64,
            key: who(ui).map(|key| key.public.id()),
        };
        watch::note(ui, act);
    }
    let Ok(lead) = Hold::attempt(&workspace.state, LEADER)? else {
        poke(&workspace.state);
        ui.note("the daemon runs them, one after the other\n");
        if args.json {
            ui.print_json(&document(&slots, &[]))?;
        }
        return Ok(Exit::Ok);
    };
    // Whoever leads may begin now: a slot begins once, whoever is faster.
    drop(lead);
    let mut ended = Vec::new();
    let exit = work(ui, &goal, (&ready, known.as_ref()), &slots, &mut ended)?;
    if args.json {
        ui.print_json(&document(&slots, &ended))?;
    }
    Ok(exit)
}

/// The slots, each with how its cycle ended, if one did here.
fn document(slots: &[Moment], ended: &[(Moment, Health)]) -> String {
    let health = |slot: &Moment| {
        ended
            .iter()
            .find(|(at, _)| at == slot)
            .map(|(_, health)| *health)
    };
    let one = |slot: &Moment| json!({"slot": slot, "health": health(slot)});
    let slots: Vec<Value> = slots.iter().map(one).collect();
    format!("{:#}\n", json!({"v": 1, "slots": slots}))
}

/// How many of the slots are to begin, in words.
fn to_begin(due: usize, all: usize) -> String {
    match (due, all) {
        (_, 0) => "no slot was due in this time\n".to_owned(),
        (0, _) => "every slot of this time has begun, or waits to begin\n".to_owned(),
        (1, 1) => "1 slot is to begin\n".to_owned(),
        (due, all) if due == all => format!("{due} slots are to begin\n"),
        (due, all) => format!("{due} of {all} slots to begin; the others have begun, or wait to\n"),
    }
}

/// The slots that are asked for: of the past, and not too many.
fn slots(ui: &Ui, goal: &Goal, args: &BackfillArgs) -> Result<Vec<Moment>, Failure> {
    let usage = |message: String| Failure::new(Exit::Usage, message);
    if args.to < args.from {
        return Err(usage(format!(
            "--to {} is before --from {}",
            args.to, args.from
        )));
    }
    let now = ui.env.now();
    if args.to > now {
        let message = format!("--to {} has not come yet", args.to.to_second());
        return Err(usage(message).hint("what is to come begins by itself"));
    }
    let before = Moment::from_millis(args.from.millis().saturating_sub(1));
    let all = goal.timing.slots(before, args.to);
    let wanted = all.filter(|slot| slot.excluded.is_none());
    let slots: Vec<Moment> = wanted.take(args.limit + 1).map(|slot| slot.at).collect();
    if slots.len() > args.limit {
        let message = format!("these are more than {} slots", args.limit);
        return Err(usage(message).hint("give a shorter time, or --limit N"));
    }
    Ok(slots)
}

/// Works on those that wait, one after the other.
fn work(
    ui: &Ui,
    goal: &std::sync::Arc<Goal>,
    (ready, known): (&load::Ready, Option<&Known>),
    slots: &[Moment],
    done: &mut Vec<(Moment, Health)>,
) -> Result<Exit, Failure> {
    let waits = |slot: &Moment| {
        let open = known.into_iter().flat_map(|known| &known.open);
        open.into_iter()
            .any(|open| open.slot == *slot && open.cause == Cause::Backfill)
    };
    let mut exit = Exit::Ok;
    for slot in slots.iter().filter(|slot| waits(slot)) {
        let ask = Begin {
            slot: Some(*slot),
            cause: Cause::Backfill,
            token: None,
        };
        match begin(ui, (ready, goal), ask, &Telling::default()) {
            Ok(ended) => {
                if !ended.verdict.health.is_good() {
                    exit = Exit::RunFailed;
                }
                done.push((*slot, ended.verdict.health));
                let word = ended.verdict.health.as_str();
                ui.say_line(&format!("{} · {word}", slot.to_second()));
                // Whoever interrupts this means all of it; the other slots are still due.
                if ended.verdict.health == Health::Cancelled {
                    return Ok(Exit::Interrupted);
                }
            }
            Err(failure) if still_due(ui, goal, *slot)? => return Err(failure),
            Err(_) => {
                let (warning, slot) = (paint(WARN, "warning:"), slot.to_second());
                ui.say_line(&format!("{warning} {slot}: somebody else runs it"));
            }
        }
    }
    tell(ui)?;
    Ok(exit)
}

fn still_due(ui: &Ui, goal: &Goal, slot: Moment) -> Result<bool, Failure> {
    let known = Reader::open(&ui.workspace().state)?.known(&goal.id)?;
    Ok(known.is_some_and(|known| known.open.iter().any(|open| open.slot == slot)))
}
