use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::model::{Auth, ConnectionSpec};
use crate::source::Span;
use crate::spec::decode::Mistakes;
use crate::spec::yaml;
use crate::time::parse_duration;

/// What a skill says under `connection` and `scripts` in `metadata.wf`, as far as connections need
/// it. The decoder of all of `metadata.wf` takes its place once it is there.
#[derive(Clone, Debug)]
pub struct Declared {
    /// What it says of connections.
    pub spec: ConnectionSpec,
    /// Which scripts have a network, by path.
    pub network: BTreeMap<String, bool>,
}

#[derive(Deserialize)]
struct Front {
    #[serde(default)]
    metadata: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Own {
    connection: Option<Connection>,
    #[serde(default)]
    scripts: BTreeMap<String, Script>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Connection {
    auth: Auth,
    permissions: Permissions,
    check_every: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Permissions {
    initial: Vec<String>,
    #[serde(default)]
    available: Vec<String>,
}

#[derive(Default, Deserialize)]
struct Script {
    #[serde(default)]
    allow: Allow,
}

#[derive(Default, Deserialize)]
struct Allow {
    #[serde(default)]
    net: bool,
}

/// Reads what SKILL.md says; or why it is no skill of a connection.
pub fn declared(text: &str) -> Result<Declared, String> {
    let front = text
        .strip_prefix("---\n")
        .and_then(|rest| rest.split_once("\n---\n"))
        .ok_or("its SKILL.md has no front matter")?;
    let front: Front = read(front.0)?;
    let own = front.metadata.get("wf").ok_or("it has no `metadata.wf`")?;
    let own: Own = read(own)?;
    let said = own
        .connection
        .ok_or("its `metadata.wf` has no `connection`")?;
    let every = said.check_every.as_deref().map(parse_duration).transpose();
    let check_every = every.map_err(|bad| format!("`check_every`: {bad}"))?;
    if check_every.is_some_and(|every| every < Duration::from_mins(1)) {
        return Err("`check_every` is less than a minute".into());
    }
    let mut all = said
        .permissions
        .initial
        .iter()
        .chain(&said.permissions.available);
    let is_plain = |text: &String| {
        (1..=200).contains(&text.len()) && text.chars().all(|c| c.is_ascii_graphic())
    };
    if !all.all(is_plain) {
        return Err("a permission is not 1 to 200 visible ASCII characters".into());
    }
    let network = own.scripts.into_iter();
    Ok(Declared {
        spec: ConnectionSpec {
            auth: said.auth,
            initial: said.permissions.initial,
            available: said.permissions.available,
            check_every,
        },
        network: network
            .map(|(path, script)| (path, script.allow.net))
            .collect(),
    })
}

fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let mut mistakes = Mistakes::default();
    let tree = yaml::read(text, Span::new(0, text.len()), &mut mistakes);
    let mistakes = mistakes.into_diagnostics();
    if let Some(mistake) = mistakes.first() {
        return Err(format!("its front matter: {}", mistake.message));
    }
    let tree = tree.ok_or("its front matter is empty")?;
    serde_json::from_value(tree.json()).map_err(|error| format!("its front matter: {error}"))
}

#[cfg(test)]
mod tests {
    use super::declared;
    use crate::model::Auth;
    use std::time::Duration;

    const SKILL: &str = "---\nname: x\ndescription: y\nmetadata:\n  version: \"1.0\"\n  wf: |\n    connection: {auth: device_code, permissions: {initial: [a], available: [b]}, check_every: 30m}\n    scripts:\n      scripts/setup.sh: {allow: {net: true}, timeout: 1m}\n---\n# X\n";

    #[test]
    fn a_skill_says_how_it_connects() {
        let declared = declared(SKILL).unwrap();
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
            assert!(declared(&text).is_err(), "{text}");
        }
    }
}
