use std::collections::BTreeMap;

use super::load;
use super::skill::{Finding, Skill};
use crate::source::Span;

/// The shelves of a workspace, and then those of a user's home, in the order in which they count.
pub const SHELVES: [&str; 3] = ["skills", ".agents/skills", ".claude/skills"];

/// How many folders of a shelf are looked at.
pub const MOST: usize = 2_000;

/// A folder that holds the folders of skills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shelf {
    /// Its path as it is shown, for example `.agents/skills` or `~/.agents/skills`.
    pub shown: String,
    /// Whether it is the user's, and not the workspace's.
    pub is_users: bool,
}

/// What is on shelves. The disk at the edge; a table in tests.
pub trait Look {
    /// The names of the folders on a shelf, in order; none if there is no such shelf.
    fn folders(&self, shelf: &Shelf) -> Vec<String>;

    /// The SKILL.md of a folder, if it has one. An error says why it cannot be read.
    fn text(&self, shelf: &Shelf, folder: &str) -> Option<Result<String, String>>;
}

/// A skill that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its name; of one that does not load, that of its folder.
    pub name: String,
    /// Which of the shelves it is on.
    pub shelf: Shelf,
    /// The name of its folder.
    pub folder: String,
    /// Its SKILL.md; empty if it cannot be read.
    pub text: String,
    /// What it is, or why it does not load.
    pub skill: Result<Skill, Vec<Finding>>,
    /// The path, as it is shown, of the one of the same name that counts instead.
    pub shadowed_by: Option<String>,
}

impl Found {
    /// Its folder's path as it is shown.
    pub fn shown(&self) -> String {
        format!("{}/{}", self.shelf.shown, self.folder)
    }
}

/// What was found on shelves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discovery {
    /// The skills, by shelf and folder.
    pub found: Vec<Found>,
    /// The shelves with more than [`MOST`] folders, of which the first are looked at.
    pub cut: Vec<String>,
}

/// The shelves in the order in which they count.
pub fn shelves() -> Vec<Shelf> {
    let own = SHELVES.iter().map(|shown| Shelf {
        shown: (*shown).to_owned(),
        is_users: false,
    });
    let users = SHELVES.iter().skip(1).map(|shown| Shelf {
        shown: format!("~/{shown}"),
        is_users: true,
    });
    own.chain(users).collect()
}

/// Finds the skills on shelves. Of one name the first counts, whether it loads or not: a broken
/// skill of the workspace does not become another one of the user.
pub fn discover(shelves: &[Shelf], look: &impl Look) -> Discovery {
    let mut all = Discovery::default();
    let mut first: BTreeMap<String, String> = BTreeMap::new();
    for shelf in shelves {
        let mut folders = look.folders(shelf);
        if folders.len() > MOST {
            all.cut.push(shelf.shown.clone());
            folders.truncate(MOST);
        }
        for folder in folders {
            let Some(text) = look.text(shelf, &folder) else {
                continue;
            };
            let mut found = one(shelf, folder, text);
            let shown = found.shown();
            found.shadowed_by = first.get(&found.name).cloned();
            first.entry(found.name.clone()).or_insert(shown);
            all.found.push(found);
        }
    }
    all
}

fn one(shelf: &Shelf, folder: String, text: Result<String, String>) -> Found {
    let (text, skill) = match text {
        Ok(text) => {
            let skill = load(&text, &folder);
            (text, skill)
        }
        Err(why) => {
            let finding = Finding::new("UNREADABLE", Span::default(), why);
            (String::new(), Err(vec![finding]))
        }
    };
    let name = skill
        .as_ref()
        .map_or_else(|_| folder.clone(), |skill| skill.name.clone());
    Found {
        name,
        shelf: shelf.clone(),
        folder,
        text,
        skill,
        shadowed_by: None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Look, Shelf, discover, shelves};

    /// Shelf, folder and description; a description `!` cannot be read.
    struct Table(Vec<(&'static str, String, &'static str)>);

    impl Look for Table {
        fn folders(&self, shelf: &Shelf) -> Vec<String> {
            let on = self.0.iter().filter(|(own, ..)| *own == shelf.shown);
            on.map(|(_, folder, _)| folder.clone()).collect()
        }

        fn text(&self, shelf: &Shelf, folder: &str) -> Option<Result<String, String>> {
            let is = |(own, name, _): &&(&str, String, &str)| *own == shelf.shown && name == folder;
            let (_, name, description) = self.0.iter().find(is)?;
            match *description {
                "" => None,
                "!" => Some(Err("it is a link".into())),
                text => Some(Ok(format!("---\nname: {name}\n{text}\n---\n"))),
            }
        }
    }

    fn found(rows: &[(&'static str, &str, &'static str)]) -> Vec<String> {
        let rows = rows
            .iter()
            .map(|(shelf, folder, text)| (*shelf, (*folder).to_owned(), *text));
        let all = discover(&shelves(), &Table(rows.collect()));
        let line = |one: &super::Found| {
            let by = one.shadowed_by.clone().unwrap_or_default();
            format!("{} {} {by}", one.shown(), one.skill.is_ok())
        };
        all.found.iter().map(line).collect()
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
    fn a_shelf_is_bounded() {
        let many = (0..=super::MOST).map(|n| ("skills", format!("s{n}"), "description: d"));
        let all = discover(&shelves(), &Table(many.collect()));
        assert_eq!(
            (all.found.len(), all.cut),
            (super::MOST, vec!["skills".to_owned()])
        );
    }
}
