use super::{
    form,
    form::{SylkDag, SylkNode, SylkOperation},
    order, text,
};
use crate::{InMemoryFiles, MAX_FILES, check::check, load};
use std::{collections::HashMap, fmt};
use wf_base::{
    diag::Severity,
    name::{Name, PlanId},
};

/// The workflow files a graph became.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SylkImport {
    /// The files; the first is the dag.
    pub files: Vec<SylkFile>,
    /// The roles `wf.yaml` must give models to.
    pub roles: Vec<String>,
    /// The keys with no meaning here, or another one.
    pub notes: Vec<String>,
}

/// A file, and where it is put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SylkFile {
    /// The path, relative to the folder of the import.
    pub path: String,
    pub text: String,
}

/// The names the graph, its nodes and its agents have in the files.
pub(super) struct SylkNames {
    pub dag: String,
    pub nodes: HashMap<String, String>,
    pub roles: HashMap<String, String>,
}

/// Makes workflow files of the JSON form, or names its first mistake.
pub fn import_sylk(json: &str) -> Result<SylkImport, SylkMistake> {
    let dag = form::read_form(json)?;
    if dag.nodes.len() >= MAX_FILES {
        let message =
            format!("there are {} nodes; a dag and its plans are at most {MAX_FILES} files", dag.nodes.len());
        return Err(SylkMistake::new("nodes", message, "split the graph"));
    }
    order::check_order(&dag)?;
    contents(&dag)?;
    let mut notes = Vec::new();
    let names = names(&dag, &mut notes)?;
    notes.extend(
        dag.session_id.iter().map(|_| "`session_id`: left out; a run has an id of its own".to_owned()),
    );
    notes.extend(dag.nodes.iter().flat_map(node_notes));
    let mut roles: Vec<String> = names.roles.values().cloned().collect();
    roles.sort();
    roles.dedup();
    let files = text::files(&dag, &names, &notes);
    sound(&dag, &files)?;
    Ok(SylkImport { files, roles, notes })
}

/// Refuses unsupported values, such as too large a number, or a prompt reading a parameter.
fn sound(dag: &SylkDag, files: &[SylkFile]) -> Result<(), SylkMistake> {
    let texts = files.iter().map(|file| (file.path.clone(), file.text.clone().into_bytes()));
    let mut loaded = load(&InMemoryFiles(texts.collect()), &files[0].path);
    check(&mut loaded);
    let Some((at, bad)) = loaded.diagnostics.iter().find(|(_, bad)| bad.severity() == Severity::Error) else {
        return Ok(());
    };
    let path = loaded.sources[*at].path();
    let node = files.iter().position(|file| file.path == path).and_then(|nth| nth.checked_sub(1));
    let place = node.map_or("the graph".to_owned(), |nth| format!("nodes[{nth}], `{}`", dag.nodes[nth].id));
    let help = bad.help.as_deref().unwrap_or("change the value that became this");
    Err(SylkMistake::new(place, format!("its file would not be valid: {}", bad.message), help))
}

/// Refuses the parts without a form in a plan.
fn contents(dag: &SylkDag) -> Result<(), SylkMistake> {
    if dag.policy.max_concurrency == Some(0) {
        let message = "with no node at a time nothing would begin";
        return Err(SylkMistake::new("policy.max_concurrency", message, "write at least 1"));
    }
    for (at, node) in dag.nodes.iter().enumerate() {
        if node.prompt.trim().is_empty() {
            let message = format!("the prompt of `{}` is empty", node.id);
            return Err(SylkMistake::new(
                format!("nodes[{at}].prompt"),
                message,
                "say what the agent is to do",
            ));
        }
        if node.metadata.timeout_ms == Some(0) {
            let place = format!("nodes[{at}].metadata.timeout_ms");
            return Err(SylkMistake::new(place, "no time is no limit that work can meet", "leave it out"));
        }
        for (nth, path) in node.context.relevant_files.iter().enumerate() {
            let outside = path.starts_with(['/', '~']) || path.split('/').any(|part| part == "..");
            if outside || path.is_empty() {
                let place = format!("nodes[{at}].context.relevant_files[{nth}]");
                let message = format!("`{path}` is not a path inside the workspace");
                return Err(SylkMistake::new(place, message, "write it relative to the workspace"));
            }
        }
    }
    Ok(())
}

