//! One binary for all integration tests.
#![expect(
    clippy::unwrap_used,
    reason = "a test that meets what it does not expect fails"
)]

mod approvals;
mod attest;
mod audit;
mod auditor;
mod bad_input;
mod begun;
mod budgets;
mod cheaters;
mod cli;
mod clock;
mod conformance;
mod connections;
mod converge;
mod crash;
mod daemon;
mod decisions;
mod docs;
mod escapes;
mod examples;
mod faults;
mod gates;
mod gating;
mod goals;
mod hostile;
mod junit;
mod killed;
mod layers;
mod leaks;
mod leases;
mod logs;
mod machine;
mod owners;
mod pinned;
mod pipelines;
mod planner;
mod plants;
mod processes;
mod relied;
mod remembers;
mod restricted;
mod rounds;
mod schedule;
mod schemas;
mod secrets;
mod shipped;
mod sim;
mod skill_import;
mod skill_lock;
mod skilled;
mod skills;
mod spec;
mod staged;
mod support;
mod tampered;
mod tidy;
