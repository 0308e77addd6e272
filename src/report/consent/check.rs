use super::exact::json;
use super::plan::{bound, limits};
use super::{Kind, Sense, Sheet, step, work};
use crate::model::{Check, Expect, JsonExpect, Mode, Probe};

pub(super) fn check(check: &Check, sheet: &mut Sheet) {
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
    } = check;
    let key = format!("{}.{name}", phase.as_str());
    let below = format!("{key}.");
    let (text, level) = match mode {
        Mode::Verifiable => ("verifiable: whoever asks again finds the same", 1.0),
        Mode::Plausible => ("plausible: a judgement that may turn out otherwise", 0.0),
    };
    sheet.put(Kind::Proof, Sense::Guard, &key, "a check that must hold");
    sheet.put(
        Kind::Proof,
        Sense::AtLeast(level),
        &format!("{below}mode"),
        text,
    );
    sheet.usual(*mode == Mode::Verifiable);
    match probe {
        Some(Probe::Run(own)) => work::script(own, sheet, &below),
        Some(Probe::Exec(own)) => work::argv(own, sheet, &below),
        None => {}
    }
    expect(wanted, probe.is_some(), sheet, &format!("{below}expect."));
    for variable in env {
        let key = format!("{below}env.{}", variable.name);
        sheet.put(Kind::Work, Sense::Plain, &key, variable.value.source());
    }
    if let Some(cwd) = cwd {
        sheet.put(Kind::Work, Sense::Plain, &format!("{below}cwd"), cwd);
    }
    if probe.is_some() {
        bound(sheet, &format!("{below}timeout"), Some(*timeout));
        let level = f64::from(u8::from(*network));
        let key = format!("{below}network");
        sheet.put(Kind::Reach, Sense::AtMost(level), &key, network.to_string());
        sheet.usual(!network);
    }
    sheet.each(
        Kind::Reach,
        Sense::Grant,
        &format!("{below}allow.read"),
        read,
    );
    limits(most, sheet, &below);
    sheet.each(Kind::Proof, Sense::Guard, &format!("{below}fixed"), fixed);
    step::classify(classify, sheet, &below);
}

/// What must be found.
pub(super) fn expect(expect: &Expect, runs: bool, sheet: &mut Sheet, below: &str) {
    let Expect {
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
        sheet.put(
            Kind::Proof,
            Sense::Guard,
            &format!("{below}exit_code"),
            code,
        );
        sheet.usual(exit_code.is_none());
    }
    let mut put = |sense, key: &str, text: String| {
        sheet.put(Kind::Proof, sense, &format!("{below}{key}"), text);
    };
    for (key, text) in [("equals", equals), ("contains", contains)] {
        if let Some(text) = text {
            put(Sense::Guard, key, json(&text.as_str().into()));
        }
    }
    if let Some(pattern) = regex {
        put(Sense::Guard, "regex", pattern.as_str().to_owned());
    }
    if let Some(most) = output_lt {
        put(Sense::AtMost(*most), "output_lt", most.to_string());
    }
    if let Some(least) = output_gt {
        put(Sense::AtLeast(*least), "output_gt", least.to_string());
    }
    if let Some(wanted) = not_empty {
        put(Sense::Guard, "not_empty", wanted.to_string());
    }
    if let Some(schema) = json_schema {
        put(Sense::Guard, "json_schema", json(schema.text()));
    }
    sheet.each(
        Kind::Proof,
        Sense::Guard,
        &format!("{below}file_exists"),
        file_exists,
    );
    for comparison in comparisons {
        json_expect(comparison, sheet, below);
    }
}

/// A comparison of what a JSON path selects.
pub(super) fn json_expect(comparison: &JsonExpect, sheet: &mut Sheet, below: &str) {
    let JsonExpect {
        path,
        equals,
        lt,
        gt,
        exists,
        count,
    } = comparison;
    let mut put = |sense, key: &str, text: String| {
        let key = format!("{below}json[{path}].{key}");
        sheet.put(Kind::Proof, sense, &key, text);
    };
    if let Some(value) = equals {
        put(Sense::Guard, "equals", json(value));
    }
    if let Some(most) = lt {
        put(Sense::AtMost(*most), "lt", most.to_string());
    }
    if let Some(least) = gt {
        put(Sense::AtLeast(*least), "gt", least.to_string());
    }
    if let Some(wanted) = exists {
        put(Sense::Guard, "exists", wanted.to_string());
    }
    if let Some(count) = count {
        put(Sense::Guard, "count", count.to_string());
    }
}
