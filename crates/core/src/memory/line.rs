use serde::{Deserialize, Serialize};

use super::{
    BadTag, MegramLevel, MegramState, MegramTags, MegramWeights,
    megram::{Megram, MegramOrigin, id},
};
use wf_base::{digest::Sha256Digest, time::Moment};

/// A megram as it is written. Optional fields follow from the rest.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MegramLine {
    #[serde(default)]
    id: Option<Sha256Digest>,
    #[serde(default)]
    level: Option<MegramLevel>,
    created: Moment,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    recalled: Option<Moment>,
    space: String,
    entity: String,
    content: String,
    state: MegramState,
    #[serde(default)]
    f: Option<f64>,
    #[serde(default)]
    sigma: Option<f64>,
    #[serde(default)]
    k: Option<f64>,
}

/// The reason why a line is not a megram.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadMegram {
    /// A tag is malformed.
    #[error(transparent)]
    Tag(#[from] BadTag),
    /// A number is out of range.
    #[error("`{name}` is {found}; it must be {range}")]
    Number {
        /// The name of the number.
        name: &'static str,
        found: String,
        /// The allowed range.
        range: &'static str,
    },
}

/// The source of a megram whose line names none.
const ELSEWHERE: &str = "import";

impl TryFrom<MegramLine> for Megram {
    type Error = BadMegram;

    fn try_from(line: MegramLine) -> Result<Self, BadMegram> {
        let tags = MegramTags::parse(&line.space, &line.entity)?;
        let level = line.level.unwrap_or(MegramLevel::Megram);
        let row = line.state.weights();
        let weights = MegramWeights {
            f: line.f.unwrap_or(row.f),
            sigma: line.sigma.unwrap_or(row.sigma),
            k: line.k.unwrap_or(if level.fades() { row.k } else { 0.0 }),
        };
        in_range(level, weights)?;
        let origin = MegramOrigin { at: line.created, from: ELSEWHERE };
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

/// Checks the ranges of a megram's numbers.
fn in_range(level: MegramLevel, weights: MegramWeights) -> Result<(), BadMegram> {
    let MegramWeights { f, sigma, k } = weights;
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
        MegramLevel::CommonSense if sigma == 0.0 => wrong("sigma", sigma, "not 0 for a rule"),
        MegramLevel::CommonSense | MegramLevel::Thinking if k != 0.0 => {
            wrong("k", k, "0 on a level that does not decay")
        }
        MegramLevel::Megram | MegramLevel::Knowledge | MegramLevel::Claim if !(k > 0.0 && k.is_finite()) => {
            wrong("k", k, "more than 0 on a level that decays")
        }
        _ => Ok(()),
    }
}

impl From<Megram> for MegramLine {
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
