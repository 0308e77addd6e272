use super::Rules;
use crate::cli::keys::{self, OwnKey, PassphraseArgs};
use crate::cli::{Failure, Ui};
use crate::exec::keyfile::{KeyFault, Keys};
use crate::report::follow::Volume;
use crate::seal::Signer;

/// The name of a key that is kept nowhere.
const ONCE: &str = "a key of this run alone";

/// The key of who runs a plan, ready to sign. A first one is made where there is none; where
/// none can be kept, it is for this run alone.
pub fn signer(
    ui: &Ui,
    rules: &mut Rules,
    (name, secret): (Option<&str>, &PassphraseArgs),
) -> Result<Signer, Failure> {
    let keys = match Keys::of(&ui.env.host()) {
        Ok(keys) => keys,
        Err(KeyFault::NoFolder) if name.is_none() => return once(ui, rules, "no folder is set"),
        Err(bad) => return Err(keys::fault(&bad)),
    };
    if let Some(key) = keys::choose(ui, &keys, name)? {
        // Another run may have made it since the rules were read.
        rules.count(key.clone());
        return keys::open(ui, &keys, &key, secret);
    }
    first(ui, rules, &keys)
}

/// Makes the first key.
fn first(ui: &Ui, rules: &mut Rules, keys: &Keys) -> Result<Signer, Failure> {
    let name = keys::own_name(ui);
    let signer = Signer::from_bytes(&ui.env.random(&format!("key {name}"))?);
    let pem = signer
        .to_pem()
        .map_err(|bad| Failure::new(crate::cli::Exit::Bug, bad.to_string()))?;
    match keys.add(&name, &pem, &signer.public().pem()) {
        Ok(()) => {}
        // Another run was faster.
        Err(KeyFault::Exists { .. }) => {
            if let Some(key) = keys::choose(ui, keys, Some(&name))? {
                let opened = keys::open(ui, keys, &key, &PassphraseArgs::default())?;
                rules.count(key);
                return Ok(opened);
            }
        }
        Err(KeyFault::System { cause, .. }) => return once(ui, rules, &cause.to_string()),
        Err(bad) => return Err(keys::fault(&bad)),
    }
    let dir = keys.dir().display();
    ui.note_line(&format!(
        "made the key `{name}` in {dir}: it signs for what you run"
    ));
    rules.count(OwnKey {
        name,
        public: signer.public(),
    });
    Ok(signer)
}

/// A key that is forgotten when this program ends.
fn once(ui: &Ui, rules: &mut Rules, why: &str) -> Result<Signer, Failure> {
    let signer = Signer::from_bytes(&ui.env.random("key of a run")?);
    if ui.env.asks || ui.volume == Volume::Verbose {
        ui.note_line(&format!("no key can be kept ({why}): {ONCE} signs"));
    }
    rules.count(OwnKey {
        name: ONCE.to_owned(),
        public: signer.public(),
    });
    Ok(signer)
}
