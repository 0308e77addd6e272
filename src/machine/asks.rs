//! What people are asked, and what follows from what they decide.

use super::blocked::Block;
use super::end::Final;
use super::scope::View;
use super::state::{self, Asked, Spot};
use super::{
    Artifact, Ask, Attempt, Decision, Effect, Ended, Exit, Fact, GatePoint, Given, Machine, Timer,
};
use crate::gate::GateResult;
use crate::model::{Approve, Class, Needs, Object};
use crate::name::GateId;

/// A request for a decision about a block.
pub(super) struct Plea {
    pub(super) message: String,
    pub(super) block: Block,
    /// What follows if nobody answers.
    pub(super) fallback: Option<String>,
    pub(super) queue: Option<String>,
}

impl Machine {
    /// Asks people to decide what a step is for.
    pub(super) fn ask_step(&mut self, spot: Spot, approve: &Approve) {
        let view = View {
            plan: &self.plan,
            state: &self.state,
            spot: Some(spot),
        };
        let message = approve.message.render(&view);
        let values = approve.show.iter();
        let show = values.map(|(name, value)| Ok((name.to_string(), value.value(&view)?)));
        let asked = message.and_then(|message| Ok((message, show.collect::<Result<_, _>>()?)));
        let (message, show) = match asked {
            Ok(asked) => asked,
            Err(error) => return self.unable(spot, &error.to_string()),
        };
        let ask = self.request(Some(spot), message, &approve.needs);
        self.put(Ask { show, ..ask });
    }

    /// Asks people to agree to what gates want them to: those of one gate after the other, where
    /// gates do not ask the same people, so that each gets what it demands.
    pub(super) fn ask_for(
        &mut self,
        spot: Option<Spot>,
        point: GatePoint,
        gates: Vec<GateResult>,
        rewritten: Object,
    ) {
        let Some(first) = gates.first() else { return };
        let needs = self.needs_of(spot, point, &first.gate);
        let same = |result: &GateResult| self.needs_of(spot, point, &result.gate) == needs;
        let (now, then): (Vec<GateResult>, Vec<GateResult>) = gates.into_iter().partition(same);
        let told = now.iter().map(|result| match result.reason.as_str() {
            "" => format!("gate `{}` asks for approval", result.gate),
            reason => format!("gate `{}` asks for approval: {reason}", result.gate),
        });
        let message = told.collect::<Vec<_>>().join("; ");
        let ask = self.request(spot, message, &needs);
        let show = self.shown(spot, point);
        self.put(Ask {
            point: Some(point),
            gates: now.into_iter().map(|result| result.gate).collect(),
            then,
            show,
            rewritten,
            ..ask
        });
    }

    /// Asks people what is to become of a block.
    pub(super) fn ask_people(&mut self, spot: Option<Spot>, point: GatePoint, plea: Plea) {
        let Block {
            gate,
            reason,
            had,
            rest,
            rewritten,
            ..
        } = plea.block;
        let needs = self.needs_of(spot, point, &gate);
        let ask = self.request(spot, plea.message, &needs);
        let show = self.shown(spot, point);
        self.put(Ask {
            point: Some(point),
            gates: vec![gate],
            then: rest,
            show,
            rewritten,
            queue: plea.queue,
            fallback: plea.fallback,
            had: had.into_iter().collect(),
            reason: Some(reason),
            ..ask
        });
    }

    /// Who must agree where a gate asks for that.
    fn needs_of(&self, spot: Option<Spot>, point: GatePoint, id: &GateId) -> Needs {
        let mut gates = super::gates::gates_at(&self.plan, spot.map(Spot::ix), point);
        let gate = gates.find(|gate| gate.id == *id);
        gate.map(|gate| gate.approval.clone()).unwrap_or_default()
    }

    /// What is shown with a question about a place or the run.
    fn shown(&self, spot: Option<Spot>, point: GatePoint) -> Object {
        let slot = spot.and_then(|spot| self.state.place(spot));
        let mut show = Object::new();
        match point {
            GatePoint::Start => show.insert("params".into(), self.state.params.clone().into()),
            GatePoint::Leave => slot
                .and_then(|slot| slot.result.as_ref())
                .and_then(|gave| show.insert("outputs".into(), gave.outputs.clone().into())),
            GatePoint::Publish => show.insert("outputs".into(), self.plan_outputs().0.into()),
            GatePoint::Enter | GatePoint::Again => None,
        };
        if let Some(item) = spot.and_then(|spot| self.state.item(spot)) {
            show.insert("item".into(), item.value.clone());
        }
        show
    }

