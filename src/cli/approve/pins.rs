use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::cli::load::Ready;
use crate::cli::revision::tracked;
use crate::cli::{Exit, Failure, Ui, normal};
use crate::digest::Digest;
use crate::exec::{Unable, keyfile, pinned, view};
use crate::machine::{Approved, Pin};
use crate::model::{Given, Object};

/// What an approval in advance of a plan is bound to.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The files of the workspace, and every text that the plan is made of. Sorted by path.
    pub files: Vec<Pin>,
    /// What the plan says that it makes, as globs: that is approved with it, whatever it is.
    pub products: Vec<String>,
}

/// What an approval of a plan is bound to that is signed in the moment in which its run begins: every text that
/// it is made of, and every file that it names, as they are now. Sorted by path.
pub fn pins(ready: &Ready, params: &Object) -> Result<Vec<Pin>, Failure> {
    let (plan, params) = (whole(ready), without_given(ready, params));
    let named = pinned::files(plan, &ready.workspace.root, &params).map_err(unreadable)?;
    let named = named.into_iter();
    with_texts(ready, named.map(|(path, digest)| Pin::file(path, digest)))
}

/// What an approval of a plan in advance is bound to: the whole workspace as it is now, but for what the plan
/// makes, and the approval itself, which lies at `token`. Of a goal that is the whole of it: what looks and what
/// repairs, whatever the cycle gives to it.
pub fn tree(ui: &Ui, ready: &Ready, params: &Object, token: &Path) -> Result<Tree, Failure> {
    let tracked = tracked(&ready.workspace.root);
    // Nothing is known of a workspace that no commit holds.
    let tracked = tracked.filter(|files| files.contains(Path::new(&ready.path)));
    bound(ui, (ready, params), token, tracked.as_ref())
}

/// The same of a run that began: what of the approved files there is now.
pub fn tree_again(
    ui: &Ui,
    ready: &Ready,
    params: &Object,
    approved: &Approved,
) -> Result<Tree, Failure> {
    let files = approved.pins.iter().map(|pin| PathBuf::from(&pin.path));
    let token = token_path(Path::new(&ready.path));
    bound(ui, (ready, params), &token, Some(&files.collect()))
}

fn bound(
    ui: &Ui,
    (ready, params): (&Ready, &Object),
    token: &Path,
    tracked: Option<&BTreeSet<PathBuf>>,
) -> Result<Tree, Failure> {
    let mut products = view::products(whole(ready), &without_given(ready, params));
    let workspace = &ready.workspace;
    products.push(view::exactly(Path::new(&workspace.name(token))));
    let keys = keyfile::folders(&ui.env.host()).into_iter();
    let apart: Vec<PathBuf> = keys.chain([workspace.state.clone()]).collect();
    let files = view::tree((&workspace.root, &apart), &products, tracked);
    Ok(Tree {
        files: with_texts(ready, files.map_err(unreadable)?)?,
        products,
    })
}

fn unreadable(unable: Unable) -> Failure {
    Failure::new(Exit::Usage, unable.why)
}

/// A plan, or all of a goal.
fn whole(ready: &Ready) -> &std::sync::Arc<crate::model::Plan> {
    ready.goal.as_ref().map_or(&ready.plan, |of| &of.whole)
}

/// Files, and every text that a plan is made of. Sorted by path.
pub(super) fn with_texts(
    ready: &Ready,
    files: impl IntoIterator<Item = Pin>,
) -> Result<Vec<Pin>, Failure> {
    let texts = ready.sources.iter();
    let texts = texts.map(|(path, text)| Pin::file(path, Digest::of(text.as_bytes())));
    let mut pins: Vec<Pin> = texts.chain(files).collect();
    pins.sort();
    pins.dedup();
    if let Some([one, _]) = pins
        .array_windows()
        .find(|[one, other]| (&one.path, one.link) == (&other.path, other.link))
    {
        let message = format!("{} was changed while it was read", one.path);
        return Err(Failure::new(Exit::Approval, message).hint("try again"));
    }
    Ok(pins)
}

/// Parameters; of a goal, with what a cycle gives as it is where none does.
fn without_given(ready: &Ready, params: &Object) -> Object {
    let mut params = params.clone();
    for given in Given::ALL.into_iter().filter(|_| ready.goal.is_some()) {
        if let Some(value) = params.get_mut(given.as_str()) {
            *value = given.default_value().into();
        }
    }
    params
}

/// Where the approval of a plan lies: in this file, if one is given.
pub fn token_at(ui: &Ui, ready: &Ready, given: Option<&PathBuf>) -> PathBuf {
    match given {
        Some(path) => normal(&ui.env.cwd().join(path)),
        None => token_path(&ready.workspace.root.join(&ready.path)),
    }
}

/// Where the approval of a plan lies: `plan.approval.json` beside `plan.md`.
pub fn token_path(plan: &Path) -> PathBuf {
    plan.with_extension("approval.json")
}
