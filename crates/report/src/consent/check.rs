use super::exact::{json, shell_words};
use super::step::failure_rules;
use super::view::RecordView;
use super::{RiskDirection, SummaryBuilder, SummaryLineKind};
use wf_model::expr::Template;
use wf_model::{Check, CheckCertainty, CheckJudge, CheckProbe, Expectation, JsonExpectation, ShellScript};

/// Checks, each below its phase and its name.
pub(super) fn checks(checks: &[Check], sheet: &mut SummaryBuilder) {
    for check in checks {
        let key = format!("{}.{}", check.phase.as_str(), check.name);
        sheet.add(SummaryLineKind::Proof, |_| RiskDirection::Guard, &key, "a check that must pass", false);
        sheet.below(&key, |sheet| check.view(sheet));
    }
}

view! { check: Check in Work {
    least mode in Proof = certainty(*mode); *mode == CheckCertainty::Verifiable,
    own probe = RecordView::view,
    whole expect = expected,
    plain env,
    plain cwd,
    most timeout in Effort = probe.as_ref().map(|_| timeout),
    most network in Reach = probe.as_ref().map(|_| network); !network,
    grant read in Reach as "allow.read",
    below limits,
    guard fixed in Proof,
    own classify = failure_rules,
    below judge,
} aside name, phase }

fn certainty(mode: CheckCertainty) -> (&'static str, f64) {
    match mode {
        CheckCertainty::Verifiable => ("verifiable: repeating it gives the same result", 1.0),
        CheckCertainty::Plausible => ("plausible: a judgement; repeating it may give another result", 0.0),
    }
}

impl RecordView for CheckProbe {
    fn view(&self, sheet: &mut SummaryBuilder) {
        match self {
            Self::Run(script) => script.view(sheet),
            Self::Exec(words) => argv(words, sheet),
        }
    }
}

// A script in full, and the shell that reads it.
view! { script: ShellScript in Work {
    plain shell = shell_words(shell),
    plain text as "run",
} }

/// A program and its arguments.
pub(super) fn argv(words: &[Template], sheet: &mut SummaryBuilder) {
    lines!(sheet in Work { plain "exec" = shell_words(words.iter().map(Template::source)) });
}

// The model that judges the output of a check.
view! { judge: CheckJudge in Proof {
    plain role,
    plain votes,
    least required,
    guard criteria,
} }

fn expected(check: &Check, sheet: &mut SummaryBuilder) {
    match check.probe {
        Some(_) => expectations(&check.expect, sheet),
        None => lines!(sheet in Proof { below "expect" = &check.expect }),
    }
}

/// The expectations of what a process does.
pub(super) fn expectations(expect: &Expectation, sheet: &mut SummaryBuilder) {
    lines!(sheet in Proof {
        guard "expect.exit_code" = expect.exit_code.unwrap_or(0).to_string(); expect.exit_code.is_none(),
        below "expect" = expect,
    });
}

view! { expect: Expectation in Proof {
    guard equals = equals.as_deref().map(quoted),
    guard contains = contains.as_deref().map(quoted),
    guard regex = regex.as_ref().map(ToString::to_string),
    most output_lt,
    least output_gt,
    guard not_empty,
    guard json_schema,
    guard file_exists,
    own json = json_expectations,
} aside exit_code }

fn quoted(text: &str) -> String {
    json(&text.into())
}

/// Comparisons, each of what a JSON path selects.
pub(super) fn json_expectations(comparisons: &[JsonExpectation], sheet: &mut SummaryBuilder) {
    for comparison in comparisons {
        sheet.below(&format!("json[{}]", comparison.path), |sheet| comparison.view(sheet));
    }
}

view! { comparison: JsonExpectation in Proof {
    guard equals,
    most lt,
    least gt,
    guard exists,
    guard count,
} aside path }