    pub(super) fn request(&self, spot: Option<Spot>, message: String, needs: &Needs) -> Ask {
        let plan = &self.plan;
        let relies_on = match spot {
            Some(spot) => {
                let needed = plan.step(spot.ix()).depends_on.iter();
                needed.map(|ix| plan.step(*ix).id.clone()).collect()
            }
            None => Vec::new(),
        };
        Ask {
            number: self.state.asked + 1,
            place: spot.map(|spot| state::place(plan, spot)),
            point: None,
            phase: None,
            gates: Vec::new(),
            then: Vec::new(),
            message: super::finish::cut(message),
            show: Object::new(),
            rewritten: Object::new(),
            required: needs.required,
            approvers: needs.approvers.clone(),
            escalate_to: needs.escalate_to.clone(),
            queue: None,
            fallback: None,
            had: Vec::new(),
            reason: None,
            since: self.now,
            expires: self.now.after(needs.time()),
            relies_on,
        }
    }

    pub(super) fn put(&mut self, ask: Ask) {
        self.emit(Fact::ApprovalAsked(Box::new(ask.clone())));
        self.wait_for(ask);
    }

    /// Waits for what people decide, or for the end of their time.
    pub(super) fn wait_for(&mut self, ask: Ask) {
        let (number, at) = (ask.number, ask.expires);
        let timer = Timer::Ask { number };
        self.turn.effects.push(Effect::Ask(Box::new(ask)));
        self.turn.effects.push(Effect::Wake { timer, at });
    }

    /// Takes in what people decided. That their time is over is for the timer to say.
    pub(super) fn answered(&mut self, number: u32, given: Given) {
        let Some(asked) = self.state.asks.get(&number).cloned() else {
            return;
        };
        match given.decision {
            Decision::Approved => {
                // What goes on with it waits for its lock, and the answer with it.
                if let Some(spot) = asked
                    .spot
                    .filter(|spot| self.state.returning.contains(spot))
                {
                    self.state.unheard.insert(spot);
                    return;
                }
                self.tell_answer(number, given);
                self.approved(asked);
            }
            Decision::Denied => {
                let why = refusal(&asked.ask, &given);
                self.tell_answer(number, given);
                self.denied(asked, why);
            }
            Decision::Void => {
                self.tell_answer(number, given);
                self.ask_anew(asked.ask, Vec::new());
            }
            Decision::Expired | Decision::Withdrawn => {}
        }
    }

    fn tell_answer(&mut self, number: u32, given: Given) {
        let asked = self.state.asks.get(&number);
        let place = asked.and_then(|asked| asked.ask.place.clone());
        self.emit(Fact::ApprovalAnswered {
            number,
            place,
            given,
        });
        self.turn.effects.push(Effect::Dismiss { number });
    }

    fn ask_anew(&mut self, ask: Ask, approvers: Vec<String>) {
        let time = ask.expires.since(ask.since);
        self.put(Ask {
            number: self.state.asked + 1,
            since: self.now,
            expires: self.now.after(time),
            approvers: if approvers.is_empty() {
                ask.approvers.clone()
            } else {
                approvers
            },
            ..ask
        });
    }

    fn approved(&mut self, asked: Asked) {
        let Asked { ask, spot } = asked;
        if let (Some(phase), Some(spot)) = (ask.phase, spot) {
            return self.ignored(spot, phase);
        }
        match (ask.point, spot) {
            (Some(point), spot) => self.follow(spot, point, ask.then, ask.rewritten),
            (None, Some(spot)) => self.decide(spot, Exit::Done, ask.show),
            (None, None) => {}
        }
    }

    fn denied(&mut self, asked: Asked, why: String) {
        let Asked { ask, spot } = asked;
        if let (Some(phase), Some(spot)) = (ask.phase, spot) {
            return self.not_ignored(spot, phase, &why);
        }
        match (ask.point, spot) {
            (Some(point), spot) => {
                if let Some(gate) = ask.gates.first() {
                    self.give_up(spot, point, gate, &why);
                }
            }
            (None, Some(spot)) => {
                let class = Class::Logical;
                self.decide(spot, Exit::Unable { why, class }, Object::new());
            }
            (None, None) => {}
        }
    }

