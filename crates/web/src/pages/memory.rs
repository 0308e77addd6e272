use crate::{query::PageQuery, visit::Visit};
use axum::{extract::Path, response::Response};
use serde::{Deserialize, Serialize};
use wf_app::views::{MemoryView, SkillListing, memory_item_view, memory_view, skill_listings, skill_view};

/// The words, as the address has them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct MemorySearch {
    q: String,
}

#[derive(Serialize)]
struct FoundMemory {
    memory: MemoryView,
    q: String,
}

/// The memory of a workspace.
pub(crate) async fn memory(visit: Visit, PageQuery(search): PageQuery<MemorySearch>) -> Response {
    visit
        .show("memory.html", move |caller| {
            Ok(Some(FoundMemory { memory: memory_view(caller, &search.q)?, q: search.q }))
        })
        .await
}

/// A record of memory, explained.
pub(crate) async fn item(visit: Visit, Path(item): Path<String>) -> Response {
    visit.show("memory_item.html", move |caller| memory_item_view(caller, &item)).await
}

#[derive(Serialize)]
struct SkillsView {
    skills: Vec<SkillListing>,
}

/// The skills of a workspace and of its user.
pub(crate) async fn skills(visit: Visit) -> Response {
    visit.show("skills.html", |caller| Ok(Some(SkillsView { skills: skill_listings(caller)? }))).await
}

/// A skill, with its lock and its files.
pub(crate) async fn skill(visit: Visit, Path(skill): Path<String>) -> Response {
    visit.show("skill.html", move |caller| skill_view(caller, &skill)).await
}
