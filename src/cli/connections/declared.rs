use std::collections::BTreeMap;
use std::time::Duration;

use crate::diag::Severity;
use crate::model::ConnectionSpec;
use crate::name::SkillName;
use crate::source::Source;
use crate::spec::read_skill;

/// What a skill says under `connection` and `scripts` in `metadata.wf`, as far as connections need
/// it.
#[derive(Clone, Debug)]
pub struct Declared {
    /// What it says of connections.
    pub spec: ConnectionSpec,
    /// Which scripts have a network, by path.
    pub network: BTreeMap<String, bool>,
}

/// Reads what SKILL.md says; or why it is no skill of a connection.
pub fn declared(text: &str, name: &str) -> Result<Declared, String> {
    let name = SkillName::parse(name).map_err(|bad| bad.to_string())?;
    let (read, mistakes) = read_skill(&Source::new("SKILL.md", text), &name);
    let mut mistakes = mistakes.iter();
    if let Some(mistake) = mistakes.find(|one| one.severity() == Severity::Error) {
        return Err(format!("its SKILL.md: {}", mistake.message));
    }
    let (_, own) = read.ok_or("its SKILL.md cannot be read")?;
    let said = own
        .connection
        .ok_or("its `metadata.wf` has no `connection`")?;
    let check_every = said.check_every.map(|every| every.value.0);
    if check_every.is_some_and(|every| every < Duration::from_mins(1)) {
        return Err("`check_every` is less than a minute".into());
    }
    let permissions = said.permissions;
    let (initial, available) = permissions.map_or_else(Default::default, |declared| {
        (declared.initial, declared.available)
    });
    // They are shown to a person who agrees to them.
    let is_plain = |text: &String| {
        (1..=200).contains(&text.len()) && text.chars().all(|c| c.is_ascii_graphic())
    };
    if !initial.iter().chain(&available).all(is_plain) {
        return Err("a permission is not 1 to 200 visible ASCII characters".into());
    }
    let network = own.scripts.iter().map(|(path, script)| {
        let net = script.allow.as_ref().is_some_and(|allow| allow.net);
        (path.value.clone(), net)
    });
    Ok(Declared {
        network: network.collect(),
        spec: ConnectionSpec {
            auth: said.auth,
            initial,
            available,
            check_every,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::declared;
    use crate::model::Auth;
    use std::time::Duration;

    const SKILL: &str = "---\nname: x\ndescription: y\nmetadata:\n  version: \"1.0\"\n  wf: |\n    connection: {auth: device_code, permissions: {initial: [a], available: [b]}, check_every: 30m}\n    scripts:\n      scripts/setup.sh: {allow: {net: true}, timeout: 1m}\n---\n# X\n";

    #[test]
    fn a_skill_says_how_it_connects() {
        let declared = declared(SKILL, "x").unwrap();
        assert_eq!(declared.spec.auth, Auth::DeviceCode);
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
            assert!(declared(&text, "x").is_err(), "{text}");
        }
    }
}
