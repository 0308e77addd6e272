use clap::Args;
use serde_json::{Value, json};

use crate::{
    Ui,
    execute::{OutputArgs, observer},
};
use wf_app::{
    CliExitCode, CommandError, Host,
    goals::{FileLock, GoalBackfill, LEADER_LOCK, load_by_name, send_notifications, wake_daemon},
    load,
};
use wf_base::{
    time::Moment,
    untrusted::{WARN, paint},
};
use wf_core::goal::ReconciliationHealth;
use wf_model::Goal;

/// Run the missed reconciliations of past scheduled times
#[derive(Args, Debug)]
#[command(after_help = "\
Slots that have already started are not run again, so the command can be repeated: after an
interruption it continues where it stopped. Excluded slots stay excluded. The daemon runs the
slots one after the other; without a daemon, this command does.")]
pub struct GoalBackfillArgs {
    /// ID or file of the goal
    #[arg(value_name = "GOAL")]
    goal: String,
    /// Start of the period
    #[arg(long, value_name = "INSTANT")]
    from: Moment,
    /// End of the period (inclusive)
    #[arg(long, value_name = "INSTANT")]
    to: Moment,
    /// Maximum number of scheduled times
    #[arg(short = 'n', long, value_name = "N", default_value_t = 100)]
    limit: usize,
    /// Show the scheduled times, and touch nothing
    #[arg(long)]
    dry_run: bool,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the missed reconciliations.
pub fn run(ui: &Ui, args: &GoalBackfillArgs) -> Result<CliExitCode, CommandError> {
    let workspace = ui.host.workspace();
    let (loaded, goal) = load_by_name(ui, &args.goal)?;
    let slots = slots(&ui.host, &goal, args)?;
    if args.dry_run {
        if args.json {
            ui.print_json(&document(&slots, &[]))?;
            return Ok(CliExitCode::Ok);
        }
        let lines: String = slots.iter().map(|slot| slot.to_second() + "\n").collect();
        ui.print(&lines)?;
        return Ok(CliExitCode::Ok);
    }
    let backfill = GoalBackfill::queue(ui, loaded, goal, &slots)?;
    ui.print_info(&start_count_text(backfill.due, slots.len()));
    backfill.record(ui, &slots);
    let Ok(lead) = FileLock::try_lock(&workspace.state, LEADER_LOCK)? else {
        wake_daemon(&workspace.state);
        ui.print_info("the daemon runs them one after the other\n");
        if args.json {
            ui.print_json(&document(&slots, &[]))?;
        }
        return Ok(CliExitCode::Ok);
    };
    // The leader may start them now: each scheduled time starts once, by the faster of the two.
    drop(lead);
    let mut ended = Vec::new();
    let exit = work(ui, &backfill, &slots, &mut ended)?;
    if args.json {
        ui.print_json(&document(&slots, &ended))?;
    }
    Ok(exit)
}

/// The scheduled times, each with the outcome of its reconciliation, if one ended here.
fn document(slots: &[Moment], ended: &[(Moment, ReconciliationHealth)]) -> String {
    let health = |slot: &Moment| ended.iter().find(|(at, _)| at == slot).map(|(_, health)| *health);
    let slot_json = |slot: &Moment| json!({"slot": slot, "health": health(slot)});
    let slots: Vec<Value> = slots.iter().map(slot_json).collect();
    format!("{:#}\n", json!({"v": 1, "slots": slots}))
}

/// The number of scheduled times to start, in words.
fn start_count_text(due: usize, all: usize) -> String {
    match (due, all) {
        (_, 0) => "no slots in this period\n".to_owned(),
        (0, _) => "every slot of this period has started or is queued\n".to_owned(),
        (1, 1) => "1 slot to run\n".to_owned(),
        (due, all) if due == all => format!("{due} slots to run\n"),
        (due, all) => {
            format!("{due} of {all} slots to run; the others have started or are queued\n")
        }
    }
}

/// Returns the requested scheduled times: past ones only, and not too many.
fn slots(host: &Host, goal: &Goal, args: &GoalBackfillArgs) -> Result<Vec<Moment>, CommandError> {
    let usage = |message: String| CommandError::new(CliExitCode::Usage, message);
    if args.to < args.from {
        return Err(usage(format!("--to {} is before --from {}", args.to, args.from)));
    }
    let now = host.now();
    if args.to > now {
        let message = format!("--to {} is in the future", args.to.to_second());
        return Err(usage(message).hint("future slots are run by the daemon"));
    }
    let before = Moment::from_millis(args.from.millis().saturating_sub(1));
    let all_slots = goal.timing.slots(before, args.to);
    let due_slots = all_slots.filter(|slot| slot.excluded.is_none());
    let slots: Vec<Moment> = due_slots.take(args.limit + 1).map(|slot| slot.at).collect();
    if slots.len() > args.limit {
        let message = format!("this period has more than {} slots", args.limit);
        return Err(usage(message).hint("choose a shorter period, or raise --limit N"));
    }
    Ok(slots)
}

/// Runs the waiting ones, one after the other.
fn work(
    ui: &Ui,
    backfill: &GoalBackfill,
    slots: &[Moment],
    healths: &mut Vec<(Moment, ReconciliationHealth)>,
) -> Result<CliExitCode, CommandError> {
    let silent = OutputArgs::default();
    let observe = |loaded: &load::LoadedPlan| observer(ui, loaded, &silent);
    let mut exit = CliExitCode::Ok;
    for slot in slots.iter().filter(|slot| backfill.is_queued(**slot)) {
        let Some(ended) = backfill.run_slot(ui, *slot, &observe)? else {
            let (warning, slot) = (paint(WARN, "warning:"), slot.to_second());
            ui.print_message_line(&format!("{warning} {slot}: already run by another process"));
            continue;
        };
        let health = ended.outcome.health;
        if !health.is_good() {
            exit = CliExitCode::RunFailed;
        }
        healths.push((*slot, health));
        ui.print_message_line(&format!("{} · {}", slot.to_second(), health.as_str()));
        // An interrupt means all of it; the other scheduled times are still due.
        if health == ReconciliationHealth::Cancelled {
            return Ok(CliExitCode::Interrupted);
        }
    }
    send_notifications(ui)?;
    Ok(exit)
}
