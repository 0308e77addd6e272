use serde::{Deserialize, Serialize};

use crate::suggestion::SuggestionOffer;
use crate::undo::UndoOffer;

/// The runs that may follow one that succeeded, if a person wants them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RunOffers {
    /// The means to undo it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<Box<UndoOffer>>,
    /// The suggestions of what may be done next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggests: Option<Box<SuggestionOffer>>,
}
