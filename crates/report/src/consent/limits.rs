use std::time::Duration;

use super::exact::{exact_bytes, exact_duration, weight};
use super::{RiskDirection, SummaryBuilder, SummaryLineKind};
use wf_model::{ResourceLimits, RunBudget, SandboxPermissions};

// A larger budget of a run allows more.
view! { budget: RunBudget in Reach {
    most max_attempts,
    most max_rounds,
    most max_wall_time_ms as "max_wall_time_seconds" = max_wall_time_ms.as_ref().map(|ms| time(*ms)),
    most max_tokens,
    most max_cost as "max_cost_usd" = max_cost.map(|cost| (cost.to_string(), weight(cost.micros()))),
    most progress = max_wall_time_ms.map(|_| progress_text(*progress)); !progress,
    least reserve_ppm in Effort as "reserve" = share(*reserve_ppm); *reserve_ppm == RunBudget::RESERVE_PPM,
} }

view! { limits: ResourceLimits in Reach {
    most memory = memory.map(bytes),
    most scratch = scratch.map(bytes),
    most output = output.map(bytes),
    most cpu,
    most processes,
} }

/// The permissions of a process in a sandbox.
pub(super) fn permissions(allow: &SandboxPermissions, all_programs: &str, sheet: &mut SummaryBuilder) {
    let SandboxPermissions { read, write, net, env, exec } = allow;
    lines!(sheet in Reach {
        grant "read" = read,
        grant "write" = write,
        grant "env" = env,
        most "net" = if *net { ("true: any host", 1.0) } else { ("false", 0.0) },
        most "exec" = if exec.is_some() { ("only the listed programs", 0.0) } else { (all_programs, 1.0) },
        grant "exec" = exec,
    });
}

/// A time limit.
pub(super) fn time_limit(time: Option<Duration>) -> (String, f64) {
    time.map_or_else(|| ("none".into(), f64::INFINITY), |time| (exact_duration(time), time.as_secs_f64()))
}

fn time(ms: u64) -> (String, f64) {
    (exact_duration(Duration::from_millis(ms)), weight(ms))
}

fn bytes(count: u64) -> (String, f64) {
    (exact_bytes(count), weight(count))
}

fn progress_text(progress: bool) -> (&'static str, f64) {
    if progress { ("yes: up to twice the time while the run makes progress", 2.0) } else { ("no", 1.0) }
}

fn share(ppm: u32) -> (String, f64) {
    (format!("{} % of each limit", f64::from(ppm) / 10_000.0), f64::from(ppm))
}
