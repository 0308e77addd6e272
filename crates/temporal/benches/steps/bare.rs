//! A workflow that does nothing but to have processes started: what the library and the server cost by themselves.

use std::{path::Path, process::Command, time::Duration};

use temporalio_client::{WorkflowGetResultOptions, WorkflowStartOptions};
use temporalio_macros::{activities, workflow, workflow_methods};
use temporalio_sdk::{
    ActivityOptions, Runtime, Worker, WorkerOptions, WorkflowContext, WorkflowResult,
    activities::{ActivityContext, ActivityError},
    runtime::RuntimeOptions,
    workflows,
};

use wf_app::config::{TemporalBackend, TlsFiles};

/// The number of processes started at once.
const AT_ONCE: usize = 100;

struct BareActivities;

#[activities]
impl BareActivities {
    #[activity(name = "bare.work")]
    async fn work(_: ActivityContext, (): ()) -> Result<(), ActivityError> {
        #[expect(
            clippy::disallowed_methods,
            reason = "a process without anything around it is what is measured"
        )]
        let ended = tokio::task::spawn_blocking(|| Command::new("sh").args(["-c", "true"]).status()).await;
        assert!(ended.unwrap().unwrap().success());
        Ok(())
    }
}

#[workflow]
#[derive(Default)]
struct BareWorkflow;

#[workflow_methods]
impl BareWorkflow {
    #[run(name = "bare.run")]
    async fn run(ctx: &mut WorkflowContext<Self>, count: usize) -> WorkflowResult<()> {
        for from in (0..count).step_by(AT_ONCE) {
            let works = (from..count.min(from + AT_ONCE)).map(|_| {
                let options = ActivityOptions::start_to_close_timeout(Duration::from_mins(1));
                ctx.execute_activity(BareActivities::work, (), options)
            });
            for ended in workflows::join_all(works).await {
                ended?;
            }
        }
        Ok(())
    }
}

/// Runs it with a worker in this process.
pub fn run(address: &str, steps: usize) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (address, namespace, tls) = (address.into(), "default".into(), TlsFiles::default());
        let backend = TemporalBackend { address, namespace, key: None, tls };
        let client = wf_temporal::connect(&backend, Path::new("."), None, "bare".into()).await.unwrap();
        let runtime = Runtime::from_current_tokio(RuntimeOptions::default()).unwrap();
        let options = WorkerOptions::new("bare")
            .register_activities(BareActivities)
            .register_workflow::<BareWorkflow>()
            .unwrap()
            .build();
        let mut worker = Worker::new(&runtime, client.clone(), options).unwrap();
        let done = async {
            let options = WorkflowStartOptions::new("bare", "bare").build();
            let handle = client.start_workflow(BareWorkflow::run, steps, options).await.unwrap();
            handle.get_result(WorkflowGetResultOptions::default()).await.unwrap();
        };
        tokio::select! {
            ended = worker.run() => panic!("the worker ended: {ended:?}"),
            () = done => {}
        }
    });
}
