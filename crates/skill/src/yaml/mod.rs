//! The front matter of a skill as a tree of texts, lists and mappings.
//!
//! Every scalar is text, as it is for the reference validator. Constructs that YAML allows and
//! strict readers refuse are recorded as [`YamlOddity`] and do not stop the reading: each caller decides.
//!
//! **Bounds:** `MAX_DEPTH` and `MAX_NODES`. An alias is never followed, so a text cannot grow.

mod read;
mod tabs;
mod tree;
mod value;

pub(super) use read::read;
pub(super) use value::{
    SkillYamlDocument, SkillYamlEntry, SkillYamlNode, SkillYamlValue, YamlNotation, YamlOddity,
    YamlOddityKind, YamlSyntaxError,
};
