use clap::Args;

use crate::params::ParamArgs;
use wf_app::{CommandError, approve::ParamBoundsRequest};
use wf_model::{JsonObject, PlanParam};

/// The parameters to approve.
#[derive(Args, Clone, Debug, Default)]
pub struct ParamBoundArgs {
    #[command(flatten)]
    pub(super) params: ParamArgs,
    /// Approve every value of this parameter that the plan permits
    #[arg(long, value_name = "NAME")]
    any: Vec<String>,
    /// Approve every value of this parameter that a JSON Schema permits
    #[arg(long, value_name = "NAME=SCHEMA")]
    within: Vec<String>,
}

impl ParamBoundArgs {
    /// The same, as a use case takes it.
    pub(super) fn request<'a>(
        &'a self,
        values: &'a dyn Fn(&[PlanParam]) -> Result<JsonObject, CommandError>,
    ) -> ParamBoundsRequest<'a> {
        ParamBoundsRequest { any: &self.any, within: &self.within, values }
    }
}
