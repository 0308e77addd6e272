use std::fs;
use std::io::Write as _;

use clap::Args;

use super::make::listing;
use super::mark;
use crate::bus::Act;
use crate::cli::keys::{self, NewKeyArgs};
use crate::cli::workspace::APPROVERS;
use crate::cli::{Exit, Failure, Ui, load, relative, watch};
use crate::exec::keyfile::Keys;
use crate::seal::PublicKey;

/// Say in approvers.yaml that a key is not to be trusted any more
#[derive(Args, Debug)]
#[command(after_help = "\
From then on nothing that it signed counts, whatever the date on it: who has the key can write any
date. Commit the file, so that others know.")]
pub struct RevokeArgs {
    /// The key: the approver's name, one of your keys, or 64 hexadecimal digits
    #[arg(value_name = "NAME|HEX")]
    key: String,
}

/// Make a new key in the place of one that is revoked
#[derive(Args, Debug)]
pub struct RotateArgs {
    /// The key
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    new: NewKeyArgs,
}

/// Revokes a key.
pub fn revoke(ui: &Ui, args: &RevokeArgs) -> Result<Exit, Failure> {
    let key = meant(ui, &args.key)?;
    match marked(ui, &key)? {
        Marked::Now(path) => ui.print_line(&format!("revoked in {path}: {}", key.hex()))?,
        Marked::Before(path) => {
            ui.print_line(&format!("revoked already in {path}: {}", key.hex()))?;
        }
        Marked::NotListed(path) => {
            let message = format!("{path} lists no such key: {}", key.hex());
            let hint = "a key that is not listed approves nothing here";
            return Err(Failure::new(Exit::Usage, message).hint(hint));
        }
    }
    Ok(Exit::Ok)
}

/// Replaces a key by a new one of the same name.
pub fn rotate(ui: &Ui, args: &RotateArgs) -> Result<Exit, Failure> {
    let keys = keys::keys(ui)?;
    let name = &args.name;
    // Everything that can be refused is refused before anything changes.
    let old = keys::choose(ui, &keys, Some(name))?;
    let old = old.map(|key| key.public);
    keys.private(name).map_err(|bad| keys::fault(&bad))?;
    let under = keys::under(ui, &args.new, name)?;
    let new = keys::make(ui, name, &under)?;
    let aside = free(&keys, name)?;
    keys.rename(name, &aside).map_err(|bad| keys::fault(&bad))?;
    let new = keys::adopt(ui, &keys, name, new)?;
    ui.print_line(&format!("made the key `{name}`: {}", new.public.hex()))?;
    ui.print_line(&format!("the old one is kept as `{aside}`, to be known by"))?;
    if let Some(old) = old {
        match marked(ui, &old)? {
            Marked::Now(path) | Marked::Before(path) => {
                ui.print_line(&format!("the old one is revoked in {path}: {}", old.hex()))?;
                ui.note(&listing(&new));
            }
            Marked::NotListed(_) => {}
        }
    }
    Ok(Exit::Ok)
}

/// A name that no key has.
fn free(keys: &Keys, name: &str) -> Result<String, Failure> {
    let taken = keys.names().map_err(|bad| keys::fault(&bad))?;
    let free = (1_u32..).map(|number| format!("{name}-old-{number}"));
    let mut free = free.skip_while(|name| taken.contains(name));
    free.next()
        .ok_or_else(|| Failure::new(Exit::Usage, "there are too many old keys"))
}

/// The key that somebody means.
fn meant(ui: &Ui, text: &str) -> Result<PublicKey, Failure> {
    if let Ok(key) = PublicKey::from_hex(text) {
        return Ok(key);
    }
    let listed = load::approvers(ui, &ui.workspace())?;
    let named = listed.and_then(|(file, _)| {
        let named = |name: &str| name == text;
        let mut all = file.approvers.into_iter();
        let one = all.find(|one| one.name.as_ref().is_some_and(|name| named(&name.value)));
        one?.key.map(|key| key.value.0)
    });
    if let Some(key) = named {
        return Ok(key);
    }
    let own = keys::choose(ui, &keys::keys(ui)?, Some(text))?;
    own.map(|key| key.public).ok_or_else(|| {
        Failure::new(
            Exit::Usage,
            format!("there is no approver and no key `{text}`"),
        )
    })
}

/// What became of a mark.
enum Marked {
    Now(String),
    Before(String),
    NotListed(String),
}

/// Marks a key as revoked where the workspace lists it.
fn marked(ui: &Ui, key: &PublicKey) -> Result<Marked, Failure> {
    let workspace = ui.workspace();
    let path = workspace.root.join(APPROVERS);
    let shown = relative(&path, ui.env.cwd());
    let Some((file, source)) = load::approvers(ui, &workspace)? else {
        return Ok(Marked::NotListed(shown));
    };
    let is = |one: &&crate::config::ApproverFile| {
        one.key.as_ref().is_some_and(|named| named.value.0 == *key)
    };
    let Some(one) = file.approvers.iter().find(is) else {
        return Ok(Marked::NotListed(shown));
    };
    if one.revoked.is_some() {
        return Ok(Marked::Before(shown));
    }
    let Some(text) = mark::revoked(&source, key, ui.env.now()) else {
        let line = format!("revoked: {}", ui.env.now());
        let message = format!("{shown} would not be right with the key revoked");
        let hint = format!("write it by hand: `{line}` beside the key, and enough others");
        return Err(Failure::new(Exit::Usage, message).hint(hint));
    };
    let written = fs::metadata(&path).and_then(|found| {
        let mut file = tempfile::NamedTempFile::new_in(&workspace.root)?;
        file.write_all(text.as_bytes())?;
        file.as_file().set_permissions(found.permissions())?;
        file.persist(&path).map_err(|error| error.error)
    });
    written.map_err(|error| Failure::new(Exit::State, format!("cannot write {shown}: {error}")))?;
    let (key, name) = (key.id(), one.name.as_ref().map(|name| name.value.clone()));
    let name = name.unwrap_or_default();
    watch::note(ui, Act::KeyRevoked { key, name });
    Ok(Marked::Now(shown))
}
