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
        says: "The state is the fold of the events: told again from the first, they lead to the same state.",
        holds: record::fold,
    },
    Law {
        name: "indexes",
        says: "Every index over the tasks agrees with a scan of their records.",
        holds: record::indexes,
    },
    Law {
        name: "restored",
        says: "A state that is stored after any event and restored goes on exactly as if it had lived.",
        holds: elsewhere,
    },
    Law {
        name: "durable_first",
        says: "Nothing is done before the events that it follows from are durable.",
        holds: record::durable_first,
    },
    Law {
        name: "time",
        says: "The times of a run's events never go back, whatever the clock does.",
        holds: record::time,
    },
    Law {
        name: "idle",
        says: "An input that answers nothing, because it comes a second time or too early, changes nothing.",
        holds: record::idle,
    },
    Law {
        name: "frugal",
        says: "A turn tells and asks no more of a place than what became of it.",
        holds: record::frugal,
    },
    Law {
        name: "asked_once",
        says: "Nothing is asked for while it is already under way, and only what is under way is killed.",
        holds: record::asked_once,
    },
    Law {
        name: "settled",
        says: "What has ended never begins again: a success that is recorded is not repeated.",
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
        says: "A phase of checks is asked once all before it hold or people let them be ignored, sends the work back no more often than `loops` grants, and what was ignored is never verified.",
        holds: phases::phases,
    },
    Law {
        name: "backoff",
        says: "No attempt begins before it is due, and it is due when `retry` says.",
        holds: places::backoff,
    },
    Law {
        name: "waits",
        says: "A wait ends when its time has come, and has timed out exactly if its limit came first, however late it is looked at.",
        holds: times::waits,
    },
    Law {
        name: "limits",
        says: "The limits on a run, on an attempt and on the wait for a turn count from when these began, however often the run is resumed.",
        holds: times::limits,
    },
    Law {
        name: "order",
        says: "A step begins only after everything it depends on has ended, and ended well unless it asks for itself.",
        holds: places::order,
    },
    Law {
        name: "standing",
        says: "A result is verified only if every check of its last attempt passed, and refuted only if one did not.",
        holds: places::standing,
    },
    Law {
        name: "fresh",
        says: "Nothing stays verified whose evidence was seen to have changed, nor does its run; and nothing is called stale that did not change.",
        holds: proof::fresh,
    },
    Law {
        name: "confirm_before_end",
        says: "A run that proved something ends only after its evidence was looked at once more, behind all steps, unless somebody insists on the end.",
        holds: proof::confirm_before_end,
    },
    Law {
        name: "corrected",
        says: "Every attempt but the first is told which criteria the one before failed, and how far all before it were from done, exactly as it is recorded.",
        holds: proof::corrected,
    },
    Law {
        name: "gated",
        says: "Nothing begins, is judged or succeeds before the gates that are asked first have let it, and no run succeeds past its own.",
        holds: gates::gated,
    },
    Law {
        name: "spawned",
        says: "The plan of an escalation begins only where a gate escalated to it, at the end, and is not left out then.",
        holds: gates::spawned,
    },
    Law {
        name: "decided",
        says: "People are asked once for each question, are heard only while it is open, until its time is over; what needs their yes goes on with that alone.",
        holds: gates::decided,
    },
    Law {
        name: "bounded",
        says: "Rounds are numbered, and no more follow than `max_replans` allows; nothing is tried once the resources are used up, and nothing after the round that ends the run.",
        holds: rounds::bounded,
    },
    Law {
        name: "other_ways",
        says: "What is blocked stays blocked and is not used again, and no way of a step is taken twice.",
        holds: rounds::other_ways,
    },
    Law {
        name: "planner",
        says: "A planner is asked for a round after which no way is left, and once more if its answer used what is forbidden; the round ends when it has answered, and every answer is taken or refused, and recorded.",
        holds: rounds::planner,
    },
    Law {
        name: "guided",
        says: "A planner is asked about an agent at most once in a round, after three attempts, and people when nothing else is left; meanwhile its step does nothing, and what each says grants one attempt more and no other thing.",
        holds: guidance::guided,
    },
    Law {
        name: "verified_stays",
        says: "A round lets run again what failed, what was not reached, what is done otherwise, and what depends on these: nothing else.",
        holds: rounds::verified_stays,
    },
    Law {
        name: "same_rounds",
        says: "The same plan and the same verdicts give the same rounds, with the same D, for every `max_parallel` and every `on_failure`.",
        holds: elsewhere,
    },
    Law { name: "skipped", says: "What is skipped was never begun.", holds: places::skipped },
    Law {
        name: "one_writer",
        says: "Tasks that declare to change the same file are never under way at once.",
        holds: places::one_writer,
    },
    Law {
        name: "lock_told",
        says: "A place says once for each attempt that it waits for its lock, however often it is resumed.",
        holds: places::lock_told,
    },
    Law {
        name: "kept",
        says: "What was taken over from an earlier run is not made again.",
        holds: places::kept,
    },
    Law {
        name: "one_process",
        says: "At most one process lives for a place at any time, those that outlived their engine counted.",
        holds: work::one_process,
    },
    Law {
        name: "room",
        says: "No more attempts run at once than `max_parallel` allows, and the room that is taken is that of what runs.",
        holds: work::room,
    },
    Law {
        name: "under_lock",
        says: "Work and checks begin only while their place holds its named lock and the files that it declares to change, which no place of another run holds, and these are given back only after they ended.",
        holds: work::under_lock,
    },
    Law {
        name: "lock_order",
        says: "While work that has room waits for its lock, after a resume, nobody else of its run takes one: so no circle of waits can close.",
        holds: work::lock_order,
    },
    Law {
        name: "freed",
        says: "A run that is over holds no lock, waits for none, and leaves no process behind.",
        holds: work::freed,
    },
    Law {
        name: "remembered",
        says: "Only what succeeded by work of its own is kept for reuse.",
        holds: work::remembered,
    },
    Law {
        name: "ending",
        says: "After a cancellation or the end of its time a run begins nothing but `finally` steps; told twice, nothing at all.",
        holds: ends::ending,
    },
    Law {
        name: "stopping",
        says: "After a failure that stops the run no step begins but those that ask for it, and `finally` steps; what was begun goes on to its own end, unless the policy cancels it. No failure stops a run that has rounds.",
        holds: ends::stopping,
    },
    Law {
        name: "told",
        says: "Whatever shall not go on is cancelled by a signal (Ctrl-C / wf cancel), by each \
            engine that finds it under way.",
        holds: ends::told,
    },
    Law {
        name: "finally",
        says: "The `finally` steps come after all others, one after the other, each once, and are cancelled only by who insists.",
        holds: ends::finally,
    },
    Law {
        name: "budget",
        says: "No attempt begins beyond a budget, but the first of each `finally` step; each part of a limit is noticed once; and what is used up is what the events say, however often the run is resumed.",
        holds: budget::budget,
    },
    Law {
        name: "merged",
        says: "What an agent did in a worktree is merged after its attempt ended well, at most once, and no two merges of a run are under way at the same time; its step ends well only after that, and is verified only if nobody else had changed the workspace.",
        holds: merges::merged,
    },
    Law {
        name: "called",
        says: "A model or a tool is called only once the log says that the call begins, and not once it says its end; the model is told why tools were refused, and what an agent left is collected once its end is recorded.",
        holds: agents::called,
    },
    Law {
        name: "paid_once",
        says: "The calls of an agent are numbered from 1, one at a time, and each ends once at most; what a run has paid is the sum of these ends and of what gates, planners and attempts reported, however often it is resumed.",
        holds: agents::paid_once,
    },
    Law {
        name: "refused",
        says: "A tool call is executed only if the model asked for it in its turn, nothing is wrong with it, every gate let it pass and no untrusted text closed its tool; else it is refused, and never executed.",
        holds: agents::refused_calls,
    },
    Law {
        name: "children",
        says: "A child run begins once, after the log says so, only if a tool call of its attempt asked for it and what it depends on succeeded, and no more at once than the plan allows; each has ended before its attempt does.",
        holds: children::children,
    },
    Law {
        name: "answered",
        says: "The outputs of a decision are what people saw, and exactly the answer that they gave.",
        holds: answers::answered,
    },
    Law {
        name: "generated",
        says: "A plan that the run made begins only after the log has the digest of its text, by exactly this text, and once; one outside its envelope never begins, and its attempt fails.",
        holds: generated::generated,
    },
    Law {
        name: "collects",
        says: "What waits for no child run is answered in the turn in which it begins; a call that waits is answered once all that it asks for has ended.",
        holds: children::collects,
    },
    Law {
        name: "exchanged",
        says: "A model is called, a reply acted on, and a result given to the model only once all gates of that were asked and let it pass; what one blocks or rewrites goes no further.",
        holds: exchanges::exchanged,
    },
    Law {
        name: "approved_calls",
        says: "A tool call that needs an approval begins only with one of exactly this call, which serves no other; meanwhile the attempt does nothing.",
        holds: agents::approved_calls,
    },
    Law {
        name: "afforded",
        says: "A model is called only where all that it may use fits what the budget has left, less the reserve for `finally` steps and what other calls under way may use.",
        holds: agents::afforded,
    },
    Law {
        name: "compacted",
        says: "The compactor is asked once for a call, where the budget allows it and not for five minutes after three failures; it chooses among old turns alone, and the call that follows is cut as it chose, once that is in the log.",
        holds: compactions::compacted,
    },
    Law {
        name: "fits",
        says: "A request and the longest reply never exceed the context window; what is cut from the conversation stays cut, is never its last turn, and nothing is cut before there is a need.",
        holds: agents::fits,
    },
    Law {
        name: "turns",
        says: "An agent makes no more calls than `max_turns` and one that repairs its answer, none once its time is over, its program is begun again to repair an answer once at most, and its attempt ends as the agent did.",
        holds: agents::turns,
    },
    Law { name: "counts", says: "The tally counts every step once, as it ended.", holds: ends::counts },
    Law {
        name: "outcome",
        says: "How the run ended follows from how its steps ended, what was asked of it and what its criteria say.",
        holds: ends::outcome,
    },
    Law { name: "total", says: "No input makes the machine panic.", holds: elsewhere },
    Law {
        name: "no_stall",
        says: "As long as a run is not over, something is under way that will bring it further.",
        holds: elsewhere,
    },
    Law { name: "ends", says: "Every run ends, within a bounded number of inputs.", holds: elsewhere },
    Law {
        name: "terminated",
        says: "A run that is terminated, at whatever time, ends at once: what was under way was interrupted, what had not begun is cancelled, and nobody is asked any more.",
        holds: terminated::terminated,
    },
    Law {
        name: "same_end",
        says: "A run that is interrupted, and finds out what became of its work, ends like one that is not: same states, same outputs.",
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
