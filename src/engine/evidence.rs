//! What results were checked with, and whether it is still as it was.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::exec::evidence::stale;
use crate::exec::fixed::{Fixed, Site};
use crate::machine::{
    Artifact, Attempt, Event, Fact, FixedFile, Happening, Kept, Place, Stale, Standing,
};
use crate::model::{Object, Plan};
use crate::name::Name;
use crate::repeat::Past;
use crate::store::{Reader, StoreError};

use super::Session;
use super::dispatch::Report;
use super::run::Ongoing;

/// The evidence of places, as recorded: that of the last attempt of each.
pub(super) fn recorded<'a>(
    events: impl IntoIterator<Item = &'a Event>,
) -> BTreeMap<Place, Vec<Artifact>> {
    let mut all = BTreeMap::new();
    for event in events {
        if let Fact::EvidenceTaken { attempt, files } = &event.fact {
            all.insert(attempt.place.clone(), files.clone());
        }
    }
    all
}

/// What the checks of a run that begins rely on, now.
pub(super) fn take(session: &Session, plan: &Arc<Plan>, params: &Object) -> Arc<Fixed> {
    Arc::new(Fixed::take(plan, site(session, Some(params))))
}

/// What the checks of a run relied on when it began; `None` if that was not recorded.
pub(super) fn taken(plan: &Arc<Plan>, events: &[(u64, Event)]) -> Option<Arc<Fixed>> {
    let files = events.iter().find_map(|(_, event)| match &event.fact {
        Fact::ChecksFixed { files } => Some(files),
        _ => None,
    });
    let fixed = |files: &Vec<FixedFile>| Arc::new(Fixed::recorded(plan, files));
    files.map(fixed)
}

/// Where checks are looked at.
pub(super) fn site<'a>(session: &'a Session, params: Option<&'a Object>) -> Site<'a> {
    Site {
        root: &session.root,
        host: &session.host,
        params,
    }
}

/// What a run begins with.
pub(super) fn begin(run: &Ongoing) -> Result<Happening, StoreError> {
    let past = run.past.as_ref();
    let kept = past.map(Past::kept).unwrap_or_default();
    // What is nested goes by what the outermost run noted.
    let fixed = run.fixed.as_ref().filter(|_| run.this.path.is_empty());
    Ok(Happening::Begin {
        kept: believed(&run.session, kept)?,
        left: past.map(Past::left).unwrap_or_default(),
        fixed: fixed.map(|fixed| fixed.files()).unwrap_or_default(),
    })
}

/// Looks once more at the evidence of places, before their run ends. What is gone then was
/// cleaned up, if there are steps for that.
pub(super) async fn confirm(run: Arc<Ongoing>, places: Vec<Place>) -> Report {
    let gone = !run.plan.has_finally();
    let look = move || {
        let stale = places
            .into_iter()
            .filter_map(|place| look(&run, place, gone));
        stale.collect()
    };
    let stale = tokio::task::spawn_blocking(look).await.unwrap_or_default();
    Ok(Some(Happening::Confirmed { stale }))
}

/// Looks at the evidence of a place that something which begins depends on.
pub(super) async fn relied_on(run: Arc<Ongoing>, place: Place) -> Report {
    let found = tokio::task::spawn_blocking(move || look(&run, place, true)).await;
    Ok(found.ok().flatten().map(Happening::Stale))
}

fn look(run: &Ongoing, place: Place, gone: bool) -> Option<Stale> {
    let seen = run.evidence_of(&place)?;
    let session = &run.session;
    let path = stale(&session.root, &seen, &session.memo, gone)?;
    Some(Stale { place, path })
}

/// The places with evidence that an attempt depends on directly, if it is the first of its step.
pub(super) fn dependencies(run: &Ongoing, attempt: &Attempt) -> Vec<Place> {
    if attempt.attempt != 1 || attempt.place.item.is_some_and(|item| item > 0) {
        return Vec::new();
    }
    let step = super::unit::step_of(run, &attempt.place);
    let needed = step.depends_on.iter().map(|ix| &run.plan.step(*ix).id);
    run.places_of(needed)
}

/// What is taken over from an earlier run: a result whose evidence is not fresh any more is taken
/// over on its worker's word.
fn believed(session: &Session, mut kept: Vec<Kept>) -> Result<Vec<Kept>, StoreError> {
    if kept.iter().all(|kept| kept.standing != Standing::Verified) {
        return Ok(kept);
    }
    let reader = session.store.reader()?;
    let mut pasts = BTreeMap::new();
    for result in kept
        .iter_mut()
        .filter(|kept| kept.standing == Standing::Verified)
    {
        if !pasts.contains_key(&result.from) {
            pasts.insert(result.from.clone(), past(&reader, result)?);
        }
        let Some((evidence, keys)) = pasts.get(&result.from) else {
            continue;
        };
        let of_result = evidence.iter().filter(|(place, _)| {
            let key = place
                .item
                .and_then(|item| keys.get(&place.step)?.get(item as usize));
            place.step == result.step && (result.item.is_none() || result.item.as_ref() == key)
        });
        let is_stale =
            |seen: &[Artifact]| stale(&session.root, seen, &session.memo, true).is_some();
        if of_result.into_iter().any(|(_, seen)| is_stale(seen)) {
            result.standing = Standing::Reported;
        }
    }
    Ok(kept)
}

type Evidence = (BTreeMap<Place, Vec<Artifact>>, BTreeMap<Name, Vec<String>>);

/// The evidence of the run that did some work, and the keys of its items.
fn past(reader: &Reader, kept: &Kept) -> Result<Evidence, StoreError> {
    let events = reader.events(&kept.from, 0)?;
    let keys = events.iter().filter_map(|(_, event)| match &event.fact {
        Fact::StepExpanded { step, items } => {
            let keys = items.iter().map(|item| item.key.clone()).collect();
            Some((step.clone(), keys))
        }
        _ => None,
    });
    let evidence = recorded(events.iter().map(|(_, event)| event));
    Ok((evidence, keys.collect()))
}
