use std::{
    collections::{BTreeMap, BTreeSet},
    io,
};

use super::{
    disk::SkillFolderError,
    load,
    skill::{Skill, SkillFinding},
};
use wf_base::source::Span;

/// The shelves of a workspace, then those of the user's home, in order of precedence.
pub const SHELVES: [&str; 3] = ["skills", ".agents/skills", ".claude/skills"];

/// The maximum number of folders read from a shelf: a bound, as a shelf may be untrusted.
pub const MOST: usize = 2_000;

/// A folder holding the folders of skills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillSearchFolder {
    /// Its displayed path, for example `.agents/skills` or `~/.agents/skills`.
    pub shown: String,
    /// True if it is the user's, not the workspace's.
    pub is_users: bool,
}

/// Access to shelves. The disk at the edge; a table in tests.
pub trait SkillFolderReader {
    /// Returns the names of the folders on a shelf, in any order; none if there is no such shelf.
    /// An error leaves out the whole shelf.
    fn folders(&self, search_folder: &SkillSearchFolder) -> Result<impl Iterator<Item = String>, ShelfError>;

    /// Returns the SKILL.md of a folder, if any.
    fn text(&self, search_folder: &SkillSearchFolder, folder: &str) -> Option<Result<String, ShelfError>>;
}

/// The reason why a shelf, or a skill on it, cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ShelfError {
    #[error("links lead out of the workspace")]
    LeadsOut,
    #[error("cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    #[error("the directory is a link, which is not followed; replace it with the skill itself")]
    SkillLink,
    #[error("SKILL.md is not UTF-8 text")]
    NotText,
    #[error("{}; {}", .0.problem, .0.remedy())]
    Skill(#[from] SkillFolderError),
}

/// A skill that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiscoveredSkill {
    /// Its name; its folder's name if it does not load.
    pub name: String,
    pub search_folder: SkillSearchFolder,
    pub folder: String,
    /// Its SKILL.md; empty if it cannot be read.
    pub text: String,
    /// The skill, or the findings because of which it does not load.
    pub skill: Result<Skill, Vec<SkillFinding>>,
    /// The displayed path of the skill of the same name taking precedence.
    pub shadowed_by: Option<String>,
}

impl DiscoveredSkill {
    /// Returns the displayed path of its folder.
    pub fn shown(&self) -> String {
        format!("{}/{}", self.search_folder.shown, self.folder)
    }
}

/// The result of a discovery on shelves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkillDiscovery {
    /// The skills, by shelf and folder.
    pub skills: Vec<DiscoveredSkill>,
    /// The parts of shelves that were left out.
    pub omitted: Vec<OmittedFolders>,
}

/// A shelf, or a part of one, that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OmittedFolders {
    /// The displayed path of the shelf.
    pub shelf: String,
    /// The number of its folders that are left out; unknown if the shelf was not read.
    pub folders: Option<usize>,
    pub reason: String,
}

/// Returns the shelves in order of precedence.
pub fn shelves() -> Vec<SkillSearchFolder> {
    let own = SHELVES.iter().map(|shown| SkillSearchFolder { shown: (*shown).to_owned(), is_users: false });
    let users =
        SHELVES.iter().skip(1).map(|shown| SkillSearchFolder { shown: format!("~/{shown}"), is_users: true });
    own.chain(users).collect()
}

/// Finds the skills on shelves. The first of a name takes precedence, even if it does not load: a
/// broken skill of the workspace is not replaced by a skill of the user.
pub fn discover(search_folders: &[SkillSearchFolder], reader: &impl SkillFolderReader) -> SkillDiscovery {
    let mut discovery = SkillDiscovery::default();
    let mut first: BTreeMap<String, String> = BTreeMap::new();
    for shelf in search_folders {
        for folder in first_folders(shelf, reader, &mut discovery.omitted) {
            let Some(text) = reader.text(shelf, &folder) else {
                continue;
            };
            let mut skill = loaded_skill(shelf, folder, text);
            let shown = skill.shown();
            skill.shadowed_by = first.get(&skill.name).cloned();
            first.entry(skill.name.clone()).or_insert(shown);
            discovery.skills.push(skill);
        }
    }
    discovery
}

/// Returns the first folders of a shelf by name, in whatever order they come. Memory is bounded;
/// the count of the rest is not.
fn first_folders(
    search_folder: &SkillSearchFolder,
    reader: &impl SkillFolderReader,
    omitted: &mut Vec<OmittedFolders>,
) -> BTreeSet<String> {
    let mut first = BTreeSet::new();
    let mut others = 0;
    let mut leave_out = |folders, reason| {
        let shelf = search_folder.shown.clone();
        omitted.push(OmittedFolders { shelf, folders, reason });
    };
    let names = match reader.folders(search_folder) {
        Ok(names) => names,
        Err(error) => {
            leave_out(None, error.to_string());
            return first;
        }
    };
    for name in names {
        first.insert(name);
        if first.len() > MOST {
            first.pop_last();
            others += 1;
        }
    }
    if others > 0 {
        let reason = format!("only the first {MOST} skill folders, by name, are searched");
        leave_out(Some(others), reason);
    }
    first
}

