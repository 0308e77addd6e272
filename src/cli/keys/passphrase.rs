use std::io::BufRead as _;
use std::path::PathBuf;

use clap::Args;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

use super::{OwnKey, fault};
use crate::cli::{Exit, Failure, Ui, normal, relative};
use crate::exec::keychain::{RingFault, recall, remember};
use crate::exec::keyfile::private_text;
use crate::seal::{self, PublicKey};

/// Where the passphrase of an encrypted key comes from.
#[derive(Args, Clone, Debug, Default)]
pub struct PassphraseArgs {
    /// Read the passphrase of the key from the first line of this file; else it is asked for
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

/// How a new key is kept.
#[derive(Args, Clone, Debug, Default)]
pub struct NewKeyArgs {
    /// Encrypt it under a passphrase, which is asked for whenever it signs
    #[arg(long)]
    encrypt: bool,
    /// Encrypt it under a passphrase that the keyring of the system keeps (needs the feature
    /// `keyring`)
    #[arg(long, conflicts_with_all = ["encrypt", "passphrase_file"])]
    keyring: bool,
    #[command(flatten)]
    passphrase: PassphraseArgs,
}

/// What a new key is encrypted under.
#[derive(Debug)]
pub enum Under {
    /// Nothing: only the rights of its file keep it.
    Nothing,
    /// A passphrase that a person knows.
    Passphrase(String),
    /// A passphrase that nobody knows and the keyring of the system keeps.
    Keyring(String),
}

/// What a new key is to be encrypted under; asks for a passphrase where a person is to know it.
pub fn under(ui: &Ui, args: &NewKeyArgs, name: &str) -> Result<Under, Failure> {
    if args.keyring {
        let random = ui.env.random(&format!("passphrase {name}"))?;
        return Ok(Under::Keyring(seal::hex(&random)));
    }
    if args.encrypt {
        return passphrase(ui, &args.passphrase, name, true).map(Under::Passphrase);
    }
    Ok(Under::Nothing)
}

/// The service whose entries in a keyring are passphrases of keys; the accounts are public keys.
const SERVICE: &str = "wf";

/// Has the keyring keep the passphrase of a key.
pub fn keep(key: &PublicKey, secret: &str) -> Result<(), Failure> {
    remember(SERVICE, &key.hex(), secret).map_err(|why| {
        let message = format!("the keyring does not keep the passphrase: {why}");
        Failure::new(Exit::Usage, message).hint("--encrypt asks for a passphrase instead")
    })
}

/// The passphrase of a key: what a file says, else the keyring of the system, else a person.
pub fn recalled(ui: &Ui, args: &PassphraseArgs, key: &OwnKey) -> Result<String, Failure> {
    if args.passphrase_file.is_none() {
        match recall(SERVICE, &key.public.hex()).map(String::from_utf8) {
            Ok(Ok(secret)) => return Ok(secret),
            Err(RingFault::None | RingFault::Missing) => {}
            Ok(Err(_)) => ui.note("the keyring holds no passphrase that can be read\n"),
            Err(why) => ui.note_line(&format!("the keyring gives no passphrase: {why}")),
        }
    }
    passphrase(ui, args, &key.name, false)
}

/// The passphrase of a key, from a file or from the terminal. `twice` is for a new one.
pub fn passphrase(
    ui: &Ui,
    args: &PassphraseArgs,
    name: &str,
    twice: bool,
) -> Result<String, Failure> {
    let given = match &args.passphrase_file {
        Some(path) => from_file(ui, path)?,
        None if ui.env.asks => {
            let given = asked(ui, &format!("passphrase of the key `{name}`: "))?;
            if twice && asked(ui, "the same again: ")? != given {
                return Err(Failure::new(Exit::Usage, "the two passphrases differ"));
            }
            given
        }
        None => {
            let message = format!("the key `{name}` needs a passphrase, and nobody can be asked");
            let hint = "--passphrase-file FILE reads it from a file, or from /dev/fd/3";
            return Err(Failure::new(Exit::Usage, message).hint(hint));
        }
    };
    if given.is_empty() {
        return Err(Failure::new(Exit::Usage, "a passphrase cannot be empty"));
    }
    Ok(given)
}

/// The first line of a file that nobody else can read, or of a descriptor that the caller opened.
pub fn from_file(ui: &Ui, path: &std::path::Path) -> Result<String, Failure> {
    let path = normal(&ui.env.cwd().join(path));
    let text = if path.starts_with("/dev") || path.starts_with("/proc") {
        // A descriptor that the caller opened.
        std::fs::read_to_string(&path).map_err(|error| {
            let shown = relative(&path, ui.env.cwd());
            Failure::new(Exit::Usage, format!("cannot read {shown}: {error}"))
        })?
    } else {
        private_text(&path).map_err(|bad| fault(&bad))?
    };
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

/// Asks on the terminal, which does not show the answer.
pub fn asked(ui: &Ui, question: &str) -> Result<String, Failure> {
    let stdin = std::io::stdin();
    let terminal = |error: rustix::io::Errno| {
        Failure::new(Exit::Usage, format!("the terminal cannot be used: {error}"))
    };
    let before = tcgetattr(&stdin).map_err(terminal)?;
    let mut silent = before.clone();
    // An interrupt must not leave the terminal silent: it comes as a letter.
    silent
        .local_modes
        .remove(LocalModes::ECHO | LocalModes::ISIG);
    ui.say(question);
    tcsetattr(&stdin, OptionalActions::Flush, &silent).map_err(terminal)?;
    let mut answer = String::new();
    let read = stdin.lock().read_line(&mut answer);
    tcsetattr(&stdin, OptionalActions::Flush, &before).map_err(terminal)?;
    ui.say("\n");
    if read.is_err() || answer.contains('\u{3}') {
        return Err(Failure::new(Exit::Interrupted, "interrupted"));
    }
    Ok(answer.trim_end_matches(['\n', '\r']).to_owned())
}
