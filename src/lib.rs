//! `wf` runs workflows written as Markdown files with YAML front matter.
//!
//! The files are reviewed like code. A file becomes a graph of steps; a pure state machine
//! decides what runs; checks that the worker cannot touch decide what is done; every decision
//! is an event, durable before anything relies on it.
//!
//! # The way of data
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
//!          ├── gate: rules at four points, asked before anything goes on
//!          └── approval: signed answers of people; a run that only waits for them has no process
//!
//! keeper: the process that owns the processes of `exec`, and outlives the engine
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
//! | between | [`bus`] | pass on what happened, in memory |
//! | hands | [`store`] [`exec`] [`repeat`] [`audit`] [`service`] | touch the disk, processes and the network |
//! | engine | [`engine`] | wait |
//! | faces | [`report`] [`cli`] | speak to people |
//!
//! # Words
//!
//! *Plan*: steps and how we know they worked. *Step*: one unit of work. *Place*: a step, or one
//! item of a repeated step. *Attempt*: one execution of a place. *Run*: one execution of a plan.
//! *Check*: one external verification; a *criterion* is what it decides, a *verdict* what it
//! ruled. *State* says where a step is in its life; *standing* says how far its result is
//! believed: `reported` is the worker's word, `verified` is a check's. *Sandbox*: what confines a
//! check, or a step that asks for it; a *guard* is one thing that it enforces. *Fixed*: what a check
//! relies on, as it was when the run began. *Evidence*: what was checked; it is *stale* once that
//! has changed. *Correction*: what an attempt is told about the one before.
//! *Gate*: a rule at a *trigger* that continues, blocks or asks; *escalation*: what a block leads to.
//! *Ask*: a recorded question to people; an *approval* is a signed yes, of a plan or to an ask.
//! *Initiator*: who began a run. A run that only waits for people is *parked*.
//! *Megram*: one thing that memory keeps; those of the same tags are a *cluster*; a *rule* is what
//! the *Dreamer* makes of one that is certain.
//! *Goal*: a desired state; a *slot* is an instant at which it is due. A *look* runs its checks, a
//! *repair* its steps and then the checks; a *cycle* is one look and its repair.
//! *Grant*: what a standing approval of a goal allows. It can be *withdrawn*; an *opinion* is what
//! people thought of a repair, and *advice* a wider or a tighter grant that follows from many.
//! *Taint*: how far a value is trusted, by where it comes from.
//! *Connection*: an account at a service that a skill's scripts set up and look after; its secrets are
//! spoken of by *ref*.
//! *Slot*: an instant at which something is due by its *schedule*.
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
