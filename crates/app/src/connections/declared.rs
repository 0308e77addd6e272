use std::{collections::BTreeMap, time::Duration};

use wf_base::{
    diag::Severity,
    name::{NameFormatError, SkillName},
    source::SourceText,
};
use wf_lang::read_skill;
use wf_model::ConnectionDeclaration;

/// The part of `connection` and `scripts` in a skill's `metadata.wf` connections need.
#[derive(Clone, Debug)]
pub struct AdapterDeclaration {
    pub spec: ConnectionDeclaration,
    /// The network access of scripts, by path.
    pub network: BTreeMap<String, bool>,
}

/// The reason why a skill is not one of a connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadDeclaration {
    #[error(transparent)]
    Name(#[from] NameFormatError),
    /// Its first mistake.
    #[error("its SKILL.md: {0}")]
    Mistake(String),
    #[error("its SKILL.md cannot be read")]
    Unreadable,
    #[error("its `metadata.wf` has no `connection`")]
    NoConnection,
    #[error("`check_every` must be at least 1m")]
    Interval,
    #[error("a permission must have 1 to 200 visible ASCII characters")]
    Permission,
}

/// Reads the declaration in a SKILL.md.
pub fn parse_declaration(text: &str, name: &str) -> Result<AdapterDeclaration, BadDeclaration> {
    let name = SkillName::parse(name)?;
    let (read, mistakes) = read_skill(&SourceText::new("SKILL.md", text), &name);
    let mut mistakes = mistakes.iter();
    if let Some(mistake) = mistakes.find(|diagnostic| diagnostic.severity() == Severity::Error) {
        return Err(BadDeclaration::Mistake(mistake.message.clone()));
    }
    let (_, extension) = read.ok_or(BadDeclaration::Unreadable)?;
    let connection = extension.connection.ok_or(BadDeclaration::NoConnection)?;
    let check_every = connection.check_every.map(|every| every.value.0);
    if check_every.is_some_and(|every| every < Duration::from_mins(1)) {
        return Err(BadDeclaration::Interval);
    }
    let permissions = connection.permissions;
    let (initial, available) =
        permissions.map_or_else(Default::default, |declared| (declared.initial, declared.available));
    // They are shown to the user who agrees to them.
    let is_plain =
        |text: &String| (1..=200).contains(&text.len()) && text.chars().all(|c| c.is_ascii_graphic());
    if !initial.iter().chain(&available).all(is_plain) {
        return Err(BadDeclaration::Permission);
    }
    let network = extension.scripts.iter().map(|(path, script)| {
        let net = script.allow.as_ref().is_some_and(|allow| allow.net);
        (path.value.clone(), net)
    });
    Ok(AdapterDeclaration {
        network: network.collect(),
        spec: ConnectionDeclaration { auth: connection.auth, initial, available, check_every },
    })
}

#[cfg(test)]
mod tests {
    use super::parse_declaration;
    use std::time::Duration;
    use wf_model::AuthMethod;

    const SKILL: &str = "---\nname: x\ndescription: y\nmetadata:\n  version: \"1.0\"\n  wf: |\n    connection: {auth: device_code, permissions: {initial: [a], available: [b]}, check_every: 30m}\n    scripts:\n      scripts/setup.sh: {allow: {net: true}, timeout: 1m}\n---\n# X\n";

    #[test]
    fn a_skill_says_how_it_connects() {
        let declared = parse_declaration(SKILL, "x").unwrap();
        assert_eq!(declared.spec.auth, AuthMethod::DeviceCode);
        assert_eq!(declared.spec.initial, ["a"]);
        assert_eq!(declared.spec.available, ["b"]);
        assert_eq!(declared.spec.check_every, Some(Duration::from_mins(30)));
        assert_eq!(declared.network.get("scripts/setup.sh"), Some(&true));
    }

    #[test]
    fn what_is_no_connection_is_told() {
        for text in [
            "# X\n".to_owned(),
            SKILL.replace("connection:", "connexion:"),
            SKILL.replace("device_code", "magic"),
            SKILL.replace("30m", "30"),
            SKILL.replace("30m", "1s"),
            SKILL.replace("initial", "first"),
            SKILL.replace("[b]", "[\"b\\e[2J\"]"),
            SKILL.replace("[b]", "['']"),
            SKILL.replace("  wf: |", "  fw: |"),
        ] {
            assert!(parse_declaration(&text, "x").is_err(), "{text}");
        }
    }
}
