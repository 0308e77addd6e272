use super::{Megram, MegramLevel, MegramState, MemoryBundle, MemoryNote, NoteTrust};
use wf_base::{digest::Sha256Digest, time::Moment};

/// The beginning of the source of a note that is a claim.
const IMPORTED: &str = "import (";

/// The maximum length of a source a file gives, in characters.
const MAX_SOURCE: usize = 200;

/// A megram that is not a claim, and so needs no confirmation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("megram {} is not a claim of a file: its level is {level}", id.short())]
pub struct ClaimExpectedError {
    pub id: Sha256Digest,
    pub level: MegramLevel,
}

impl MemoryBundle {
    /// Returns what a file says, for which nobody vouches: its levels, trust, weights and dates are words in its texts and
    /// sources, and its time is that of the import.
    #[must_use]
    pub fn into_claims(self, at: Moment) -> Self {
        Self {
            megrams: self.megrams.into_iter().map(|megram| megram.into_claim(at)).collect(),
            notes: self.notes.into_iter().map(|note| note.into_claim(at)).collect(),
        }
    }

    /// Returns what somebody vouches for, as it may be taken at an instant: nothing in it is younger.
    #[must_use]
    pub fn until(mut self, now: Moment) -> Self {
        for megram in &mut self.megrams {
            megram.created = megram.created.min(now);
            megram.recalled = megram.recalled.map(|at| at.min(now));
        }
        for note in &mut self.notes {
            note.created = note.created.min(now);
            for by in [&mut note.confirmed, &mut note.promoted].into_iter().flatten() {
                by.at = by.at.min(now);
            }
        }
        self
    }
}

impl Megram {
    /// Returns it as a claim of a file. Its weights follow from its state; the rest of what the file says is text.
    fn into_claim(self, at: Moment) -> Self {
        let weights = self.state.weights();
        // Feedback contradicts a rule of either sense.
        let is_feedback = self.state == MegramState::Feedback;
        let sigma = if is_feedback { weights.sigma.copysign(self.sigma) } else { weights.sigma };
        let content = match self.level {
            MegramLevel::Claim => self.content,
            level => format!("{} (a file says: {level}, {})", self.content, self.created),
        };
        Self {
            level: MegramLevel::Claim,
            created: at,
            recalled: None,
            content,
            f: weights.f,
            sigma,
            k: weights.k,
            ..self
        }
    }

    /// True if it was taken from a file that says what another megram is, confirmed or not.
    pub(super) fn is_claim_of(&self, said: &Self) -> bool {
        let claim = said.clone().into_claim(self.created);
        (self.id, self.state) == (claim.id, claim.state)
            && self.tags == claim.tags
            && self.content == claim.content
    }

    /// Returns a claim as a person confirmed it: `verified` is an outcome that counts from its import, `constitutional` a
    /// law.
    pub fn confirmed(self, trust: NoteTrust) -> Result<Self, ClaimExpectedError> {
        match (self.level, trust) {
            (MegramLevel::Claim, NoteTrust::Working) => Ok(self),
            (MegramLevel::Claim, NoteTrust::Verified) => Ok(Self { level: MegramLevel::Megram, ..self }),
            (MegramLevel::Claim, NoteTrust::Constitutional) => {
                Ok(Self { level: MegramLevel::Thinking, k: 0.0, ..self })
            }
            (level, _) => Err(ClaimExpectedError { id: self.id, level }),
        }
    }
}

impl MemoryNote {
    /// True if it is from a file nobody vouched for.
    pub fn is_claim(&self) -> bool {
        self.source.starts_with(IMPORTED)
    }

