use std::collections::BTreeMap;

use super::ast::Plan;
use super::files::{Files, Unreadable};
use super::{Loaded, document};
use crate::diag::{Code, Diagnostic};
use crate::source::{Source, Span, Spanned};

/// How many files one load may read, and how deep they may use each other.
pub const MAX_FILES: usize = 1000;
/// How deep plans may use each other.
pub const MAX_USES: usize = 32;

/// Loads a spec file and all that it uses. Each file is read once. The path, and all paths in the
/// result, are relative to the workspace.
pub fn load(files: &dyn Files, path: &str) -> Loaded {
    let mut loader = Loader {
        files,
        loaded: Loaded::default(),
        open: Vec::new(),
    };
    let path = super::path::join("", path).unwrap_or_else(|| path.to_owned());
    match loader.read(&path) {
        Ok(root) => loader.follow(root),
        Err(refusal) => loader.refuse_root(&path, &refusal),
    }
    loader.loaded.sort();
    loader.loaded
}

struct Loader<'f> {
    files: &'f dyn Files,
    loaded: Loaded,
    /// The files between the root and the one being read.
    open: Vec<usize>,
}

/// Why a file is not loaded.
struct Refusal {
    code: Code,
    message: String,
}

impl From<Unreadable> for Refusal {
    fn from(error: Unreadable) -> Self {
        let code = match error {
            Unreadable::TooLarge => Code::FileTooLarge,
            _ => Code::FileUnreadable,
        };
        let message = error.to_string();
        Self { code, message }
    }
}

impl Loader<'_> {
    /// Reads one file and what is wrong with it; gives its index.
    fn read(&mut self, path: &str) -> Result<usize, Refusal> {
        let text = text(self.files.read(path)?)?;
        let index = self.loaded.sources.len();
        let source = Source::new(path, text);
        let (plan, mistakes) = document::read(&source);
        let mistakes = mistakes.into_iter().map(|mistake| (index, mistake));
        self.loaded.diagnostics.extend(mistakes);
        self.loaded.sources.push(source);
        self.loaded.plans.push(plan);
        self.loaded.index.insert(path.to_owned(), index);
        Ok(index)
    }

    fn refuse_root(&mut self, path: &str, refusal: &Refusal) {
        let mistake = Diagnostic::new(refusal.code, Span::default(), &refusal.message);
        self.loaded.sources.push(Source::new(path, ""));
        self.loaded.plans.push(None);
        self.loaded.diagnostics.push((0, mistake));
    }

    /// Loads what a file uses, and what that uses.
    fn follow(&mut self, file: usize) {
        self.open.push(file);
        for used in uses(self.loaded.plans.get(file)) {
            if let Err(mistake) = self.load_used(file, &used) {
                self.loaded.diagnostics.push((file, *mistake));
            }
        }
        self.open.pop();
    }

    fn load_used(&mut self, file: usize, used: &Spanned<String>) -> Result<(), Box<Diagnostic>> {
        let refuse = |why: &str| {
            let message = format!("cannot use `{}`: {why}", used.value);
            Box::new(Diagnostic::new(Code::UsesUnreadable, used.span, message))
        };
        let Some(path) = self.loaded.resolve(file, &used.value) else {
            return Err(refuse("the path lies outside the workspace"));
        };
        if let Some(known) = self.loaded.index.get(&path) {
            return self.circle(*known, used);
        }
        if self.loaded.sources.len() >= MAX_FILES {
            return Err(refuse(&format!("more than {MAX_FILES} files are used")));
        }
        if self.open.len() > MAX_USES {
            return Err(refuse(&format!(
                "plans are nested more than {MAX_USES} deep"
            )));
        }
        // A plan is named by a person, but what it uses is named by a file.
        if self.files.leads_out(&path) {
            return Err(refuse("a link leads it out of the workspace"));
        }
        let read = self.read(&path);
        let next = read.map_err(|refusal| refuse(&refusal.message))?;
        self.follow(next);
        Ok(())
    }

    /// The mistake of using a file that is still being read: it uses itself.
    fn circle(&self, known: usize, used: &Spanned<String>) -> Result<(), Box<Diagnostic>> {
        let Some(start) = self.open.iter().position(|open| *open == known) else {
            return Ok(());
        };
        let members = self.open.iter().skip(start).chain([&known]);
        let paths: Vec<_> = members
            .filter_map(|file| Some(format!("`{}`", self.loaded.sources.get(*file)?.path())))
            .collect();
        let message = format!("a plan uses itself: {}", paths.join(" uses "));
        Err(Box::new(Diagnostic::new(
            Code::UsesCycle,
            used.span,
            message,
        )))
    }
}

/// The paths that a plan's steps use, each once, where it is written first.
fn uses(plan: Option<&Option<Plan>>) -> Vec<Spanned<String>> {
    let mut first = BTreeMap::new();
    let steps = plan.into_iter().flatten().flat_map(Plan::all_steps);
    for used in steps.filter_map(|step| step.uses.as_deref()) {
        first.entry(used.value.clone()).or_insert(used.span);
    }
    let mut uses: Vec<_> = first
        .into_iter()
        .map(|(path, span)| Spanned::new(path, span))
        .collect();
    uses.sort_by_key(|used| used.span);
    uses
}

/// The text of a file; the first byte that is none is told.
fn text(bytes: Vec<u8>) -> Result<String, Refusal> {
    let refuse = |at: usize| Refusal {
        code: Code::FileNotText,
        message: format!("the file is not UTF-8 text: byte {at} is none"),
    };
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        return Err(refuse(at + 1));
    }
    String::from_utf8(bytes).map_err(|error| refuse(error.utf8_error().valid_up_to() + 1))
}
