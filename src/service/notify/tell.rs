use std::time::Duration;

use super::{Channel, Notice};
use crate::exec::http::Client;
use crate::model::Class;
use crate::time::Clock;

/// How often somebody is tried to be told, at most.
pub const TRIES: u32 = 3;

/// Nobody could be told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why} (tries: {tries})")]
pub struct Untold {
    /// How often it was tried.
    pub tries: u32,
    /// Why the last one failed, in one sentence that has no secret.
    pub why: String,
}

/// Tells somebody; says how many tries it took. `wait` is how long to wait after a try that failed,
/// the first being 1. May be dropped at any point; a command that runs ends then.
pub async fn tell(
    notice: &Notice,
    channel: &Channel,
    client: &Client,
    clock: &dyn Clock,
    wait: impl Fn(u32) -> Duration,
) -> Result<u32, Untold> {
    let mut tries = 1;
    loop {
        let Err(unable) = channel.once(notice, client, clock.now()).await else {
            return Ok(tries);
        };
        if unable.class == Class::Logical || tries >= TRIES {
            let why = unable.why;
            return Err(Untold { tries, why });
        }
        tokio::time::sleep(wait(tries)).await;
        tries += 1;
    }
}
