use wf_base::{
    diag::{Code, Diagnostic},
    source::Spanned,
};
use wf_lang::decode::{CompleteSpec, DurationText, MappingFields, SpecDecoder, record};
use wf_model::AutonomyThresholds;

record! {
    /// The thresholds for proposing more, or less, autonomy for a goal, by the user's corrections
    /// of its repairs.
    pub struct AutonomySection as "the autonomy" {
        /// The number of repairs required before a proposal: 30 if absent.
        optional min_samples: Spanned<u32>,
        /// The correction rate for a proposal of more autonomy: below this, 0.05 if absent.
        optional widen_below: Spanned<f64>,
        /// The correction rate for a proposal of less autonomy: above this, 0.2 if absent. It must be
        /// more than `widen_below`, so that proposals do not swing.
        optional tighten_above: Spanned<f64>,
        /// The most repairs a proposal allows: 100 if absent.
        optional most_executions: Spanned<u32>,
        /// The longest validity a proposal sets: `90d` if absent.
        optional longest: Spanned<DurationText>,
        /// The period of counted repairs: `90d` if absent.
        optional window: Spanned<DurationText>,
    }
    finish check_thresholds;
    completes AutonomyThresholds;
}

fn check_thresholds(section: &mut AutonomySection, _: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    let mut wrong = |span, message: String| {
        decoder.emit(Diagnostic::new(Code::ValueWrong, span, message));
    };
    let mut is_sound = true;
    for (key, rate) in [("widen_below", &section.widen_below), ("tighten_above", &section.tighten_above)] {
        if let Some(rate) = rate
            && !(rate.value > 0.0 && rate.value <= 1.0)
        {
            is_sound = false;
            wrong(rate.span, format!("`{key}` must be above 0, and at most 1"));
        }
    }
    for (key, number) in
        [("min_samples", &section.min_samples), ("most_executions", &section.most_executions)]
    {
        if let Some(number) = number.as_ref().filter(|number| number.value == 0) {
            wrong(number.span, format!("`{key}` must be 1 or more"));
        }
    }
    for (key, time) in [("longest", &section.longest), ("window", &section.window)] {
        if let Some(time) = time.as_ref().filter(|time| time.value.0.is_zero()) {
            wrong(time.span, format!("`{key}` must be longer than 0"));
        }
    }
    let whole = section.complete(&AutonomyThresholds::default());
    let spans = [&section.widen_below, &section.tighten_above];
    if let Some(last) = spans.into_iter().flatten().next_back()
        && is_sound
        && whole.widen_below >= whole.tighten_above
    {
        let message = format!(
            "`widen_below` ({}) must be less than `tighten_above` ({})",
            whole.widen_below, whole.tighten_above
        );
        let mistake = Diagnostic::new(Code::ValueWrong, last.span, message);
        decoder.emit(mistake.with_help("leave a gap between the two, in which nothing is proposed"));
    }
}

#[cfg(test)]
mod tests {
    use crate::config::load;
    use std::time::Duration;
    use wf_base::source::SourceText;
    use wf_model::AutonomyThresholds;

    #[test]
    fn what_is_not_said_is_the_default() {
        let read = |text: &str| {
            let (config, mistakes) = load(&SourceText::new("wf.yaml", text));
            assert_eq!(mistakes.len(), 0, "{text}");
            config.autonomy
        };
        assert_eq!(read(""), AutonomyThresholds::default());
        assert_eq!(read("autonomy: {}\n"), AutonomyThresholds::default());
        let all = "autonomy: {min_samples: 3, widen_below: 0.1, tighten_above: 0.5, \
                   most_executions: 7, longest: 2d, window: 1h}\n";
        let thresholds = AutonomyThresholds {
            min_samples: 3,
            widen_below: 0.1,
            tighten_above: 0.5,
            most_executions: 7,
            longest: Duration::from_hours(48),
            window: Duration::from_hours(1),
        };
        assert_eq!(read(all), thresholds);
    }

    #[test]
    fn every_mistake_is_told_at_its_place() {
        for (text, place, message) in [
            ("widen_below: 0", "0", "`widen_below` must be above 0, and at most 1"),
            ("tighten_above: 1.5", "1.5", "`tighten_above` must be above 0, and at most 1"),
            ("min_samples: 0", "0", "`min_samples` must be 1 or more"),
            ("most_executions: 0", "0", "`most_executions` must be 1 or more"),
            ("longest: 0s", "0s", "`longest` must be longer than 0"),
            ("window: 0s", "0s", "`window` must be longer than 0"),
            ("widen_below: 0.2", "0.2", "`widen_below` (0.2) must be less than `tighten_above` (0.2)"),
            (
                "widen_below: 0.3, tighten_above: 0.1",
                "0.1",
                "`widen_below` (0.3) must be less than `tighten_above` (0.1)",
            ),
        ] {
            let source = SourceText::new("wf.yaml", format!("autonomy: {{{text}}}\n"));
            let (_, mistakes) = load(&source);
            let messages: Vec<_> = mistakes
                .iter()
                .map(|diagnostic| (source.slice(diagnostic.span), diagnostic.message.as_str()))
                .collect();
            assert_eq!(messages, [(place, message)]);
        }
    }
}
