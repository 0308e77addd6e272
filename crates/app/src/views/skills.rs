use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    Caller, CommandError,
    approve::SigningRules,
    skills::{check_usable, discover_skills, locks},
};
use wf_base::remedy::UserAction;
use wf_skill::{
    DiscoveredSkill, SkillFinding, disk,
    lock::{LockedSkill, SkillLock},
};

/// A skill in a list.
#[derive(Debug, Serialize)]
pub struct SkillListing {
    pub name: String,
    /// Its folder, as shown.
    pub path: String,
    /// Its description; absent: it does not load.
    pub description: Option<String>,
    /// The skill of the same name taking precedence.
    pub shadowed_by: Option<String>,
    /// The findings because of which it does not load, and the mistakes that do not prevent that.
    pub findings: Vec<String>,
    /// True if plans of the workspace may use it as it is.
    pub is_usable: bool,
    /// The approvers who signed for it, or the reason why it may not be used.
    pub trust: String,
    /// The way to make it usable; empty if it is.
    pub remedy: String,
}

/// A skill with its lock and its files.
#[derive(Debug, Serialize)]
pub struct SkillView {
    pub listing: SkillListing,
    /// Its licence, requirements and other metadata.
    pub properties: BTreeMap<String, String>,
    /// Its entry in the lock file; absent: it is not locked.
    pub lock: Option<SkillLockView>,
    pub files: Vec<String>,
    pub text: String,
}

/// The entry of a skill in the lock file.
#[derive(Debug, Serialize)]
pub struct SkillLockView {
    /// Its origin.
    pub source: String,
    /// The commit, if the origin is git.
    pub commit: Option<String>,
    /// The digest of all its files.
    pub digest: String,
    /// The grants beyond its declarations, in words.
    pub granted: Vec<String>,
    /// The accepted dangers, by the code of their rule.
    pub exceptions: Vec<String>,
}

/// Returns the skills of the workspace and of the user, by shelf and folder.
pub fn skill_listings(caller: &dyn Caller) -> Result<Vec<SkillListing>, CommandError> {
    let trust = SkillTrust::of(caller)?;
    let (discovery, _) = discover_skills(caller.host());
    Ok(discovery.skills.iter().map(|skill| trust.listing(caller, skill)).collect())
}

/// Returns a skill; `None` if there is no such skill.
pub fn skill_view(caller: &dyn Caller, name: &str) -> Result<Option<SkillView>, CommandError> {
    let trust = SkillTrust::of(caller)?;
    let (discovery, shelves) = discover_skills(caller.host());
    let counts = |discovered: &&DiscoveredSkill| discovered.name == name && discovered.shadowed_by.is_none();
    let Some(discovered) = discovery.skills.iter().find(counts) else {
        return Ok(None);
    };
    let mut properties = BTreeMap::new();
    let mut text = discovered.text.as_str();
    if let Ok(skill) = &discovered.skill {
        properties.extend(
            skill
                .metadata
                .iter()
                .filter(|(key, _)| *key != "wf")
                .map(|(key, value)| (key.clone(), value.clone())),
        );
        properties.extend(skill.license.iter().map(|license| ("license".to_owned(), license.clone())));
        properties.extend(skill.compatibility.iter().map(|needs| ("needs".to_owned(), needs.clone())));
        if !skill.allowed_tools.is_empty() {
            properties.insert("tools".to_owned(), skill.allowed_tools.join(" · "));
        }
        text = discovered.text.get(skill.body.range()).unwrap_or("").trim();
    }
    // A folder that cannot be listed has said why by the findings above.
    let files = disk::names(&shelves.folder(discovered)).unwrap_or_default();
    let locked = trust.lock.skills.get(name).filter(|_| !discovered.search_folder.is_users);
    Ok(Some(SkillView {
        listing: trust.listing(caller, discovered),
        properties,
        lock: locked.map(SkillLockView::of),
        files,
        text: text.to_owned(),
    }))
}

/// The rules by which skills are trusted.
struct SkillTrust {
    rules: SigningRules,
    lock: SkillLock,
}

impl SkillTrust {
    fn of(caller: &dyn Caller) -> Result<Self, CommandError> {
        let workspace = caller.host().workspace();
        Ok(Self { rules: SigningRules::of(caller, &workspace)?, lock: locks::read_lock(&workspace)? })
    }

    fn listing(&self, caller: &dyn Caller, discovered: &DiscoveredSkill) -> SkillListing {
        let messages =
            |findings: &[SkillFinding]| findings.iter().map(|finding| finding.message.clone()).collect();
        let (description, findings) = match &discovered.skill {
            Ok(skill) => (Some(skill.description.clone()), messages(&skill.warnings)),
            Err(findings) => (None, messages(findings)),
        };
        let (is_usable, trust, remedy) = self.standing(caller, discovered);
        SkillListing {
            name: discovered.name.clone(),
            path: discovered.shown(),
            description,
            shadowed_by: discovered.shadowed_by.clone(),
            findings,
            is_usable,
            trust,
            remedy,
        }
    }

    /// Returns if plans may use a skill, and by whom or why not, and the remedy.
    fn standing(&self, caller: &dyn Caller, skill: &DiscoveredSkill) -> (bool, String, String) {
        if skill.search_folder.is_users {
            let install = caller.action_words(&UserAction::InstallSkillFrom(skill.shown()));
            let remedy = format!("install it into the workspace: {install}");
            return (false, "it is yours, not the workspace's: plans do not use it".into(), remedy);
        }
        let workspace = caller.host().workspace();
        match check_usable(caller.host(), &workspace, &self.rules, &self.lock, &skill.name) {
            Ok(skill) if skill.signers.is_empty() => {
                (true, "comes with this version of wf".into(), String::new())
            }
            Ok(approved_skill) => {
                let by: Vec<&str> =
                    approved_skill.signers.iter().map(|signer| signer.name.as_str()).collect();
                (true, format!("approved by {}", by.join(", ")), String::new())
            }
            Err(error) => (false, error.message(), caller.remedy_text(&error.remedy(&skill.name))),
        }
    }
}

impl SkillLockView {
    fn of(locked: &LockedSkill) -> Self {
        let granted = locked.granted.iter();
        let granted =
            granted.flat_map(|(file, grants)| grants.iter().map(move |grant| format!("{file}: {grant}")));
        Self {
            source: locked.source.clone(),
            commit: locked.commit.clone(),
            digest: locked.digest.to_string(),
            granted: granted.collect(),
            exceptions: locked.exceptions.keys().cloned().collect(),
        }
    }
}
