//! The style of an agent as prose: directives that rank below everything else that the model is told (Silas 5.14).

use wf_model::{Persona, PersonaAxes, PersonaChanges};

/// The words before the directives.
const PREFACE: &str = "\
Style. What follows is only about how you write, and gives way to everything else: to the rules above, to what is safe, \
and to the task. It changes no tool that you may use, no check, no approval, no fact, and no form that an answer must have.";

/// The words before the principles. They can forbid, and permit nothing.
const CONSTITUTION_PREFACE: &str = "\
Principles. They come before everything that follows: where it contradicts them, follow them. They allow nothing that is \
forbidden below, and change no tool, no check and no approval.";

/// The value of an axis below which it is low.
const LOW: f64 = 0.35;

/// The value of an axis above which it is high.
const HIGH: f64 = 0.65;

/// An axis: how its value is read, and its directives, for a low, a middle and a high value.
struct AxisDirectives {
    value: fn(&PersonaAxes) -> f64,
    low: &'static str,
    middle: &'static str,
    high: &'static str,
}

/// The directives of all axes, in their order.
const AXES: [AxisDirectives; 7] = [
    AxisDirectives {
        value: |axes| axes.warmth,
        low: "Stay matter-of-fact: leave out greetings, praise and reassurance, and let the content speak.",
        middle: "Be friendly without ceremony: acknowledge what somebody did well where it helps, and go on.",
        high: "Be warm: show that you care about the person and the effort, and encourage where it is deserved.",
    },
    AxisDirectives {
        value: |axes| axes.assertiveness,
        low: "Offer your view as one of several, and leave the choice to the reader without pressing for it.",
        middle: "Say what you prefer and why, and be open about what speaks for the other options as well.",
        high: "Take a clear position, name what is wrong directly, and defend it with reasons under pressure.",
    },
    AxisDirectives {
        value: |axes| axes.verbosity,
        low: "Keep it short: the result first, then only what the reader needs to act on it, in few sentences.",
        middle: "Explain what matters in a paragraph or two, with the reason for each decision, and stop there.",
        high: "Be thorough: go through the steps, the evidence and the alternatives, in sections where it is long.",
    },
    AxisDirectives {
        value: |axes| axes.formality,
        low: "Write as people talk at work: plain words, contractions where they fit, no set phrases.",
        middle: "Write in neutral, correct language that suits a colleague as well as somebody from outside.",
        high: "Write formally: complete sentences, exact terms, and no colloquial expressions anywhere.",
    },
    AxisDirectives {
        value: |axes| axes.humor,
        low: "Make no jokes and use no irony; the text is to be read as it stands, by anybody, at any time.",
        middle: "A light remark is fine where it costs the reader nothing; never at the expense of a person.",
        high: "Let some wit show where the subject allows it, as long as the meaning stays clear at first reading.",
    },
    AxisDirectives {
        value: |axes| axes.initiative,
        low: "Answer what was asked, and mention further steps only if leaving them out would mislead.",
        middle: "After the answer, name the next step that follows from it, and say what it would need.",
        high: "Propose the next steps with a recommendation, and do within the task what plainly belongs to it.",
    },
    AxisDirectives {
        value: |axes| axes.certainty,
        low: "Mark what you know, what you infer and what you guess, and say what would settle the open points.",
        middle: "State conclusions plainly, and add how sure you are where a reader could rely on it wrongly.",
        high: "State conclusions firmly and without hedging; where you do not know something, say just that.",
    },
];

/// Returns the principles of a persona, for the beginning of the instructions; empty: it has none.
pub(super) fn constitution(persona: &Persona) -> String {
    match persona.constitution.as_str() {
        "" => String::new(),
        text => format!("{CONSTITUTION_PREFACE}\n\n{text}\n\n"),
    }
}

/// Returns the directives of a persona in a mood: prose without numbers, of some 250 tokens.
pub(super) fn directives(persona: &Persona, mood: &PersonaChanges) -> String {
    let axes = persona.effective(mood);
    let lines = AXES.iter().map(|axis| match (axis.value)(&axes) {
        value if value < LOW => axis.low,
        value if value > HIGH => axis.high,
        _ => axis.middle,
    });
    std::iter::once(PREFACE).chain(lines).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::{constitution, directives};
    use crate::agent::estimate_tokens;
    use wf_base::keyword::Keyword as _;
    use wf_model::{Persona, PersonaAxes, PersonaChanges, PersonaContext, PersonaTrait};

    #[test]
    fn directives_are_prose_of_200_to_400_tokens_on_every_occasion_and_in_every_mood() {
        let changes = |each: i32| PersonaChanges::new(PersonaTrait::ALL.iter().map(|which| (*which, each)));
        for context in PersonaContext::ALL {
            for mood in [-500, 0, 500].map(changes) {
                let text = directives(&Persona { context: *context, ..Persona::default() }, &mood);
                let tokens = estimate_tokens(&text);
                assert!((200..=400).contains(&tokens), "{context}, {mood:?}: {tokens}");
                assert!(!text.contains(|c: char| c.is_ascii_digit()), "{text}");
            }
        }
    }

    #[test]
    fn an_axis_speaks_by_its_band() {
        let text = |warmth| {
            let baseline = PersonaAxes { warmth, ..PersonaAxes::BASELINE };
            directives(&Persona { baseline, ..Persona::default() }, &PersonaChanges::default())
        };
        assert!(text(0.0).contains("Stay matter-of-fact"));
        assert!(text(0.5).contains("Be friendly without ceremony"));
        assert!(text(1.0).contains("Be warm"));
    }

    #[test]
    fn a_mood_moves_an_axis_into_another_band() {
        let mood = PersonaChanges::new([(PersonaTrait::Frustration, 400)]);
        let text = directives(&Persona::default(), &mood);
        assert!(text.contains("Stay matter-of-fact") && text.contains("Make no jokes"), "{text}");
    }

    #[test]
    fn without_principles_nothing_is_said_of_them() {
        assert_eq!(constitution(&Persona::default()), "");
        let text = constitution(&Persona { constitution: "Own mistakes.".into(), ..Persona::default() });
        assert!(text.starts_with("Principles.") && text.ends_with("\n\nOwn mistakes.\n\n"), "{text}");
    }
}
