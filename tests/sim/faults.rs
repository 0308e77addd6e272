//! What can go wrong in a world.

use super::dice::Dice;

/// A kind of trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An engine dies between two of its acts: before an append, or after it and before it is seen.
    Crash,
    /// An engine dies between two effects of one turn.
    Torn,
    /// Every engine and process dies, and the end of the log is lost.
    Power,
    /// An append fails, and its engine ends.
    Store,
    /// Somebody asks for the end of a run.
    Cancel,
    /// The clock jumps.
    Jump,
    /// An answer arrives a second time, or a timer goes off early.
    Stale,
    /// Completions overtake each other.
    Delay,
    /// A killed attempt ends by itself before it is killed.
    Race,
    /// Somebody writes a file that was evidence.
    Meddle,
}

impl Fault {
    pub const ALL: [Self; 10] = [
        Self::Crash,
        Self::Torn,
        Self::Power,
        Self::Store,
        Self::Cancel,
        Self::Jump,
        Self::Stale,
        Self::Delay,
        Self::Race,
        Self::Meddle,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Crash => "crash",
            Self::Torn => "torn",
            Self::Power => "power",
            Self::Store => "store",
            Self::Cancel => "cancel",
            Self::Jump => "jump",
            Self::Stale => "stale",
            Self::Delay => "delay",
            Self::Race => "race",
            Self::Meddle => "meddle",
        }
    }
}

/// The kinds of trouble that a world has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults(u16);

impl Faults {
    pub const NONE: Self = Self(0);
    pub const ALL: Self = Self(u16::MAX);

    pub fn has(self, fault: Fault) -> bool {
        self.0 & (1 << fault as u16) != 0
    }

    #[must_use]
    pub fn without(self, fault: Fault) -> Self {
        Self(self.0 & !(1 << fault as u16))
    }

    /// Some of these, as dice fall: a world with everything at once hides what needs calm.
    #[must_use]
    pub fn some(self, dice: &mut Dice) -> Self {
        let all = dice.one_in(4);
        let drop = |left: Self, fault| {
            if !all && dice.one_in(2) { left.without(fault) } else { left }
        };
        Fault::ALL.into_iter().fold(self, drop)
    }
}
