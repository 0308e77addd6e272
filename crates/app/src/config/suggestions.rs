//! The section `suggestions` of `wf.yaml`. Its limits can be lowered, never raised.

use wf_base::{
    diag::{Code, Diagnostic},
    source::Spanned,
};
use wf_lang::decode::{DurationText, LowerSpec, MappingFields, SpecDecoder, record};
use wf_model::SuggestionLimits;

record! {
    /// The limits on the kept suggestions of runs, so that people are not asked too often.
    pub struct SuggestionsSection as "the suggestions" {
        /// The most pending ones: 5 if absent, and no more.
        optional max_pending: Spanned<u32>,
        /// The most new ones within an hour: 6 if absent, and no more.
        optional max_per_hour: Spanned<u32>,
        /// The least time between equal suggestions of a plan with its parameters: `3h` if absent.
        optional repeat: DurationText,
        /// The least time from a dismissal to another suggestion of the plan: `2h` if absent.
        optional cooldown: DurationText,
    }
    finish check_limits;
}

impl SuggestionsSection {
    /// Returns its values, with defaults filled in.
    pub(super) fn completed(&self) -> SuggestionLimits {
        let defaults = SuggestionLimits::default();
        let time = |setting: Option<DurationText>, default| {
            setting.map_or(default, |duration| u64::try_from(duration.0.as_millis()).unwrap_or(u64::MAX))
        };
        SuggestionLimits {
            max_pending: self.max_pending.lower().unwrap_or(defaults.max_pending),
            max_per_hour: self.max_per_hour.lower().unwrap_or(defaults.max_per_hour),
            repeat_ms: time(self.repeat, defaults.repeat_ms),
            cooldown_ms: time(self.cooldown, defaults.cooldown_ms),
        }
    }
}

fn check_limits(section: &mut SuggestionsSection, _: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    let defaults = SuggestionLimits::default();
    let limits = [
        ("max_pending", &section.max_pending, defaults.max_pending),
        ("max_per_hour", &section.max_per_hour, defaults.max_per_hour),
    ];
    for (key, number, max) in limits {
        if let Some(number) = number.as_ref().filter(|number| number.value > max) {
            let message = format!("`{key}` must be {max} or less");
            let mistake = Diagnostic::new(Code::ValueWrong, number.span, message);
            decoder.emit(mistake.with_help("a person who is asked more often stops reading"));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::config::load;
    use wf_base::source::SourceText;
    use wf_model::SuggestionLimits;

    #[test]
    fn the_limits_may_be_lowered() {
        let read = |text: &str| load(&SourceText::new("wf.yaml", text));
        assert_eq!(read("").0.defaults.suggestions, SuggestionLimits::default());
        let (config, mistakes) =
            read("suggestions: {max_pending: 0, max_per_hour: 1, repeat: 1d, cooldown: 5m}\n");
        assert_eq!(mistakes.len(), 0);
        let limits =
            SuggestionLimits { max_pending: 0, max_per_hour: 1, repeat_ms: 86_400_000, cooldown_ms: 300_000 };
        assert_eq!(config.defaults.suggestions, limits);
        for (text, message) in [
            ("max_pending: 6", "`max_pending` must be 5 or less"),
            ("max_per_hour: 7", "`max_per_hour` must be 6 or less"),
        ] {
            let (_, mistakes) = read(&format!("suggestions: {{{text}}}\n"));
            assert_eq!(
                mistakes.iter().map(|diagnostic| diagnostic.message.as_str()).collect::<Vec<_>>(),
                [message]
            );
        }
    }
}
