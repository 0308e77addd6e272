//! What the world holds for each attempt: a function of the seed and the attempt, so that two
//! worlds of one seed answer the same, whatever happens between.

use serde_json::json;
use wf::digest::Digest;
use wf::machine::{
    Advice, Advised, Ask, Attempt, Baseline, Cached, Exit, IntentAdvice, Place, Ruling, Standing,
    Verdict,
};
use wf::model::{Check, CheckPhase, Class, Object, Plan, Step, Work};
use wf::name::RunId;

use super::dice::Dice;

/// How an attempt goes.
#[derive(Clone, Debug)]
pub struct Fate {
    pub exit: Exit,
    pub outputs: Object,
    pub standing: Option<Standing>,
    pub millis: i64,
}

/// The fates of all attempts of a world.
#[derive(Clone, Copy)]
pub struct Fates(pub u64);

impl Fates {
    fn dice(self, run: usize, what: &str) -> Dice {
        Dice::of(self.0.wrapping_add(run as u64), what)
    }

    /// How the work of an attempt goes.
    pub fn work(self, run: usize, attempt: &Attempt, step: &Step) -> Fate {
        let mut dice = self.dice(run, &attempt.to_string());
        let why = "it would not".to_owned();
        let exit = match (dice.below(20), &step.work) {
            (0..12, Work::Exec(_)) => Exit::Code { code: 0 },
            (0..12, _) => Exit::Done,
            (12, _) => Exit::Signal { signal: 9 },
            (13, _) => Exit::Code { code: 127 },
            (14, _) if step.timeout.is_some() => Exit::TimedOut,
            (15, _) => Exit::Unable {
                why,
                class: Class::Environmental,
            },
            (16, _) => Exit::Unable {
                why,
                class: Class::Logical,
            },
            (17, Work::Uses(_)) => Exit::Cancelled,
            _ => Exit::Code { code: 1 },
        };
        let standing = [Standing::Verified, Standing::Reported];
        let standing = matches!(step.work, Work::Uses(_)).then(|| *dice.pick(&standing));
        let outputs = outputs(&mut dice, step);
        Fate {
            exit,
            outputs,
            standing,
            millis: i64::from(dice.up_to(3000)),
        }
    }

    /// What checks of a phase find, of an attempt or of the plan in a round.
    pub fn verdicts(
        self,
        run: usize,
        (attempt, round): (Option<&Attempt>, usize),
        phase: CheckPhase,
        checks: &[&Check],
    ) -> Vec<Verdict> {
        let whose = match (attempt, round) {
            (Some(attempt), _) => attempt.to_string(),
            (None, 0) => "the plan".into(),
            (None, round) => format!("the plan, round {round}"),
        };
        let which = if phase.is_default() {
            String::new()
        } else {
            format!(" to {}", phase.as_str())
        };
        let mut dice = self.dice(run, &format!("checks of {whose}{which}"));
        let rulings = [
            Ruling::Pass,
            Ruling::Pass,
            Ruling::Pass,
            Ruling::Fail,
            Ruling::Error,
        ];
        checks
            .iter()
            .map(|check| verdict(check, *dice.pick(&rulings)))
            .collect()
    }

    /// How people decide about something that they are asked.
    pub fn people(self, run: usize, ask: &Ask, now: i64) -> Dice {
        let place = ask
            .place
            .as_ref()
            .map_or("the run".into(), ToString::to_string);
        self.dice(
            run,
            &format!("people asked for {place}, {:?}, at {now}", ask.point),
        )
    }

    /// The workspace as it is when a run begins.
    pub fn baseline(self, run: usize) -> Option<Baseline> {
        let mut dice = self.dice(run, "baseline");
        let entries = dice.below(3) as u64;
        (entries > 0).then(|| Baseline {
            manifest: Digest::of(b"files"),
            entries,
        })
    }

    /// What memory says about the ways of steps.
    pub fn advice(self, run: usize, plan: &Plan) -> Vec<Advised> {
        let mut dice = self.dice(run, "memory");
        let mut said = Vec::new();
        for step in plan.steps() {
            for way in 0..step.ways() {
                if dice.one_in(3) {
                    let all = [Advice::Avoid, Advice::Exploit, Advice::Caution];
                    said.push(Advised {
                        tool: step.tool(way),
                        target: step.target(way).map(str::to_owned),
                        advice: *dice.pick(&all),
                        attention: 0.75,
                        decision: 0.5,
                    });
                }
            }
        }
        said
    }

    /// What memory says about the intent of a plan.
    pub fn intent(self, run: usize) -> Option<IntentAdvice> {
        let mut dice = self.dice(run, "intent");
        let all = [Advice::Avoid, Advice::Exploit, Advice::Caution];
        dice.one_in(3).then(|| IntentAdvice {
            slug: "build_the_page".into(),
            advice: *dice.pick(&all),
            attention: 0.75,
            decision: 0.5,
        })
    }

    /// Whether a step declares a file, which is evidence.
    pub fn declares(self, run: usize, step: &Step) -> bool {
        let mut dice = self.dice(run, &format!("files of {}", step.id));
        !step.verify.is_empty() && !dice.one_in(3)
    }

    /// What the cache holds for a place.
    pub fn cached(self, run: usize, place: &Place, step: &Step) -> Option<Cached> {
        let mut dice = self.dice(run, &format!("cache of {place}"));
        let outputs = outputs(&mut dice, step);
        let from = RunId::from_bytes([9; 16]);
        let key = Digest::of(place.to_string().as_bytes());
        dice.one_in(2).then(|| Cached {
            key,
            from,
            outputs,
            artifacts: Vec::new(),
        })
    }
}

/// What a step gives: what it must, or nearly.
fn outputs(dice: &mut Dice, step: &Step) -> Object {
    let mut given = Object::new();
    for output in &step.outputs {
        let many = dice.up_to(4);
        let value = match (dice.below(16), output.name.as_str()) {
            (0, _) => continue,
            (1, _) => json!("text"),
            (_, "list") => (0..many).map(|n| json!(n / 2)).collect(),
            _ => json!(many),
        };
        given.insert(output.name.to_string(), value);
    }
    given
}

/// A verdict with a ruling.
pub fn verdict(check: &Check, ruling: Ruling) -> Verdict {
    Verdict {
        name: check.name.clone(),
        phase: check.phase,
        ruling,
        expected: String::new(),
        found: String::new(),
        evidence: String::new(),
        class: (ruling != Ruling::Pass).then_some(Class::Logical),
        millis: 0,
        mode: wf::model::Mode::default(),
        guards: None,
        hidden: Vec::new(),
    }
}
