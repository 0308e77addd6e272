use super::exact::{json, period, words};
use super::plan::Used;
use super::{Kind, Sense, Sheet, gate};
use crate::expr::{SpannedRef, Template};
use crate::model::{EnvVar, Http, Script, SkillArg, SkillCall, Step, Uses, Wait, Work};

pub(super) fn work(work: &Work, used: &mut Used, sheet: &mut Sheet) {
    match work {
        Work::Run(own) => script(own, sheet, ""),
        Work::Exec(own) => argv(own, sheet, ""),
        Work::Skill(call) => skill(call, sheet),
        Work::Http(request) => http(request, sheet),
        Work::Uses(nested) => uses(nested, used, sheet),
        Work::Wait(what) => wait(what, sheet),
        Work::Approve(decision) => gate::approve(decision, sheet),
    }
}

/// A script in full, and the shell that reads it.
pub(super) fn script(script: &Script, sheet: &mut Sheet, before: &str) {
    let Script { shell, text } = script;
    let shell = words(shell.iter().map(String::as_str));
    sheet.put(Kind::Work, Sense::Plain, &format!("{before}shell"), shell);
    sheet.put(Kind::Work, Sense::Plain, &format!("{before}run"), text);
}

/// A program and its arguments.
pub(super) fn argv(argv: &[Template], sheet: &mut Sheet, before: &str) {
    let text = words(argv.iter().map(Template::source));
    sheet.put(Kind::Work, Sense::Plain, &format!("{before}exec"), text);
}

/// A script of a skill, what executes it, and what it is given.
fn skill(call: &SkillCall, sheet: &mut Sheet) {
    let SkillCall {
        skill,
        folder: _, // It is in the path.
        script: _,
        head,
        args,
        words: given,
    } = call;
    sheet.put(Kind::Work, Sense::Plain, "skill.name", skill.as_str());
    sheet.put(Kind::Work, Sense::Plain, "skill.script", call.path());
    if !head.is_empty() {
        let program = words(head.iter().map(String::as_str));
        sheet.put(Kind::Work, Sense::Plain, "skill.program", program);
    }
    for SkillArg {
        name,
        schema,
        value,
        position,
    } in args
    {
        let key = format!("skill.args.{name}");
        if let Some(value) = value {
            sheet.put(Kind::Data, Sense::Plain, &key, value.source());
        }
        if let Some(position) = position {
            let key = format!("{key}.position");
            sheet.put(Kind::Work, Sense::Plain, &key, position.to_string());
        }
        let key = format!("{key}.schema");
        sheet.put(Kind::Proof, Sense::Guard, &key, json(schema.text()));
    }
    if !given.is_empty() {
        let given = words(given.iter().map(Template::source));
        sheet.put(Kind::Data, Sense::Plain, "skill.args", given);
    }
}

fn http(request: &Http, sheet: &mut Sheet) {
    let Http {
        method,
        url,
        headers,
        body,
        expect,
        outputs,
    } = request;
    let mut put = |key: &str, text: &str| {
        sheet.put(Kind::Work, Sense::Plain, &format!("http.{key}"), text);
    };
    put("method", method);
    put("url", url.source());
    for (name, value) in headers {
        put(&format!("headers.{name}"), value.source());
    }
    if let Some(body) = body {
        put("body", body.source());
    }
    for (name, path) in outputs {
        put(&format!("outputs.{name}"), path);
    }
    let status = if expect.is_empty() {
        "200 to 299".into()
    } else {
        json(&expect.clone().into())
    };
    sheet.put(Kind::Proof, Sense::Plain, "http.expect.status", status);
}

fn uses(nested: &Uses, used: &mut Used, sheet: &mut Sheet) {
    let Uses { plan, path, with } = nested;
    let name = used.name(plan, path);
    sheet.put(Kind::Work, Sense::Plain, "uses", name);
    for (param, value) in with {
        let key = format!("with.{param}");
        sheet.put(Kind::Data, Sense::Plain, &key, value.source());
    }
}

fn wait(wait: &Wait, sheet: &mut Sheet) {
    let (key, text) = match wait {
        Wait::For(time) => ("wait.duration", period(*time)),
        Wait::Until(moment) => ("wait.until", moment.to_string()),
        Wait::File(path) => ("wait.file", path.source().to_owned()),
    };
    sheet.put(Kind::Work, Sense::Plain, key, text);
}

/// Everything that the work of a step reads, its variables included.
pub(super) fn reads(step: &Step) -> Vec<SpannedRef> {
    let mut templates: Vec<&Template> = step.env.iter().map(|EnvVar { value, .. }| value).collect();
    match &step.work {
        Work::Run(_) | Work::Wait(Wait::For(_) | Wait::Until(_)) => {}
        Work::Exec(argv) => templates.extend(argv),
        Work::Skill(call) => templates.extend(call.templates()),
        Work::Http(request) => {
            templates.push(&request.url);
            templates.extend(request.headers.iter().map(|(_, value)| value));
            templates.extend(&request.body);
        }
        Work::Uses(nested) => templates.extend(nested.with.iter().map(|(_, value)| value)),
        Work::Wait(Wait::File(path)) => templates.push(path),
        Work::Approve(decision) => {
            templates.push(&decision.message);
            templates.extend(decision.show.iter().map(|(_, value)| value));
        }
    }
    let read = templates.into_iter().flat_map(Template::refs);
    read.cloned().collect()
}
