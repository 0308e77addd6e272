//! `wf` runs workflows written as Markdown files with YAML front matter.
//!
//! The files are reviewed like code. A file becomes a graph of steps; a pure state machine
//! decides what runs; checks that the worker cannot touch decide what is done; every decision
//! is an event, durable before anything relies on it.
//!
//! # Data flow
//!
//! ```text
//! plan.md ──spec──▶ spanned tree ──check──▶ diagnostics (all of them)
//!                        │
//!                        └─lower──▶ model::Plan        valid by construction
//!                                        │
//!        Input ───────────────▶ machine::Machine ────▶ Event ──▶ store (SQLite, hash-chained)
//!          ▲                         │                               │
//!          │                       Effect, once its events           ├──▶ report, cli
//!          │                         ▼     are durable               ├──▶ replay after a crash
//!          │                         │                               └──▶ bus ──▶ audit (a log of its own)
//!          ├── exec (processes, requests), verify (checks), timers, locks, cache
//!          ├── gate: rules at four points, evaluated before anything continues
//!          └── approval: signed answers of approvers; a run that only waits for them has no process
//!
//! supervisor (`keeper`): the process that owns the processes of `exec`, and outlives the engine
//! ```
//!
//! One direction: a module names only modules above it in this table, and `tests/layers.rs`
//! keeps it so.
//!
//! | layer | modules | may |
//! |---|---|---|
//! | words | [`digest`] [`source`] [`diag`] [`name`] [`time`] [`schedule`] [`crash`] [`untrusted`] [`skill`] | know nothing else |
//! | language | [`expr`] [`model`] [`spec`] [`graph`] [`check`] [`config`] | be pure: text in, model and diagnostics out |
//! | decisions | [`gate`] [`ggs`] [`machine`] [`verify`] [`mask`] [`seal`] [`approval`] [`memory`] [`goal`] [`connection`] | be pure: no clock, no I/O, no async |
//! | between | [`bus`] | pass on events, in memory |
//! | hands | [`store`] [`exec`] [`repeat`] [`audit`] [`service`] | touch the disk, processes and the network |
//! | engine | [`engine`] | wait |
//! | faces | [`report`] [`cli`] | talk to users |
//!
//! # Terms
//!
//! *Plan*: steps and the checks of their results. *Step*: one unit of work. *Task* (`Place`): a step, or
//! one item of a repeated step. *Attempt*: one execution of a task. *Run*: one execution of a plan.
//! *Check*: one external verification; a *criterion* is its subject, a *verdict* its result.
//! *State*: the position of a step in its life cycle; *standing*: the trust in its result, which is
//! `reported` on the worker's claim alone, `verified` by a check. *Sandbox*: the isolation of a check,
//! or of a step that asks for it; a *guard* is one restriction that it enforces. *Pinned* (`fixed`): the
//! inputs of a check, as they were when the run started. *Evidence*: the files that were checked; it
//! is *stale* once they have changed. *Correction*: the feedback to an attempt about the one before.
//! *Gate*: a rule at a *trigger* that continues, blocks or asks; *escalation*: the reaction to a block.
//! *Ask*: a recorded request for approval; an *approval* is a signed yes, of a plan or to an ask.
//! *Initiator*: the user who started a run. *Suspended* (`parked`): a run that only waits for approvals.
//! *Megram*: one entry of memory; those of the same tags are a *cluster*; a *rule* is what the
//! *Dreamer* makes of one that is certain.
//! *Goal*: a desired state; a *scheduled time* (`slot`) is an instant at which it is due by its
//! *schedule*. A *check run* (`look`) runs its checks, a *repair* its steps and then the checks; a
//! *reconciliation* (`cycle`) is one check run and its repair.
//! *Grant*: the limits of a standing approval of a goal. It can be *withdrawn*; an *opinion* is a user's
//! feedback on a repair, and *advice* a wider or a tighter grant that follows from many.
//! *Taint*: the trust in a value, by its source.
//! *Connection*: an account at a service that a skill's scripts set up and maintain; its secrets are
//! referred to by *ref*.
//!
//! Start reading at [`machine`].

pub mod approval;
pub mod audit;
pub mod bus;
pub mod check;
pub mod cli;
pub mod config;
pub mod connection;
pub mod crash;
pub mod diag;
pub mod digest;
pub mod engine;
pub mod exec;
pub mod expr;
pub mod gate;
pub mod ggs;
pub mod goal;
pub mod graph;
pub mod machine;
pub mod mask;
pub mod memory;
pub mod model;
pub mod name;
pub mod repeat;
pub mod report;
pub mod schedule;
pub mod seal;
pub mod service;
pub mod skill;
pub mod source;
pub mod spec;
pub mod store;
pub mod time;
pub mod untrusted;
pub mod verify;
