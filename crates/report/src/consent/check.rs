use super::exact::json;
use super::plan::{bound, limits};
use super::{RiskDirection, SummaryBuilder, SummaryLineKind, step, work};
use wf_model::{Check, CheckCertainty, CheckJudge, CheckProbe, Expectation, JsonExpectation};

pub(super) fn check(check: &Check, sheet: &mut SummaryBuilder) {
    let Check {
        name,
        phase,
        probe,
        expect: wanted,
        env,
        cwd,
        timeout,
        network,
        mode,
        read,
        limits: most,
        fixed,
        classify,
        judge: judged,
    } = check;
    let key = format!("{}.{name}", phase.as_str());
    let below = format!("{key}.");
    let (text, level) = match mode {
        CheckCertainty::Verifiable => ("verifiable: repeating it gives the same result", 1.0),
        CheckCertainty::Plausible => ("plausible: a judgement; repeating it may give another result", 0.0),
    };
    sheet.add_line(SummaryLineKind::Proof, RiskDirection::Guard, &key, "a check that must pass");
    sheet.add_line(SummaryLineKind::Proof, RiskDirection::AtLeast(level), &format!("{below}mode"), text);
    sheet.mark_default(*mode == CheckCertainty::Verifiable);
    match probe {
        Some(CheckProbe::Run(own)) => work::script(own, sheet, &below),
        Some(CheckProbe::Exec(own)) => work::argv(own, sheet, &below),
        None => {}
    }
    expect(wanted, probe.is_some(), sheet, &format!("{below}expect."));
    for variable in env {
        let key = format!("{below}env.{}", variable.name);
        sheet.add_line(SummaryLineKind::Work, RiskDirection::Plain, &key, variable.value.source());
    }
    if let Some(cwd) = cwd {
        sheet.add_line(SummaryLineKind::Work, RiskDirection::Plain, &format!("{below}cwd"), cwd);
    }
    if probe.is_some() {
        bound(sheet, &format!("{below}timeout"), Some(*timeout));
        let level = f64::from(u8::from(*network));
        let key = format!("{below}network");
        sheet.add_line(SummaryLineKind::Reach, RiskDirection::AtMost(level), &key, network.to_string());
        sheet.mark_default(!network);
    }
    sheet.add_each(SummaryLineKind::Reach, RiskDirection::Grant, &format!("{below}allow.read"), read);
    limits(most, sheet, &below);
    sheet.add_each(SummaryLineKind::Proof, RiskDirection::Guard, &format!("{below}fixed"), fixed);
    step::classify(classify, sheet, &below);
    if let Some(judged) = judged {
        judge(judged, sheet, &below);
    }
}

/// The model that judges the output of a check.
fn judge(judge: &CheckJudge, sheet: &mut SummaryBuilder, below: &str) {
    let CheckJudge { role, criteria, votes, required } = judge;
    let mut put = |sense, key: &str, text: String| {
        sheet.add_line(SummaryLineKind::Proof, sense, &format!("{below}judge.{key}"), text);
    };
    put(RiskDirection::Plain, "role", role.to_string());
    put(RiskDirection::Plain, "votes", votes.to_string());
    put(RiskDirection::AtLeast(f64::from(*required)), "required", required.to_string());
    sheet.add_each(SummaryLineKind::Proof, RiskDirection::Guard, &format!("{below}judge.criteria"), criteria);
}

/// The expectations of a check.
pub(super) fn expect(expect: &Expectation, runs: bool, sheet: &mut SummaryBuilder, below: &str) {
    let Expectation {
        exit_code,
        equals,
        contains,
        regex,
        output_lt,
        output_gt,
        file_exists,
        not_empty,
        json: comparisons,
        json_schema,
    } = expect;
    if runs {
        let code = exit_code.unwrap_or(0).to_string();
        sheet.add_line(SummaryLineKind::Proof, RiskDirection::Guard, &format!("{below}exit_code"), code);
        sheet.mark_default(exit_code.is_none());
    }
    let mut put = |sense, key: &str, text: String| {
        sheet.add_line(SummaryLineKind::Proof, sense, &format!("{below}{key}"), text);
    };
    for (key, text) in [("equals", equals), ("contains", contains)] {
        if let Some(text) = text {
            put(RiskDirection::Guard, key, json(&text.as_str().into()));
        }
    }
    if let Some(pattern) = regex {
        put(RiskDirection::Guard, "regex", pattern.as_str().to_owned());
    }
    if let Some(most) = output_lt {
        put(RiskDirection::AtMost(*most), "output_lt", most.to_string());
    }
    if let Some(least) = output_gt {
        put(RiskDirection::AtLeast(*least), "output_gt", least.to_string());
    }
    if let Some(wanted) = not_empty {
        put(RiskDirection::Guard, "not_empty", wanted.to_string());
    }
    if let Some(schema) = json_schema {
        put(RiskDirection::Guard, "json_schema", json(schema.text()));
    }
    sheet.add_each(SummaryLineKind::Proof, RiskDirection::Guard, &format!("{below}file_exists"), file_exists);
    for comparison in comparisons {
        json_expect(comparison, sheet, below);
    }
}

/// A comparison of what a JSON path selects.
pub(super) fn json_expect(comparison: &JsonExpectation, sheet: &mut SummaryBuilder, below: &str) {
    let JsonExpectation { path, equals, lt, gt, exists, count } = comparison;
    let mut put = |sense, key: &str, text: String| {
        let key = format!("{below}json[{path}].{key}");
        sheet.add_line(SummaryLineKind::Proof, sense, &key, text);
    };
    if let Some(value) = equals {
        put(RiskDirection::Guard, "equals", json(value));
    }
    if let Some(most) = lt {
        put(RiskDirection::AtMost(*most), "lt", most.to_string());
    }
    if let Some(least) = gt {
        put(RiskDirection::AtLeast(*least), "gt", least.to_string());
    }
    if let Some(wanted) = exists {
        put(RiskDirection::Guard, "exists", wanted.to_string());
    }
    if let Some(count) = count {
        put(RiskDirection::Guard, "count", count.to_string());
    }
}