    /// Ends the attempt of a step that waited for a decision. A no is final: nobody is asked
    /// again.
    fn decide(&mut self, spot: Spot, exit: Exit, outputs: Object) {
        let Some(live) = self.state.live.get(&spot) else {
            return;
        };
        let attempt = state::attempt(&self.plan, spot, live.attempt);
        let no = match &exit {
            Exit::Unable { why, class } => Some((why.clone(), *class)),
            _ => None,
        };
        if let Some((why, class)) = no {
            self.end_attempt(attempt, exit);
            let standing = super::Standing::Unchecked;
            return self.finish(spot, Final::bad(standing, Some(class), why));
        }
        self.ended(Ended {
            attempt,
            exit,
            outputs,
            artifacts: Vec::new(),
            standing: None,
            class: None,
            seen: Vec::new(),
            usage: super::Usage::default(),
            service: false,
        });
    }

    /// Records the end of an attempt that gives nothing.
    pub(super) fn end_attempt(&mut self, attempt: Attempt, how: Exit) {
        let class = how.class();
        let (outputs, artifacts) = (Object::new(), Vec::<Artifact>::new());
        self.emit(Fact::AttemptEnded {
            attempt,
            how,
            class,
            outputs,
            artifacts,
            standing: None,
            usage: super::Usage::default(),
            service: false,
        });
    }

    /// Takes in that the time of those who were asked is over. Others are asked, once, if there
    /// are any; then a block follows its fallback, and everything else is refused.
    pub(super) fn ask_over(&mut self, number: u32) {
        let Some(asked) = self.state.asks.get(&number).cloned() else {
            return;
        };
        if self.now < asked.ask.expires {
            return;
        }
        let Asked { ask, spot } = asked.clone();
        let given = |reason: &str| Given {
            decision: Decision::Expired,
            by: Vec::new(),
            tokens: Vec::new(),
            reason: reason.into(),
        };
        self.tell_answer(number, given(""));
        if !ask.escalate_to.is_empty() {
            let to = ask.escalate_to.clone();
            let escalate_to = Vec::new();
            return self.ask_anew(Ask { escalate_to, ..ask }, to);
        }
        let time = crate::time::format_duration(ask.expires.since(ask.since));
        let late = format!("nobody answered within {time}");
        let why = match ask.phase {
            Some(_) => late,
            None => format!("{late}: {}", ask.message),
        };
        match (ask.point, ask.gates.first()) {
            // What a gate asks for and nobody grants is a block.
            (Some(point), Some(gate)) => {
                let block = Block {
                    next: ask.fallback,
                    had: ask.had.into_iter().collect(),
                    rest: ask.then,
                    rewritten: ask.rewritten,
                    ..Block::new(gate.clone(), why)
                };
                self.block(spot, point, block);
            }
            _ => self.denied(asked, why),
        }
    }

    /// Asks no more about a place.
    pub(super) fn withdraw(&mut self, spot: Option<Spot>) {
        let asks = self.state.asks.iter();
        let numbers = asks.filter(|(_, asked)| asked.spot == spot);
        let numbers: Vec<u32> = numbers.map(|(number, _)| *number).collect();
        for number in numbers {
            let given = Given {
                decision: Decision::Withdrawn,
                by: Vec::new(),
                tokens: Vec::new(),
                reason: String::new(),
            };
            self.tell_answer(number, given);
        }
    }
}

/// Why something that was refused does not go on.
fn refusal(ask: &Ask, given: &Given) -> String {
    let names: Vec<&str> = given.by.iter().map(|by| by.name.as_str()).collect();
    let who = if names.is_empty() {
        "denied".to_owned()
    } else {
        format!("denied by {}", names.join(", "))
    };
    let asked = match ask.gates.first() {
        Some(gate) => format!("gate `{gate}`: {who}"),
        None => who,
    };
    match given.reason.as_str() {
        "" => asked,
        reason => format!("{asked}: {reason}"),
    }
}
