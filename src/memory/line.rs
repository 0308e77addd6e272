use serde::{Deserialize, Serialize};

use super::megram::{Megram, Origin, id};
use super::{BadTag, Level, State, Tags, Weights};
use crate::digest::Digest;
use crate::time::Moment;

/// A megram as it is written. What may be left out follows from the rest.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    #[serde(default)]
    id: Option<Digest>,
    #[serde(default)]
    level: Option<Level>,
    created: Moment,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    recalled: Option<Moment>,
    space: String,
    entity: String,
    content: String,
    state: State,
    #[serde(default)]
    f: Option<f64>,
    #[serde(default)]
    sigma: Option<f64>,
    #[serde(default)]
    k: Option<f64>,
}

/// Why a line is no megram.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadMegram {
    /// A tag has not the form of one.
    #[error(transparent)]
    Tag(#[from] BadTag),
    /// A number is out of its range.
    #[error("`{name}` is {found}; it must be {range}")]
    Number {
        /// Which.
        name: &'static str,
        /// What it is.
        found: String,
        /// What it may be.
        range: &'static str,
    },
}

/// The word for where a megram comes from that says nothing of it.
const ELSEWHERE: &str = "import";

impl TryFrom<Line> for Megram {
    type Error = BadMegram;

    fn try_from(line: Line) -> Result<Self, BadMegram> {
        let tags = Tags::parse(&line.space, &line.entity)?;
        let level = line.level.unwrap_or(Level::Megram);
        let row = line.state.weights();
        let weights = Weights {
            f: line.f.unwrap_or(row.f),
            sigma: line.sigma.unwrap_or(row.sigma),
            k: line.k.unwrap_or(if level.fades() { row.k } else { 0.0 }),
        };
        in_range(level, weights)?;
        let origin = Origin {
            at: line.created,
            from: ELSEWHERE,
        };
        Ok(Self {
            id: (line.id).unwrap_or_else(|| id(line.state, &tags, &line.content, origin)),
            level,
            created: line.created,
            recalled: line.recalled,
            tags,
            content: line.content,
            state: line.state,
            f: weights.f,
            sigma: weights.sigma,
            k: weights.k,
        })
    }
}

/// Checks what a megram promises about its numbers.
fn in_range(level: Level, weights: Weights) -> Result<(), BadMegram> {
    let Weights { f, sigma, k } = weights;
    let wrong = |name, found: f64, range| {
        let found = found.to_string();
        Err(BadMegram::Number { name, found, range })
    };
    if !(0.0..=1.0).contains(&f) {
        return wrong("f", f, "from 0 to 1");
    }
    if !(-1.0..=1.0).contains(&sigma) {
        return wrong("sigma", sigma, "from -1 to 1");
    }
    match level {
        Level::CommonSense if sigma == 0.0 => wrong("sigma", sigma, "not 0 in a rule"),
        Level::CommonSense | Level::Thinking if k != 0.0 => {
            wrong("k", k, "0 on a level that does not fade")
        }
        Level::Megram | Level::Knowledge if !(k > 0.0 && k.is_finite()) => {
            wrong("k", k, "more than 0 on a level that fades")
        }
        _ => Ok(()),
    }
}

impl From<Megram> for Line {
    fn from(megram: Megram) -> Self {
        Self {
            id: Some(megram.id),
            level: Some(megram.level),
            created: megram.created,
            recalled: megram.recalled,
            space: megram.tags.space,
            entity: megram.tags.entity,
            content: megram.content,
            state: megram.state,
            f: Some(megram.f),
            sigma: Some(megram.sigma),
            k: Some(megram.k),
        }
    }
}