fn names(dag: &SylkDag, notes: &mut Vec<String>) -> Result<SylkNames, SylkMistake> {
    let id = renamed(&dag.id, '-').filter(|id| PlanId::parse(id).is_ok());
    let id = id.ok_or_else(|| unnamed("id", &dag.id))?;
    let mut names = SylkNames { dag: id, nodes: HashMap::new(), roles: HashMap::new() };
    renaming("id", &dag.id, &names.dag, notes);
    let mut owners: HashMap<String, &str> = HashMap::new();
    for (at, node) in dag.nodes.iter().enumerate() {
        let place = format!("nodes[{at}].id");
        let own = word(&node.id).ok_or_else(|| unnamed(&place, &node.id))?;
        if let Some(other) = owners.insert(own.clone(), &node.id) {
            let message = format!("`{}` and `{other}` are both named `{own}` here", node.id);
            return Err(SylkMistake::new(place, message, "give them ids that differ in letters or digits"));
        }
        let role = word(&node.agent).ok_or_else(|| unnamed(&format!("nodes[{at}].agent"), &node.agent))?;
        renaming(&place, &node.id, &own, notes);
        renaming(&format!("nodes[{at}].agent"), &node.agent, &role, notes);
        names.nodes.insert(node.id.clone(), own);
        names.roles.insert(node.agent.clone(), role);
    }
    Ok(names)
}

fn unnamed(place: &str, text: &str) -> SylkMistake {
    let message = format!("`{text}` cannot be a name here");
    SylkMistake::new(place, message, "use letters from a to z, digits, and `_`, at most 60 of them")
}

fn renaming(place: &str, old: &str, new: &str, notes: &mut Vec<String>) {
    if old != new {
        notes.push(format!("`{place}`: `{old}` is named `{new}` here"));
    }
}

fn word(text: &str) -> Option<String> {
    renamed(text, '_').filter(|own| Name::parse(own).is_ok())
}

/// Lower-case letters and digits, with one `joint` for whatever else is between them.
fn renamed(text: &str, joint: char) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let joined = words.collect::<Vec<_>>().join(&joint.to_string());
    let digit = joined.starts_with(|c: char| c.is_ascii_digit());
    let own = if digit { format!("n{joint}{joined}") } else { joined };
    (1..=60).contains(&own.len()).then_some(own)
}

/// Tells what of a node has no meaning here, or one a reviewer should know.
fn node_notes(node: &SylkNode) -> Vec<String> {
    let id = &node.id;
    let mut notes = Vec::new();
    if let Some(priority) = &node.metadata.priority {
        notes.push(format!(
            "`{id}`: `priority: {priority}` is left out; nodes that are ready begin in the order of the file"
        ));
    }
    if writes(node) {
        let paths = &node.context.relevant_files;
        let may = if paths.is_empty() {
            "the whole workspace".to_owned()
        } else {
            format!("`{}`", paths.join("`, `"))
        };
        notes.push(format!("`{id}`: it may write {may}; narrow `allow` if it needs less"));
    }
    notes
}

/// True if a node creates or changes files.
pub(super) fn writes(node: &SylkNode) -> bool {
    node.metadata.file_operations.iter().any(|operation| *operation != SylkOperation::Read)
}

/// The first mistake in the JSON form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SylkMistake {
    /// The path of the value, as in `nodes[1].depends_on`, or the line and the column.
    pub place: String,
    /// The description of the mistake.
    pub message: String,
    /// The remedy.
    pub help: String,
}

impl SylkMistake {
    /// Reports a mistake.
    pub(super) fn new(place: impl Into<String>, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { place: place.into(), message: message.into(), help: help.into() }
    }
}

impl fmt::Display for SylkMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

impl std::error::Error for SylkMistake {}
