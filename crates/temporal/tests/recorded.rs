//! The history of a workflow of a run, as what happened before each of its tasks, and what it wanted then.

use std::collections::BTreeMap;

use temporalio_common::protos::{
    coresdk::activity_result::{
        ActivityResolution, Cancellation, Failure, Success, activity_resolution::Status,
    },
    temporal::api::{
        common::v1::Payloads,
        failure::v1::Failure as WireFailure,
        history::v1::{History, HistoryEvent, history_event::Attributes},
    },
};
use wf_temporal::order::RunOrder;

use crate::replica::{Event, Wanted, value};

/// A workflow task: when it began, what had happened before it, and what the workflow wanted then.
#[derive(Default)]
pub struct Task {
    pub millis: u64,
    pub messages: Vec<Event>,
    pub events: Vec<Event>,
    pub wanted: Vec<String>,
    /// True if the server suggests to begin the history anew.
    pub is_long: bool,
}

impl Task {
    /// A task before which some ends had happened.
    pub fn of(millis: u64, events: Vec<Event>, wanted: &[Wanted], is_long: bool) -> Self {
        let marks = wanted.iter().filter_map(|wanted| match wanted {
            Wanted::Mark(name) => Some(Event::Mark(name.clone())),
            _ => None,
        });
        let (messages, wanted) = (marks.collect(), wanted.iter().map(Wanted::compared).collect());
        Self { millis, messages, events, wanted, is_long }
    }
}

/// Returns the order of a workflow, and its tasks.
pub fn tasks_of(history: &History) -> (RunOrder, Vec<Task>) {
    let mut reading = Reading::default();
    for (place, event) in history.events.iter().enumerate() {
        reading.read(event, history.events.get(place + 1));
    }
    (reading.order.unwrap(), reading.tasks)
}

/// A history as far as it was read.
#[derive(Default)]
struct Reading {
    order: Option<RunOrder>,
    tasks: Vec<Task>,
    /// What happened since the last task.
    messages: Vec<Event>,
    events: Vec<Event>,
    /// The numbers of activities, by the events that scheduled them.
    numbers: BTreeMap<i64, u32>,
}

impl Reading {
    fn read(&mut self, event: &HistoryEvent, next: Option<&HistoryEvent>) {
        use Attributes as A;
        match event.attributes.as_ref().unwrap() {
            A::WorkflowExecutionStartedEventAttributes(started) => {
                self.order = Some(value(&started.input.as_ref().unwrap().payloads[0]));
            }
            A::WorkflowTaskStartedEventAttributes(started) if !is_lost(next) => {
                let time = event.event_time.as_ref().unwrap();
                let millis = u64::try_from(time.seconds * 1000 + i64::from(time.nanos) / 1_000_000).unwrap();
                let [messages, events] = [&mut self.messages, &mut self.events].map(std::mem::take);
                let is_long = started.suggest_continue_as_new;
                self.tasks.push(Task { millis, messages, events, wanted: Vec::new(), is_long });
            }
            A::ActivityTaskScheduledEventAttributes(scheduled) => {
                let number = u32::try_from(self.numbers.len()).unwrap() + 1;
                self.numbers.insert(event.event_id, number);
                self.want(format!("activity {number}: {}", scheduled.activity_id));
            }
            A::ActivityTaskCancelRequestedEventAttributes(cancelled) => {
                self.want(format!("cancel {}", self.numbers[&cancelled.scheduled_event_id]));
            }
            A::TimerStartedEventAttributes(timer) => self.want(format!("timer {}", timer.timer_id)),
            A::WorkflowExecutionCompletedEventAttributes(_)
            | A::WorkflowExecutionContinuedAsNewEventAttributes(_) => self.want("end".into()),
            A::ActivityTaskCompletedEventAttributes(done) => {
                let result = first_of(done.result.as_ref());
                self.end(done.scheduled_event_id, Status::Completed(Success { result }));
            }
            A::ActivityTaskTimedOutEventAttributes(lost) => {
                self.end(lost.scheduled_event_id, failed(lost.failure.as_ref()));
            }
            A::ActivityTaskFailedEventAttributes(lost) => {
                self.end(lost.scheduled_event_id, failed(lost.failure.as_ref()));
            }
            A::ActivityTaskCanceledEventAttributes(ended) => {
                self.end(ended.scheduled_event_id, Status::Cancelled(Cancellation::default()));
            }
            A::TimerFiredEventAttributes(timer) => {
                self.events.push(Event::Timer(timer.timer_id.parse().unwrap()));
            }
            A::WorkflowExecutionSignaledEventAttributes(signal) => {
                let payload = first_of(signal.input.as_ref()).unwrap();
                self.messages.push(Event::Signal(signal.signal_name.clone(), payload));
            }
            A::MarkerRecordedEventAttributes(marker) => {
                let data: serde_json::Value = value(&marker.details["patch-data"].payloads[0]);
                let name = data["id"].as_str().unwrap().to_owned();
                self.want(format!("mark {name}"));
                self.tasks.last_mut().unwrap().messages.insert(0, Event::Mark(name));
            }
            // It came with the task that accepted it, and was looked at first.
            A::WorkflowExecutionUpdateAcceptedEventAttributes(accepted) => {
                let input = accepted.accepted_request.clone().unwrap().input.unwrap();
                let update = Event::Update(input.name, first_of(input.args.as_ref()).unwrap());
                self.tasks.last_mut().unwrap().messages.push(update);
            }
            _ => {}
        }
    }

    fn want(&mut self, wanted: String) {
        self.tasks.last_mut().unwrap().wanted.push(wanted);
    }

    fn end(&mut self, scheduled: i64, status: Status) {
        let resolution = Box::new(ActivityResolution { status: Some(status) });
        self.events.push(Event::Ended(self.numbers[&scheduled], resolution));
    }
}

/// True if the event after the beginning of a workflow task says that it came to nothing.
fn is_lost(next: Option<&HistoryEvent>) -> bool {
    use Attributes::{WorkflowTaskFailedEventAttributes, WorkflowTaskTimedOutEventAttributes};
    let attributes = next.and_then(|event| event.attributes.as_ref());
    matches!(attributes, Some(WorkflowTaskFailedEventAttributes(_) | WorkflowTaskTimedOutEventAttributes(_)))
}

fn first_of(
    payloads: Option<&Payloads>,
) -> Option<temporalio_common::protos::temporal::api::common::v1::Payload> {
    payloads.and_then(|payloads| payloads.payloads.first().cloned())
}

fn failed(failure: Option<&WireFailure>) -> Status {
    let failure = Some(failure.cloned().unwrap_or_default());
    Status::Failed(Failure { failure, ..Failure::default() })
}
