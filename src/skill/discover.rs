use std::collections::{BTreeMap, BTreeSet};

use super::load;
use super::skill::{Finding, Skill};
use crate::source::Span;

/// The shelves of a workspace, and then those of a user's home, in the order in which they count.
pub const SHELVES: [&str; 3] = ["skills", ".agents/skills", ".claude/skills"];

/// The number of folders of a shelf that are looked at: a bound, for a shelf may be anybody's.
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
    /// The names of the folders on a shelf, in any order; none if there is no such shelf. An error says
    /// why the whole shelf is left out.
    fn folders(&self, shelf: &Shelf) -> Result<impl Iterator<Item = String>, String>;

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
    /// The parts of shelves that are not looked at.
    pub left_out: Vec<LeftOut>,
}

/// A shelf, or a part of one, that is not looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The path of the shelf as it is shown.
    pub shelf: String,
    /// The number of its folders that are left out; unknown if nobody looked.
    pub folders: Option<usize>,
    /// The reason.
    pub why: String,
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
        for folder in first_folders(shelf, look, &mut all.left_out) {
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

/// The first folders of a shelf by name, whatever the order in which they come. Memory is bounded;
/// the count of the others is not.
fn first_folders(shelf: &Shelf, look: &impl Look, out: &mut Vec<LeftOut>) -> BTreeSet<String> {
    let mut first = BTreeSet::new();
    let mut others = 0;
    let mut leave_out = |folders, why| {
        let shelf = shelf.shown.clone();
        out.push(LeftOut {
            shelf,
            folders,
            why,
        });
    };
    let names = match look.folders(shelf) {
        Ok(names) => names,
        Err(why) => {
            leave_out(None, why);
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
        let why = format!("only the first {MOST} folders of a shelf, by name, are looked at");
        leave_out(Some(others), why);
    }
    first
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
    use super::{LeftOut, Look, Shelf, discover, shelves};

    /// Shelf, folder and description; a description `!` cannot be read.
    struct Table(Vec<(&'static str, String, &'static str)>);

    impl Look for Table {
        fn folders(&self, shelf: &Shelf) -> Result<impl Iterator<Item = String>, String> {
            let on = self.0.iter().filter(|(own, ..)| *own == shelf.shown);
            let names: Vec<String> = on.map(|(_, folder, _)| folder.clone()).collect();
            match names.first() {
                Some(first) if first == "locked" => Err("it is locked".into()),
                _ => Ok(names.into_iter()),
            }
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
    fn a_shelf_is_bounded_and_what_is_left_out_is_counted() {
        let name = |n: usize| format!("s{n:05}");
        let many = (0..super::MOST + 7).rev();
        let rows = many.map(|n| ("skills", name(n), "description: d"));
        let locked = (".claude/skills", "locked".to_owned(), "description: d");
        let all = discover(&shelves(), &Table(rows.chain([locked]).collect()));
        let names: Vec<String> = all.found.into_iter().map(|one| one.name).collect();
        assert_eq!(names, (0..super::MOST).map(name).collect::<Vec<_>>());
        let left_out = |shelf: &str, folders, why: &str| LeftOut {
            shelf: shelf.into(),
            folders,
            why: why.into(),
        };
        let why = "only the first 2000 folders of a shelf, by name, are looked at";
        let expected = [
            left_out("skills", Some(7), why),
            left_out(".claude/skills", None, "it is locked"),
        ];
        assert_eq!(all.left_out, expected);
    }
}
