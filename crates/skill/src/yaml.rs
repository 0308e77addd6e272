//! The front matter of a skill: [`wf_base::yaml`] where every scalar is text, as it is for the reference validator.
//!
//! Oddities are kept beside the tree: each of the three readers of a `SKILL.md` decides what they mean.

use wf_base::{
    source::Span,
    yaml::{self, YamlError, YamlNode, YamlOddity, YamlSchema},
};

/// The content of a front matter.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SkillYamlDocument {
    /// Its value; `None` if there is nothing but comments.
    pub root: Option<YamlNode<'static>>,
    /// The oddities that strict readers refuse, in the order of the text.
    pub odd: Vec<YamlOddity>,
}

impl SkillYamlDocument {
    /// Returns the document with every span moved.
    pub(crate) fn moved(self, to: &impl Fn(Span) -> Span) -> Self {
        let odd = self.odd.into_iter().map(|YamlOddity { kind, span }| YamlOddity { kind, span: to(span) });
        Self { root: self.root.map(|root| root.moved(to)), odd: odd.collect() }
    }
}

pub(crate) fn read_document(text: &str, at: Span) -> Result<SkillYamlDocument, YamlError> {
    let mut odd = Vec::new();
    let root = yaml::read(text, at, YamlSchema::Failsafe, &mut |oddity| odd.push(oddity))?;
    odd.sort_by_key(|odd| odd.span.start);
    Ok(SkillYamlDocument { root: root.map(|root| root.moved(&|span| span)), odd })
}
