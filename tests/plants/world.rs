//! The hidden truth of a world: what works, how what does not work fails, how long it takes.

use wf_model::FailureClass;

use super::plan::{Order, STEPS, Way};

/// A sort of trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Plant {
    /// Each attempt that needs the network works with a probability, whatever it is done with.
    FlakyNetwork,
    /// Nothing that needs the network works until some instant; then all does.
    Outage,
    /// One target never works.
    DeadMirror,
    /// One tool gives wrong results.
    WrongTool,
    /// Only another parameter of the same tool gives right results.
    WrongParameter,
    /// Another parameter of the same tool, or another tool, gives right results.
    WrongFlag,
    /// One target never works, and one tool gives wrong results.
    TwoFaults,
    /// A wrong tool, whose failures look like those of the world.
    ToolAsWorld,
    /// A dead target, whose failures look like wrong results.
    MirrorAsLogic,
    /// Nothing works.
    Hopeless,
}

impl Plant {
    pub const ALL: [Self; 10] = [
        Self::FlakyNetwork,
        Self::Outage,
        Self::DeadMirror,
        Self::WrongTool,
        Self::WrongParameter,
        Self::WrongFlag,
        Self::TwoFaults,
        Self::ToolAsWorld,
        Self::MirrorAsLogic,
        Self::Hopeless,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::FlakyNetwork => "flaky network",
            Self::Outage => "outage",
            Self::DeadMirror => "dead mirror",
            Self::WrongTool => "wrong tool",
            Self::WrongParameter => "wrong parameter",
            Self::WrongFlag => "wrong parameter of one tool",
            Self::TwoFaults => "dead mirror and wrong tool",
            Self::ToolAsWorld => "wrong tool, looks environmental",
            Self::MirrorAsLogic => "dead mirror, looks logical",
            Self::Hopeless => "hopeless",
        }
    }
}

/// One case of a plant.
#[derive(Clone, Debug)]
pub struct World {
    pub plant: Plant,
    pub seed: u64,
    /// The order in which the plan declares the other ways.
    pub order: Order,
    /// The step that is in trouble.
    pub step: usize,
    /// How often an attempt works where the network is flaky, from 0.2 to 0.8.
    works: f64,
    /// When an outage is over, in milliseconds: after 20 to 240 seconds.
    up: i64,
    /// How a wrong result shows.
    shows: Shows,
    /// Of which class the failures of a hopeless world are.
    hopeless: FailureClass,
}

/// How a failure shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shows {
    /// The work does not end well.
    Work,
    /// The work ends well, and the check of that number refutes it.
    Check(usize),
}

/// What happens to an attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct Fate {
    /// Of which class its failure seems to be, and how it shows; `None`: it works.
    pub failure: Option<(FailureClass, Shows)>,
    /// How long it takes.
    pub duration_ms: i64,
}

impl World {
    /// Draws a case: the same seed, the same world.
    pub fn new(plant: Plant, seed: u64) -> Self {
        let roll = |what: u64| roll(seed, &[plant as u64, what]);
        let step = match plant {
            // Building needs no network.
            Plant::FlakyNetwork | Plant::Outage => 0,
            _ => below(roll(1), STEPS.len() as u64),
        };
        let shows = [Shows::Work, Shows::Check(0), Shows::Check(1)];
        let classes = [FailureClass::Logical, FailureClass::Environmental];
        Self {
            plant,
            seed,
            order: Order::of(roll(2)),
            step,
            works: 0.2 + 0.6 * part(roll(3)),
            up: span(roll(4), (20_000, 240_000)),
            shows: shows[below(roll(5), 3)],
            hopeless: classes[below(roll(6), 2)],
        }
    }

    /// What happens to the attempt of a step, the `nth` of it, that begins `at` milliseconds after
    /// the run.
    pub fn fate(&self, step: usize, way: &Way, (nth, at): (u32, i64)) -> Fate {
        let roll = |what: u64| roll(self.seed, &[self.plant as u64, what, step as u64, nth.into()]);
        let failure = self.failure(step, way, (part(roll(7)), at));
        let duration_ms = match failure {
            // What is refused is refused soon, what is not there is waited for.
            Some((FailureClass::Environmental, _)) if self.plant == Plant::Outage => (1_000, 3_000),
            Some((FailureClass::Environmental, _)) => (3_000, 30_000),
            _ => (2_000, 15_000),
        };
        let duration_ms = span(roll(8), duration_ms);
        Fate { failure, duration_ms }
    }

    fn failure(&self, step: usize, way: &Way, (luck, at): (f64, i64)) -> Option<(FailureClass, Shows)> {
        let logical = Some((FailureClass::Logical, self.shows));
        let world = Some((FailureClass::Environmental, Shows::Work));
        // Network troubles are not of one step alone.
        let network = step != 1;
        let Way { tool, target, level } = *way;
        let ill = step == self.step;
        match self.plant {
            Plant::FlakyNetwork if network && luck >= self.works => world,
            Plant::Outage if network && at < self.up => world,
            Plant::DeadMirror | Plant::TwoFaults if ill && target == 0 => world,
            Plant::WrongTool | Plant::TwoFaults if ill && tool == 0 => logical,
            Plant::WrongParameter if ill && (tool, level) != (0, 1) => logical,
            Plant::WrongFlag if ill && (tool, level) == (0, 0) => logical,
            Plant::ToolAsWorld if ill && tool == 0 => world,
            Plant::MirrorAsLogic if ill && target == 0 => logical,
            Plant::Hopeless if ill && self.hopeless == FailureClass::Logical => logical,
            Plant::Hopeless if ill => world,
            _ => None,
        }
    }
}

/// A number that seed and place decide (`SplitMix64`).
fn roll(seed: u64, place: &[u64]) -> u64 {
    let mix = |state: u64, word: &u64| {
        let mut z = (state ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    place.iter().fold(mix(seed, &0), mix)
}

/// A number as a part of one.
fn part(roll: u64) -> f64 {
    f64::from(u32::try_from(roll >> 32).unwrap_or(u32::MAX)) / (f64::from(u32::MAX) + 1.0)
}

fn below(roll: u64, most: u64) -> usize {
    usize::try_from(roll % most).unwrap_or(0)
}

fn span(roll: u64, (least, most): (i64, i64)) -> i64 {
    least + i64::try_from(roll % (most - least + 1).unsigned_abs()).unwrap_or(0)
}
