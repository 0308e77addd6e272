//! The key of a form that starts a plan: the instant at which it was made, and random digits; or that of a request of a program.
//!
//! The id of the run follows from it, so a form starts one run, however often it is sent. It ends after some hours: what a browser
//! sends again days later is about a page that nobody has in mind any more. A program chooses any text as its key, which does not
//! end. Either starts nothing once retention has removed its run.

use std::time::Duration;

use crate::{CliExitCode, CommandError, Host};
use wf_base::{digest::Sha256Digest, name::RunId, time::Moment};

/// The time for which a form can be sent.
const KEY_TIME: Duration = Duration::from_hours(12);

/// The difference of clocks that is no mistake.
const SKEW: Duration = Duration::from_mins(1);

/// The length of a key, in hexadecimal digits, and that of the instant in it.
const KEY_LENGTH: usize = 64;
const INSTANT_LENGTH: usize = 16;

/// The beginning of the key that a program chose itself.
const PROGRAM: &str = "program:";

/// The key of a form, or of the request of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartKey {
    text: String,
    made: Moment,
}

impl StartKey {
    /// Makes a key of random bytes for a purpose.
    pub fn make(host: &Host, purpose: &str) -> Result<Self, CommandError> {
        Ok(Self::of_bytes(host.now(), host.random(purpose)?))
    }

    fn of_bytes(made: Moment, bytes: [u8; 32]) -> Self {
        let mut text = format!("{:0INSTANT_LENGTH$x}", made.millis());
        text.extend(bytes.iter().map(|byte| format!("{byte:02x}")));
        text.truncate(KEY_LENGTH);
        Self { text, made }
    }

    /// Reads the key of a form, or that of a program, which is as of now.
    pub fn parse(text: &str, now: Moment) -> Result<Self, CommandError> {
        if text.starts_with(PROGRAM) {
            return Ok(Self { text: text.to_owned(), made: now });
        }
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let is_key = text.len() == KEY_LENGTH && text.bytes().all(is_digit);
        let instant = text.get(..INSTANT_LENGTH).filter(|_| is_key);
        let millis = instant.and_then(|digits| i64::from_str_radix(digits, 16).ok());
        let made = millis.map(Moment::from_millis);
        let made = made
            .ok_or_else(|| CommandError::new(CliExitCode::Usage, "the form is incomplete: open it again"))?;
        Ok(Self { text: text.to_owned(), made })
    }

    /// Refuses a key that has ended, or was not made yet.
    pub fn require_current(&self, now: Moment) -> Result<(), CommandError> {
        if self.made <= now.after(SKEW) && now.since(self.made) < KEY_TIME {
            return Ok(());
        }
        let message = format!("the form was opened more than {} hours ago", KEY_TIME.as_secs() / 3600);
        Err(CommandError::new(CliExitCode::Usage, message).hint("look at it again, and send it"))
    }

    /// Returns the id of its run in a workspace, by the digest of that.
    pub fn run(&self, workspace: Sha256Digest) -> RunId {
        let digest = Sha256Digest::of_parts([self.text.as_bytes(), workspace.bytes().as_slice()]);
        let mut bytes = [0; 16];
        for (byte, part) in bytes.iter_mut().zip(digest.bytes()) {
            *byte = *part;
        }
        RunId::from_bytes(bytes)
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// Returns the text that a program chose as the key of a request that is the key of its run.
pub fn program_key(chosen: &str) -> String {
    format!("{PROGRAM}{chosen}")
}

#[cfg(test)]
mod tests {
    use super::{KEY_TIME, StartKey, program_key};
    use std::time::Duration;
    use wf_base::{digest::Sha256Digest, time::Moment};

    #[test]
    fn a_key_is_of_one_run_in_one_workspace() {
        let now = Moment::from_millis(1_800_000_000_000);
        let (one, other) = (StartKey::of_bytes(now, [1; 32]), StartKey::of_bytes(now, [2; 32]));
        let (here, copy) = (Sha256Digest::of_bytes(b"here"), Sha256Digest::of_bytes(b"copy"));
        assert_eq!(StartKey::parse(one.as_str(), now).unwrap(), one);
        assert_eq!(StartKey::parse(one.as_str(), now).unwrap().run(here), one.run(here));
        assert_ne!(one.run(here), other.run(here));
        assert_ne!(one.run(here), one.run(copy));
        for wrong in ["", "a1", &"g1".repeat(32), &"f".repeat(64), &"A".repeat(64)] {
            assert!(StartKey::parse(wrong, now).is_err(), "{wrong}");
        }
        let later = now.after(KEY_TIME);
        let chosen = |text: &str, now: Moment| StartKey::parse(&program_key(text), now).unwrap();
        assert_eq!(chosen("deploy of Monday", now).run(here), chosen("deploy of Monday", later).run(here));
        assert_ne!(chosen("deploy of Monday", now).run(here), chosen("deploy of Tuesday", now).run(here));
        assert!(chosen("deploy of Monday", later).require_current(later).is_ok());
    }

    #[test]
    fn a_key_ends() {
        let now = Moment::from_millis(1_800_000_000_000);
        let key = StartKey::of_bytes(now, [1; 32]);
        assert!(key.require_current(now).is_ok());
        assert!(key.require_current(now.after(KEY_TIME.saturating_sub(Duration::from_millis(1)))).is_ok());
        assert!(key.require_current(now.after(KEY_TIME)).is_err());
        assert!(
            StartKey::of_bytes(now.after(Duration::from_hours(1)), [1; 32]).require_current(now).is_err()
        );
    }
}
