//! What the laws look at.

use wf_core::machine::{Effect, Event, InputKind, MachineTurn, TaskId};
use wf_model::Plan;

use super::{
    engine::Engine,
    ledger::Ledger,
    world::{Run, World},
};

/// Something happened, in a world.
pub struct Look<'a> {
    pub world: &'a World,
    /// The run that it happened to.
    pub at: usize,
    pub seen: Seen<'a>,
}

/// What happened.
#[derive(Clone, Copy, Debug)]
pub enum Seen<'a> {
    /// An event was decided; the ledger does not know it yet.
    Event(&'a Event),
    /// A turn is complete.
    Turn(&'a MachineTurn),
    /// An input that answers nothing was given, and whether it changed anything.
    Idle { what: &'a InputKind, changed: bool },
    /// An effect is about to be carried out.
    Act(&'a Effect),
    /// The work or the checks of a place are about to begin, or to be taken up again.
    Begins { task_id: &'a TaskId, process: bool },
    /// A lock is about to be given back.
    Unlocks { task_id: &'a TaskId },
    /// The run is over, and all of it carried out.
    Over,
    /// Every run of the world is over.
    End,
}

/// A law that does not hold.
#[derive(Clone, Debug)]
pub struct Broken {
    pub law: &'static str,
    pub reason: String,
}

impl<'a> Look<'a> {
    pub fn run(&self) -> &'a Run {
        &self.world.runs[self.at]
    }

    pub fn plan(&self) -> &'a Plan {
        &self.run().plan
    }

    /// What the events that were decided say, in this life of the engine.
    pub fn decided(&self) -> &'a Ledger {
        &self.run().decided
    }

    /// What the log says.
    pub fn durable(&self) -> &'a Ledger {
        &self.run().durable
    }

    pub fn engine(&self) -> Option<&'a Engine> {
        self.run().engine.as_ref()
    }
}
