//! The invariants, by name. `docs/guarantees.md` lists them for people; a test compares the two.

mod agents;
mod answers;
mod budget;
mod children;
mod compactions;
mod ends;
mod exchanges;
mod gates;
mod generated;
mod guidance;
mod merges;
mod phases;
mod places;
mod proof;
mod record;
mod rounds;
mod terminated;
mod times;
mod work;

use super::look::Look;

pub use ends::same_end;

/// An invariant.
pub struct Law {
    pub name: &'static str,
    /// What it says, in one sentence.
    pub says: &'static str,
    /// Asked after everything that happens; an error says how it is broken.
    pub holds: fn(&Look<'_>) -> Result<(), String>,
}

/// Every invariant.
pub const LAWS: &[Law] = &[
    Law {
        name: "fold",
        says: "The state is the fold of the events: a replay from the first one leads to the same state.",
        holds: record::fold,
    },
    Law {
        name: "indexes",
        says: "Every index over the tasks agrees with a scan of their records.",
        holds: record::indexes,
    },
    Law {
        name: "restored",
        says: "A state that is stored after any event and restored continues exactly like one that was never stored.",
        holds: elsewhere,
    },
    Law {
        name: "durable_first",
        says: "No effect is requested before the events that cause it are durable.",
        holds: record::durable_first,
    },
    Law {
        name: "time",
        says: "The times of a run's events never go back, also if the clock does.",
        holds: record::time,
    },
    Law {
        name: "idle",
        says: "An input that answers no open request, because it is repeated or too early, changes nothing.",
        holds: record::idle,
    },
    Law {
        name: "frugal",
        says: "A turn emits only events and requests about tasks that changed in it.",
        holds: record::frugal,
    },
    Law {
        name: "asked_once",
        says: "No work is requested while it is already in progress, and only work in progress is killed.",
        holds: record::asked_once,
    },
    Law {
        name: "settled",
        says: "A task that has ended never starts again: a recorded success is not repeated.",
        holds: places::settled,
    },
    Law {
        name: "one_end",
        says: "Every step and every item ends exactly once, in a final state, before its run does; nothing follows the end of the run.",
        holds: places::one_end,
    },
    Law {
        name: "attempts",
        says: "Attempts are numbered from 1 without gaps, one at a time, and never more than `retry` grants.",
        holds: places::attempts,
    },
    Law {
        name: "phases",
        says: "A phase of checks runs once all phases before it pass or people let them be ignored, sends the work back no more often than `loops` permits, and a result with an ignored phase is never verified.",
        holds: phases::phases,
    },
    Law {
        name: "backoff",
        says: "No attempt starts before it is due according to `retry`.",
        holds: places::backoff,
    },
    Law {
        name: "waits",
        says: "A wait ends at its time, and times out exactly if its limit comes first, also if the engine examines it later.",
        holds: times::waits,
    },
    Law {
        name: "limits",
        says: "The limits on a run, on an attempt and on the wait for a turn count from their start, also if the run is resumed.",
        holds: times::limits,
    },
    Law {
        name: "order",
        says: "A step starts only after all its dependencies have ended, and succeeded unless its condition accepts a failure.",
        holds: places::order,
    },
    Law {
        name: "standing",
        says: "A result is verified only if every check of its last attempt passed, and refuted only if one did not.",
        holds: places::standing,
    },
    Law {
        name: "fresh",
        says: "No result stays verified after a change of its evidence was found, nor does its run; and no unchanged evidence is called stale.",
        holds: proof::fresh,
    },
    Law {
        name: "confirm_before_end",
        says: "A run with verified results ends only after its evidence was compared once more, after all steps, unless a user forces the end.",
        holds: proof::confirm_before_end,
    },
    Law {
        name: "corrected",
        says: "Every attempt but the first gets the failed checks of the one before, and the number of failed checks of all before it, exactly as recorded.",
        holds: proof::corrected,
    },
    Law {
        name: "gated",
        says: "No task starts, is checked or succeeds before the gates at that point have passed, and no run succeeds before its own gates have.",
        holds: gates::gated,
    },
    Law {
        name: "spawned",
        says: "The plan of an escalation starts only if a gate escalated to it, at the end, and always then.",
        holds: gates::spawned,
    },
    Law {
        name: "decided",
        says: "Each question is put to people once, and answers count only while it is open, until it expires; work that needs an approval continues only with one.",
        holds: gates::decided,
    },
    Law {
        name: "bounded",
        says: "Rounds are numbered, and at most `max_replans` follow the first; no attempt starts once the resources are used up, or after the round that ends the run.",
        holds: rounds::bounded,
    },
    Law {
        name: "other_ways",
        says: "Blocked tools and targets stay blocked and are not used again, and no alternative of a step is taken twice.",
        holds: rounds::other_ways,
    },
    Law {
        name: "planner",
        says: "A planner is asked after a round that leaves no alternative, and once more if its answer used something forbidden; the round ends with its answer, and every answer is accepted or refused, and recorded.",
        holds: rounds::planner,
    },
    Law {
        name: "guided",
        says: "A planner is asked about an agent at most once in a round, after three attempts, and people when no other means is left; meanwhile its step does nothing, and each answer grants one more attempt and no permission.",
        holds: guidance::guided,
    },
    Law {
        name: "verified_stays",
        says: "A round runs again the steps that failed, were not reached or use another alternative, and their dependents: no other steps.",
        holds: rounds::verified_stays,
    },
    Law {
        name: "same_rounds",
        says: "The same plan and the same verdicts give the same rounds, with the same D, for every `max_parallel` and every `on_failure`.",
        holds: elsewhere,
    },
    Law { name: "skipped", says: "A skipped task never started.", holds: places::skipped },
    Law {
        name: "one_writer",
        says: "Tasks that declare to change the same file are never in progress at the same time.",
        holds: places::one_writer,
    },
    Law {
        name: "lock_told",
        says: "A task records once for each attempt that it waits for its lock, also if the run is resumed.",
        holds: places::lock_told,
    },
    Law {
        name: "kept",
        says: "A result that is reused from an earlier run is not produced again.",
        holds: places::kept,
    },
    Law {
        name: "one_process",
        says: "At most one process is alive for a task at any time, including those that outlived their engine.",
        holds: work::one_process,
    },
    Law {
        name: "room",
        says: "At most `max_parallel` attempts run at the same time, and exactly the running ones take slots.",
        holds: work::room,
    },
    Law {
        name: "under_lock",
        says: "Work and checks start only while their task holds its named lock and the files that it declares to change, which no task of another run holds; these are released only after they ended.",
        holds: work::under_lock,
    },
    Law {
        name: "lock_order",
        says: "While work that has a slot waits for its lock, after a resume, no other task of its run takes one: so no cycle of waits can form.",
        holds: work::lock_order,
    },
    Law {
        name: "freed",
        says: "A run that has ended holds no lock, waits for none, and leaves no process behind.",
        holds: work::freed,
    },
    Law {
        name: "remembered",
        says: "Only results of work that succeeded in this run are stored for reuse.",
        holds: work::remembered,
    },
    Law {
        name: "ending",
        says: "After a cancellation or a timeout a run starts only `finally` steps; after a second cancellation, none.",
        holds: ends::ending,
    },
    Law {
        name: "stopping",
        says: "After a failure that stops the run, only steps whose condition accepts a failure and `finally` steps start; steps in progress finish, unless the policy cancels them. No failure stops a run that has rounds.",
        holds: ends::stopping,
    },
    Law {
        name: "told",
        says: "Work that must not continue is cancelled, by each engine that finds it in progress.",
        holds: ends::told,
    },
    Law {
        name: "finally",
        says: "The `finally` steps run after all others, one after the other, each once, and only a second cancellation cancels them.",
        holds: ends::finally,
    },
    Law {
        name: "budget",
        says: "No attempt starts beyond a budget, except the first of each `finally` step; each threshold of a limit is recorded once; and the used budget follows from the events, also if the run is resumed.",
        holds: budget::budget,
    },
    Law {
        name: "merged",
        says: "The changes of an agent in a worktree are merged after its attempt succeeded, at most once, and one merge of a run at a time; its step succeeds only after that, and is verified only if no other change of the workspace was made.",
        holds: merges::merged,
    },
    Law {
        name: "called",
        says: "A model or a tool is called only after the start of the call is in the log, and never after its end is; the model gets the reasons of refused tool calls, and the outputs of an agent are collected once its end is recorded.",
        holds: agents::called,
    },
    Law {
        name: "paid_once",
        says: "The calls of an agent are numbered from 1, one at a time, and each ends at most once; the cost of a run is the sum of these ends and of the reports of gates, planners and attempts, also if it is resumed.",
        holds: agents::paid_once,
    },
    Law {
        name: "refused",
        says: "A tool call is executed only if the model made it in its turn, it is valid, every gate passed it and no untrusted text closed its tool; else it is refused, and never executed.",
        holds: agents::refused_calls,
    },
    Law {
        name: "children",
        says: "A child run starts once, after its start is in the log, only if a tool call of its attempt requested it and its dependencies succeeded, and within the limit of the plan; each ends before its attempt does.",
        holds: children::children,
    },
    Law {
        name: "answered",
        says: "The outputs of a decision are exactly the text that people saw and the answer that they gave.",
        holds: answers::answered,
    },
    Law {
        name: "generated",
        says: "A plan that the run made starts once, with exactly the text whose digest is in the log before; one outside its envelope never starts, and its attempt fails.",
        holds: generated::generated,
    },
    Law {
        name: "collects",
        says: "A call that waits for no child run is answered in the turn in which it starts; a call that waits is answered once all runs that it names have ended.",
        holds: children::collects,
    },
    Law {
        name: "exchanged",
        says: "A model is called, a reply used, and a result given to the model only after all gates at that point have passed it; a text that a gate blocks or rewrites is not passed on.",
        holds: exchanges::exchanged,
    },
    Law {
        name: "approved_calls",
        says: "A tool call that needs an approval starts only with an approval of exactly this call, which is used for no other; meanwhile the attempt does nothing.",
        holds: agents::approved_calls,
    },
    Law {
        name: "afforded",
        says: "A model is called only if the most that the call may use fits the remaining budget, less the reserves for `finally` steps and for other calls in progress.",
        holds: agents::afforded,
    },
    Law {
        name: "compacted",
        says: "The compactor is asked once for a call, if the budget allows it, and not for five minutes after three failures; it chooses among old turns only, and the next call is cut by its choice, once that is in the log.",
        holds: compactions::compacted,
    },
    Law {
        name: "fits",
        says: "A request and the longest reply never exceed the context window; turns that are cut from the conversation stay cut, the last turn is never cut, and no turn is cut before the limit is reached.",
        holds: agents::fits,
    },
    Law {
        name: "turns",
        says: "An agent makes at most `max_turns` calls and one that repairs its answer, none after its timeout; its program is started again at most once, to repair an answer; and its attempt ends with the result of the agent.",
        holds: agents::turns,
    },
    Law { name: "counts", says: "The counts include every step once, by its result.", holds: ends::counts },
    Law {
        name: "outcome",
        says: "The outcome of a run follows from the results of its steps, its cancellation and its checks.",
        holds: ends::outcome,
    },
    Law { name: "total", says: "No input makes the machine panic.", holds: elsewhere },
    Law {
        name: "no_stall",
        says: "Until a run has ended, some work or wait is in progress that will continue it.",
        holds: elsewhere,
    },
    Law { name: "ends", says: "Every run ends, within a bounded number of inputs.", holds: elsewhere },
    Law {
        name: "terminated",
        says: "A run that is terminated, at any time, ends at once: work in progress is interrupted, tasks that have not started are cancelled, and open requests are withdrawn.",
        holds: terminated::terminated,
    },
    Law {
        name: "same_end",
        says: "A run that is interrupted and learns the results of its work ends like one that is not: same states, same outputs.",
        holds: elsewhere,
    },
];

/// For what the world itself sees, where it lets time pass.
#[expect(clippy::unnecessary_wraps, reason = "it stands among laws that can be broken")]
fn elsewhere(_: &Look<'_>) -> Result<(), String> {
    Ok(())
}

/// Breaks a law, unless something holds.
fn ensure(holds: bool, reason: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(reason()) }
}
