use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::sync::Arc;

use tokio::sync::watch;

use super::script;
use crate::exec::Stop;
use crate::exec::beneath::{Beneath, Missed};
use crate::exec::check::{Ground, look};
use crate::exec::view::View;
use crate::gate::predicate::{FileFact, FileFacts};
use crate::gate::{Answer, Context, computed, no_provider};
use crate::model::{Gate, Provider};
use crate::verify::FileFound;

/// Where gates are asked.
#[derive(Clone)]
pub struct Site {
    /// Where their programs run.
    pub ground: Ground,
    /// What these see of the workspace; `None`: all of it.
    pub view: Option<Arc<View>>,
}

/// Asks a gate: what it says, or why it cannot be asked. What that means is for
/// [`Pass`](crate::gate::Pass) to say. Dropped, it ends what it started.
pub async fn ask(
    gate: &Gate,
    context: &Context,
    site: &Site,
    stop: watch::Receiver<Stop>,
) -> Result<Answer, String> {
    if let Some(answer) = computed(gate, context, &Files::of(&site.ground)) {
        return Ok(answer);
    }
    match &gate.provider {
        Provider::Script(script) => script::run(gate, script, context, site, stop).await,
        other => Err(no_provider(other)),
    }
}

/// The files of a workspace.
pub(super) struct Files<'a>(&'a Path);

impl<'a> Files<'a> {
    pub(super) fn of(ground: &'a Ground) -> Self {
        Self(&ground.root)
    }

    /// Of each path, whether it is a file.
    pub(super) fn look_all(&self, paths: &[String]) -> Vec<FileFound> {
        paths.iter().map(|path| look(self.0, path)).collect()
    }
}

impl FileFacts for Files<'_> {
    fn look(&self, path: &str) -> FileFact {
        let found = Beneath::open(self.0).and_then(|root| root.find(Path::new(path)));
        let fd = match found {
            Ok(fd) => fd,
            Err(Missed::Absent) => return FileFact::Absent,
            Err(Missed::Outside) => return FileFact::Outside,
            Err(missed) => return FileFact::Unknown(missed.unable(Path::new(path)).why),
        };
        match rustix::fs::fstat(&fd) {
            Ok(about) if rustix::fs::FileType::from_raw_mode(about.st_mode).is_file() => {
                let place = std::fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd()));
                let root = self.0.canonicalize();
                let place = place.ok().zip(root.ok());
                let place = place
                    .as_ref()
                    .and_then(|(place, root)| place.strip_prefix(root).ok());
                match place {
                    Some(place) => FileFact::File {
                        size: u64::try_from(about.st_size).unwrap_or_default(),
                        place: place.display().to_string(),
                    },
                    None => FileFact::Outside,
                }
            }
            Ok(_) => FileFact::Absent,
            Err(error) => FileFact::Unknown(error.to_string()),
        }
    }
}
