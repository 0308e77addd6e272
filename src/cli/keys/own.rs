use super::{PassphraseArgs, Under, keep, recalled};
use crate::bus::Act;
use crate::cli::{Exit, Failure, Ui, watch};
use crate::exec::keyfile::{DEFAULT, KeyFault, Keys, named_after};
use crate::seal::{BadKey, PublicKey, Salt, Secret, Signer};

/// A key of whoever runs `wf`.
#[derive(Clone, Debug)]
pub struct OwnKey {
    /// Its name.
    pub name: String,
    /// What others know of it.
    pub public: PublicKey,
}

/// A failure of a key file, for a person.
pub fn fault(fault: &KeyFault) -> Failure {
    let exit = match fault {
        KeyFault::System { .. } => Exit::State,
        _ => Exit::Usage,
    };
    Failure::new(exit, fault.to_string()).hint(fault.remedy())
}

/// The folder of keys.
pub fn keys(ui: &Ui) -> Result<Keys, Failure> {
    Keys::of(&ui.env.host()).map_err(|bad| fault(&bad))
}

/// Every key that there is.
pub fn own(keys: &Keys) -> Result<Vec<OwnKey>, Failure> {
    let names = keys.names().map_err(|bad| fault(&bad))?;
    names.into_iter().map(|name| named(keys, name)).collect()
}

fn named(keys: &Keys, name: String) -> Result<OwnKey, Failure> {
    let text = keys.public(&name).map_err(|bad| fault(&bad))?;
    let public = PublicKey::from_pem(&text).map_err(|bad| {
        let message = format!("{name}.pub in {}: {bad}", keys.dir().display());
        Failure::new(Exit::Usage, message)
            .hint("`openssl pkey -in NAME.pem -pubout -out NAME.pub` writes it anew")
    })?;
    Ok(OwnKey { name, public })
}

/// The name of a key where nobody gives one: that of its owner.
pub fn own_name(ui: &Ui) -> String {
    let login = ui.env.login();
    let name = login.as_deref().and_then(named_after);
    name.unwrap_or_else(|| "owner".to_owned())
}

/// The key that signs: the one that is named, else the only one, else `default`, which earlier
/// versions made, else the one that is named after its owner; `None` if there is none at all.
pub fn choose(ui: &Ui, keys: &Keys, name: Option<&str>) -> Result<Option<OwnKey>, Failure> {
    if let Some(name) = name {
        return named(keys, name.to_owned()).map(Some);
    }
    let names = keys.names().map_err(|bad| fault(&bad))?;
    let chosen = match names.as_slice() {
        [] => return Ok(None),
        [only] => only,
        several => {
            let usual = [DEFAULT, &own_name(ui)];
            let mut usual = usual
                .iter()
                .filter_map(|usual| several.iter().find(|name| name == usual));
            usual.next().ok_or_else(|| {
                let message = format!("there are several keys: {}", several.join(", "));
                Failure::new(Exit::Usage, message).hint("say which: --key NAME")
            })?
        }
    };
    named(keys, chosen.clone()).map(Some)
}

/// A key that is not kept yet: its text and what others know of it.
pub type NewKey = (Secret, PublicKey);

/// Makes a key of random bytes.
pub fn make(ui: &Ui, name: &str, under: &Under) -> Result<NewKey, Failure> {
    let signer = Signer::from_bytes(&ui.env.random(&format!("key {name}"))?);
    // First the passphrase: a key that nobody can open again must not come to be.
    if let Under::Keyring(secret) = under {
        keep(&signer.public(), secret)?;
    }
    let pem = match under {
        Under::Passphrase(secret) | Under::Keyring(secret) => {
            let salt = Salt {
                salt: half(ui.env.random("salt")?),
                start: half(ui.env.random("start")?),
            };
            signer.to_encrypted_pem(secret, &salt)
        }
        Under::Nothing => signer.to_pem(),
    };
    let pem = pem.map_err(|bad| Failure::new(Exit::Bug, bad.to_string()))?;
    Ok((pem, signer.public()))
}

fn half(bytes: [u8; 32]) -> [u8; 16] {
    let mut half = [0; 16];
    half.copy_from_slice(bytes.split_at(16).0);
    half
}

/// Keeps a key as it is, encrypted or not, under a name that nobody has.
pub fn adopt(ui: &Ui, keys: &Keys, name: &str, (pem, public): NewKey) -> Result<OwnKey, Failure> {
    keys.add(name, &pem, &public.pem())
        .map_err(|bad| fault(&bad))?;
    let (key, named) = (public.id(), name.to_owned());
    watch::note(ui, Act::KeyMade { key, name: named });
    Ok(OwnKey {
        name: name.to_owned(),
        public,
    })
}

/// Opens a key, with its passphrase if it has one.
pub fn open(ui: &Ui, keys: &Keys, key: &OwnKey, args: &PassphraseArgs) -> Result<Signer, Failure> {
    let pem = keys.private(&key.name).map_err(|bad| fault(&bad))?;
    let signer = match Signer::from_pem(&pem) {
        Err(BadKey::Encrypted) => {
            let secret = recalled(ui, args, key)?;
            Signer::from_encrypted_pem(&pem, &secret)
        }
        other => other,
    };
    let of = |bad: BadKey| Failure::new(Exit::Usage, format!("the key `{}`: {bad}", key.name));
    let signer = signer.map_err(of)?;
    if signer.public() != key.public {
        let message = format!("{0}.pub is not the public key of {0}.pem", key.name);
        return Err(Failure::new(Exit::Usage, message).hint(
            "somebody changed one of them; `openssl pkey -in NAME.pem -pubout` shows what fits",
        ));
    }
    Ok(signer)
}