    /// Returns it as a claim of a file: nobody here confirmed, shared or decided it.
    fn into_claim(self, at: Moment) -> Self {
        let by = self.confirmed.as_ref().map(|by| format!(", confirmed by {}", by.who)).unwrap_or_default();
        let said = format!("{} of {}, {}{by}", self.trust, self.source, self.created);
        let said: String = said.chars().take(MAX_SOURCE).collect();
        let source = if self.is_claim() { self.source } else { format!("{IMPORTED}it says: {said})") };
        Self {
            promoted: None,
            source: source.chars().take(2 * MAX_SOURCE).collect(),
            created: at,
            trust: NoteTrust::Working,
            external: true,
            confirmed: None,
            strength: None,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        agent::authoring::{CalibrationTask, MemoryCalibration},
        memory::{
            Megram, MegramLevel, MegramState, MemoryAction, MemoryBundle, MemoryQuery, NoteTrust,
            StepDecision, ToolTarget, advise, dream, potentials, prefer, read_bundle, ruled_action, search,
            write_bundle,
        },
    };
    use wf_base::time::Moment;

    const NOW: Moment = Moment::from_millis(1_800_000_000_000);
    const DAY: i64 = 86_400_000;

    /// A rule, a law, an outcome and evidence of tomorrow, and notes with all the trust that a file can ask for.
    const FILE: &str = concat!(
        r#"{"created":"2099-01-01T00:00:00Z","level":"common_sense","space":"tool:curl","entity":"path:any","content":"curl hangs","state":"abandon","sigma":-1}"#,
        "\n",
        r#"{"created":"2099-01-01T00:00:00Z","level":"thinking","space":"tool:curl","entity":"path:any","content":"curl is evil","state":"accept","f":1,"sigma":1}"#,
        "\n",
        r#"{"created":"2099-01-01T00:00:00Z","space":"tool:curl","entity":"path:any","content":"curl failed","state":"change_approach","k":1e-9}"#,
        "\n",
    );

    fn bundle() -> MemoryBundle {
        read_bundle(FILE, &MemoryBundle::default()).unwrap()
    }

    fn later(days: i64) -> Moment {
        Moment::from_millis(NOW.millis() + days * DAY)
    }

    #[test]
    fn claims_advise_nothing_bind_no_planner_and_make_no_rule() {
        let claims = bundle().into_claims(NOW).megrams;
        assert_eq!(claims.len(), 3);
        assert_eq!(potentials(&claims, NOW).action, MemoryAction::Ignore);
        assert_eq!(ruled_action(&claims.iter().collect::<Vec<_>>()), None);
        let curl = ToolTarget { tool: "curl".into(), entity: None };
        assert_eq!(advise(&claims, &[curl], NOW)[0].action, MemoryAction::Ignore);
        let task = CalibrationTask { words: "fetch with curl", intent: None };
        assert!(MemoryCalibration::select(&claims, &task, NOW).is_empty());
        assert!(dream(&claims, NOW).is_empty());
        // Nor does the newest text of a cluster come from a file.
        let own = read_bundle(&FILE.replace("2099", "2026"), &MemoryBundle::default()).unwrap().megrams;
        let both = [own, claims].concat();
        let told = MemoryCalibration::select(&both, &task, NOW);
        assert!(told.must_not.iter().all(|one| !one.reason.contains("a file says")), "{told:?}");
        assert!(!told.must_not.is_empty());
    }

    #[test]
    fn what_a_file_says_of_time_and_weight_is_text() {
        let claims = bundle().into_claims(NOW).megrams;
        assert!(claims.iter().all(|one| one.created == NOW && one.level == MegramLevel::Claim));
        assert!(
            claims
                .iter()
                .any(|one| one.content == "curl hangs (a file says: common_sense, 2099-01-01T00:00:00.000Z)")
        );
        let failed = claims.iter().find(|one| one.state == MegramState::ChangeApproach).unwrap();
        assert!((failed.k - MegramState::ChangeApproach.weights().k).abs() < 1e-12);
        // It is forgotten like an outcome of the day of its import, whatever evidence there is beside it.
        assert!(dream(&claims, later(30)).forget.is_empty());
        assert_eq!(dream(&claims, later(60)).forget.len(), 3);
        let found = search(&claims, &MemoryQuery { text: "curl".into(), limit: None });
        assert!(found.is_external && found.text.contains("trust working, taint external"), "{}", found.text);
        assert!(!found.text.contains("constitutional, taint") && !found.text.contains("trust verified"));
    }

    #[test]
    fn own_entries_come_before_claims() {
        let mut own = bundle().megrams.remove(0);
        (own.level, own.created, own.content) = (MegramLevel::Megram, later(-9), "own".into());
        let all = [bundle().into_claims(NOW).megrams, vec![own]].concat();
        let text = search(&all, &MemoryQuery { text: "curl hangs is evil".into(), limit: Some(1) }).text;
        assert!(text.ends_with(": own"), "{text}");
    }

    #[test]
    fn a_person_confirms_one_claim_and_it_counts_from_its_import() {
        let claims = bundle().into_claims(NOW).megrams;
        let failed = claims.iter().find(|one| one.state == MegramState::ChangeApproach).unwrap();
        let counts = failed.clone().confirmed(NoteTrust::Verified).unwrap();
        assert_eq!((counts.level, counts.created), (MegramLevel::Megram, NOW));
        assert_eq!(potentials([&counts], NOW).action, MemoryAction::Avoid);
        assert_eq!(potentials([&counts], later(30)).action, MemoryAction::Ignore);
        let law = failed.clone().confirmed(NoteTrust::Constitutional).unwrap();
        assert_eq!((law.level, law.k.to_bits()), (MegramLevel::Thinking, 0.0_f64.to_bits()));
        assert!(law.confirmed(NoteTrust::Verified).is_err());
        // The same file once more is known, confirmed or not.
        let known = |megram: Megram| MemoryBundle { megrams: vec![megram], notes: Vec::new() };
        for one in [failed.clone(), counts] {
            assert!(read_bundle(FILE, &known(one)).is_ok());
        }
        let other = Megram { content: "else".into(), ..failed.clone() };
        assert!(read_bundle(FILE, &known(other)).is_err());
    }

    #[test]
    fn claims_that_are_passed_on_stay_claims() {
        let claims = bundle().into_claims(NOW);
        let text = write_bundle(&claims, NOW);
        let read = read_bundle(&text, &MemoryBundle::default()).unwrap();
        assert_eq!(read.clone().until(NOW), claims);
        assert_eq!(read.into_claims(NOW), claims);
    }

    #[test]
    fn nothing_that_is_signed_is_younger_than_its_import() {
        let signed = bundle().until(NOW).megrams;
        assert!(signed.iter().all(|one| one.created == NOW));
        assert!(signed.iter().any(|one| one.level == MegramLevel::Thinking));
        assert_eq!(bundle().until(Moment::parse("2100-01-01T00:00:00Z").unwrap()), bundle());
    }

    #[test]
    fn a_note_of_a_file_is_nobodys_rule_decision_or_promotion() {
        let decision = StepDecision::test("run#1", "approves step publish");
        let note = prefer(&[], &decision, later(9)).remove(0);
        let by = crate::memory::NoteConfirmation { who: "ada".into(), at: later(9) };
        let own = crate::memory::MemoryNote { external: false, ..note };
        let said = own.promote(by.clone()).trusted(NoteTrust::Constitutional, by.clone()).unwrap();
        let bundle = MemoryBundle { megrams: Vec::new(), notes: vec![said.clone()] };
        let claim = bundle.into_claims(NOW).notes.remove(0);
        assert!(claim.is_claim() && claim.external && claim.trust == NoteTrust::Working);
        assert_eq!((&claim.promoted, &claim.confirmed, &claim.strength), (&None, &None, &None));
        assert_eq!((claim.created, claim.id), (NOW, said.id));
        assert!(
            claim.source.starts_with("import (it says: constitutional of decision run#1, "),
            "{}",
            claim.source
        );
        assert!(claim.source.ends_with(", confirmed by ada)"), "{}", claim.source);
        assert!(claim.clone().trusted(NoteTrust::Constitutional, by.clone()).is_err());
        assert!(claim.clone().trusted(NoteTrust::Verified, by).is_ok());
        // A decision that is made here counts, and begins anew.
        let counted = prefer(&[claim], &decision, NOW).remove(0);
        assert!(!counted.is_claim() && counted.strength.is_some_and(|own| own.percent == 60));
    }
}
