//! What a small script would do: the declared ways in order, whatever failed, each once; what the
//! world prevented is done once more after 2 seconds, as in the plans with a controller.

use wf_model::FailureClass;

use super::{SECONDS, Told, plan::STEPS, world::World};

/// Lets the script try itself in a world.
pub fn run(world: &World, budget: u32) -> Told {
    let mut script = Script { world, budget, attempts: [0; 3], now: 0 };
    let done = (0..STEPS.len()).try_for_each(|step| script.step(step));
    Told {
        verified: done.is_ok(),
        accepted: false,
        attempts: script.attempts,
        duration_ms: script.now,
        rounds: 0,
        end: done.err().unwrap_or("done").to_owned(),
    }
}

struct Script<'w> {
    world: &'w World,
    /// How many attempts may begin.
    budget: u32,
    attempts: [u32; 3],
    now: i64,
}

impl Script<'_> {
    fn step(&mut self, step: usize) -> Result<(), &'static str> {
        for way in self.world.order.ways() {
            for again in [true, false] {
                let limit = i64::from(SECONDS) * 1_000;
                if self.attempts.iter().sum::<u32>() >= self.budget || self.now >= limit {
                    return Err("budget exhausted");
                }
                let begun = (self.attempts[step] + 1, self.now);
                let fate = self.world.fate(step, &way, begun);
                self.attempts[step] += 1;
                self.now += fate.duration_ms;
                if self.now > limit {
                    self.now = limit;
                    return Err("budget exhausted");
                }
                match fate.failure {
                    None => return Ok(()),
                    Some((FailureClass::Environmental, _)) if again => self.now += 2_000,
                    Some(_) => break,
                }
            }
        }
        Err("no alternative is left")
    }
}
