//! Plants: worlds in which steps fail for hidden, seeded reasons, and what different strategies
//! make of them. Nothing is executed and nobody waits: the clock is a number.
//!
//! A *plant* is a sort of trouble; a *world* is one drawn case of it. All strategies meet the same
//! worlds, with the same budget.

mod in_order;
mod plan;
mod runs;
mod score;
mod strategy;
mod world;

use std::{collections::BTreeMap, sync::Arc};

use wf_model::Plan;

pub use score::Score;
pub use strategy::Strategy;
pub use world::{Plant, World};

/// How many attempts a run may begin, over all its steps, where nothing else is said.
pub const ATTEMPTS: u32 = 12;

/// How long a run may take, in seconds.
pub const SECONDS: u32 = 300;

/// What became of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// Whether it ended well, and every step did what it was asked to.
    pub verified: bool,
    /// Whether it ended well though some step did not.
    pub accepted: bool,
    /// How many attempts of each step began.
    pub attempts: [u32; 3],
    /// How long it took, in milliseconds.
    pub duration_ms: i64,
    /// How many rounds ended; none without a controller.
    pub rounds: u32,
    /// The rules of its rounds, and how it ended, in a few words.
    pub end: String,
}

impl Told {
    /// How many attempts began.
    pub fn all(&self) -> u32 {
        self.attempts.iter().sum()
    }
}

/// Plans that were loaded once: they depend on the strategy and on the order of the ways alone.
pub struct Plans {
    attempts: u32,
    loaded: BTreeMap<(Strategy, plan::Order), Arc<Plan>>,
}

impl Plans {
    /// Plans with a budget of so many attempts.
    pub fn new(attempts: u32) -> Self {
        Self { attempts, loaded: BTreeMap::new() }
    }

    /// Lets a strategy try itself in a world.
    pub fn run(&mut self, world: &World, strategy: Strategy) -> Told {
        if strategy == Strategy::InOrder {
            return in_order::run(world, self.attempts);
        }
        let plan = self.loaded.entry((strategy, world.order));
        let plan = plan.or_insert_with(|| plan::load(strategy, world.order, self.attempts));
        runs::run(world, strategy, plan)
    }
}