fn loaded_skill(
    search_folder: &SkillSearchFolder,
    folder: String,
    text: Result<String, ShelfError>,
) -> DiscoveredSkill {
    let (text, skill) = match text {
        Ok(text) => {
            let skill = load(&text, &folder);
            (text, skill)
        }
        Err(error) => {
            let finding = SkillFinding::new("UNREADABLE", Span::default(), error.to_string());
            (String::new(), Err(vec![finding]))
        }
    };
    let name = skill.as_ref().map_or_else(|_| folder.clone(), |skill| skill.name.clone());
    DiscoveredSkill { name, search_folder: search_folder.clone(), folder, text, skill, shadowed_by: None }
}

#[cfg(test)]
mod tests {
    use super::{OmittedFolders, ShelfError, SkillFolderReader, SkillSearchFolder, discover, shelves};

    /// Shelf, folder and description; a skill with the description `!` cannot be read.
    struct Table(Vec<(&'static str, String, &'static str)>);

    impl SkillFolderReader for Table {
        fn folders(
            &self,
            search_folder: &SkillSearchFolder,
        ) -> Result<impl Iterator<Item = String>, ShelfError> {
            let on = self.0.iter().filter(|(own, ..)| *own == search_folder.shown);
            let names: Vec<String> = on.map(|(_, folder, _)| folder.clone()).collect();
            match names.first() {
                Some(first) if first == "locked" => Err(ShelfError::LeadsOut),
                _ => Ok(names.into_iter()),
            }
        }

        fn text(
            &self,
            search_folder: &SkillSearchFolder,
            folder: &str,
        ) -> Option<Result<String, ShelfError>> {
            let is = |(own, name, _): &&(&str, String, &str)| *own == search_folder.shown && name == folder;
            let (_, name, description) = self.0.iter().find(is)?;
            match *description {
                "" => None,
                "!" => Some(Err(ShelfError::SkillLink)),
                text => Some(Ok(format!("---\nname: {name}\n{text}\n---\n"))),
            }
        }
    }

    fn found(rows: &[(&'static str, &str, &'static str)]) -> Vec<String> {
        let rows = rows.iter().map(|(shelf, folder, text)| (*shelf, (*folder).to_owned(), *text));
        let all = discover(&shelves(), &Table(rows.collect()));
        let line = |one: &super::DiscoveredSkill| {
            let by = one.shadowed_by.clone().unwrap_or_default();
            format!("{} {} {by}", one.shown(), one.skill.is_ok())
        };
        all.skills.iter().map(line).collect()
    }

    #[test]
    fn the_first_of_a_name_counts_and_the_others_are_told() {
        let rows = [
            ("~/.agents/skills", "a", "description: user"),
            (".claude/skills", "a", "description: second"),
            ("skills", "a", "description: first"),
            ("skills", "none", ""),
            ("skills", "linked", "!"),
            ("~/.claude/skills", "linked", "description: d"),
            (".agents/skills", "broken", "nothing: x"),
            ("elsewhere", "b", "description: d"),
        ];
        let expected = [
            "skills/a true ",
            "skills/linked false ",
            ".agents/skills/broken false ",
            ".claude/skills/a true skills/a",
            "~/.agents/skills/a true skills/a",
            "~/.claude/skills/linked true skills/linked",
        ];
        assert_eq!(found(&rows), expected);
    }

    #[test]
    fn a_shelf_is_bounded_and_what_is_left_out_is_counted() {
        let name = |n: usize| format!("s{n:05}");
        let many = (0..super::MOST + 7).rev();
        let rows = many.map(|n| ("skills", name(n), "description: d"));
        let locked = (".claude/skills", "locked".to_owned(), "description: d");
        let all = discover(&shelves(), &Table(rows.chain([locked]).collect()));
        let names: Vec<String> = all.skills.into_iter().map(|one| one.name).collect();
        assert_eq!(names, (0..super::MOST).map(name).collect::<Vec<_>>());
        let left_out = |shelf: &str, folders, reason: &str| OmittedFolders {
            shelf: shelf.into(),
            folders,
            reason: reason.into(),
        };
        let reason = "only the first 2000 skill folders, by name, are searched";
        let expected = [
            left_out("skills", Some(7), reason),
            left_out(".claude/skills", None, "links lead out of the workspace"),
        ];
        assert_eq!(all.omitted, expected);
    }
}
