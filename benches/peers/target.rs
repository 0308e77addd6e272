//! What `wf` is to reach, workload by workload.

use super::report::{Flushes, Outcome, Report};

/// The most that a workload may cost. What is not there is not asked.
pub struct Target {
    load: &'static str,
    /// As a multiple of the base.
    ratio: Option<f64>,
    /// Seconds.
    seconds: Option<f64>,
    /// MiB of the largest process.
    mib: Option<f64>,
    /// As a multiple of this peer.
    peer: Option<(&'static str, f64)>,
    /// Processors' time as a multiple of the base, and millionths of a second of it per step.
    cpu: Option<(f64, f64)>,
}

const NONE: Target = Target { load: "", ratio: None, seconds: None, mib: None, peer: None, cpu: None };

const fn target(load: &'static str, ratio: f64, seconds: f64) -> Target {
    Target { load, ratio: Some(ratio), seconds: Some(seconds), ..NONE }
}

/// All of them. Seconds are meant for the machine of docs/performance.md; on others, ratios count.
/// What was reached was made narrower, so that it is seen when it is lost.
pub const ALL: [Target; 13] = [
    target("single-new", 4.5, 0.012),
    Target { peer: Some(("make", 2.7)), ..target("single", 3.0, 0.008) },
    target("chain1000", 1.45, 1.10),
    Target { peer: Some(("ninja", 1.2)), cpu: Some((1.2, 950.0)), ..target("fan1000", 1.30, 0.58) },
    Target { peer: Some(("ninja", 1.2)), ..target("fan1000-p8", 1.25, 0.58) },
    Target { mib: Some(40.0), peer: Some(("ninja", 1.1)), ..target("fan10000", 1.30, 5.0) },
    target("layered", 1.30, 0.51),
    Target { peer: Some(("ninja", 1.0 / 1.6)), ..target("layered-program", 0.8, 0.45) },
    Target { peer: Some(("make", 0.5)), ..target("check10k", 7.0, 0.060) },
    Target { mib: Some(140.0), peer: Some(("make", 0.5)), ..target("check100k", 5.4, 0.65) },
    Target { load: "logs", ratio: Some(1.3), mib: Some(20.0), ..NONE },
    Target { load: "resume", seconds: Some(0.65), peer: Some(("ninja", 0.7)), ..NONE },
    Target { load: "nothing", seconds: Some(0.012), peer: Some(("ninja", 1.0)), ..NONE },
];

/// The most flushes per step, by workload.
const FLUSHES: [(&str, f64); 3] = [("chain50", 1.0), ("fan200", 0.25), ("fan200-p8", 0.15)];

/// Something that was asked, and what was found.
pub struct Finding {
    /// What, with its unit.
    pub what: String,
    /// The most that it may be.
    pub most: f64,
    /// What it is.
    pub found: f64,
}

impl Finding {
    /// Whether it was reached.
    pub fn met(&self) -> bool {
        self.found <= self.most
    }
}

/// What was asked of a workload, as far as it was measured.
pub fn findings(outcome: &Outcome) -> Vec<Finding> {
    let target = ALL.iter().find(|target| target.load == outcome.load);
    let (Some(target), Some(wf)) = (target, outcome.row("wf")) else {
        return Vec::new();
    };
    let wall = wf.own(|figures| figures.wall).median;
    let cpu = wf.own(|figures| figures.cpu).median;
    let peer = target.peer.and_then(|(name, most)| {
        let peer = outcome.row(name)?.own(|figures| figures.wall).median;
        Some((format!("× {name}"), most, wall / peer))
    });
    let base = format!("× {}", outcome.base);
    let all = [
        target.ratio.map(|most| (base, most, wf.ratio(|figures| figures.wall).median)),
        target.seconds.map(|most| ("ms".into(), most * 1e3, wall * 1e3)),
        target.mib.map(|most| ("MiB".into(), most, wf.own(|figures| figures.peak).most)),
        peer,
        target.cpu.map(|(most, _)| ("× CPU".into(), most, wf.ratio(|figures| figures.cpu).median)),
        target.cpu.map(|(_, most)| ("µs CPU/step".into(), most, outcome.micros(cpu))),
    ];
    let finding = |(what, most, found)| Finding { what, most, found };
    all.into_iter().flatten().map(finding).collect()
}

/// What was asked of flushes, as far as they were counted.
pub fn flushes(report: &Report) -> Vec<Finding> {
    let wf = report.flushes.iter().find(|flushes| flushes.program == "wf");
    let found = |flushes: &Flushes, name: &str| {
        let mut counts = flushes.counts.iter();
        counts.find(|(load, _)| load == name).map(|(_, count)| *count)
    };
    let of = |(name, most): &(&str, f64)| {
        Some(Finding { what: (*name).to_owned(), most: *most, found: found(wf?, name)? })
    };
    FLUSHES.iter().filter_map(of).collect()
}
