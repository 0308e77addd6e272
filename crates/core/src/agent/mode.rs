use serde::{Deserialize, Serialize};
use wf_base::keywords;

use crate::risk::RiskLevel;
use wf_model::{InteractionMode, InteractionRegister};

/// The least initiative that decides a mode (Silas 11).
const HIGH_INITIATIVE: f64 = 0.65;

/// The signals from which the mode of an agent is resolved (Silas 5.1.0).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModeSignals {
    /// The register of the turn.
    pub register: InteractionRegister,
    /// The risk of what the agent may do.
    pub risk: RiskLevel,
    /// The mode the planner said.
    pub planner_mode: Option<InteractionMode>,
    /// The mode of the plan.
    pub plan_mode: Option<InteractionMode>,
    /// The mode the agent said which routed the turn.
    pub proxy_mode: Option<InteractionMode>,
    /// The initiative of its persona, from 0 to 1.
    pub initiative: f64,
}

/// The mode of an agent, and the rule that decided it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ResolvedMode {
    /// The mode.
    pub mode: InteractionMode,
    /// The rule that decided it.
    pub rule: ModeRule,
    /// The register of the turn.
    pub register: InteractionRegister,
}

keywords! {
    /// The rules for a mode, in their order: the first that applies decides.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum ModeRule {
        /// The risk requires a confirmation.
        Risk = "risk",
        /// The planner said it.
        Planner = "planner",
        /// The plan says it.
        WorkItem = "work_item",
        /// The agent said it which routed the turn.
        Proxy = "proxy",
        /// The initiative is high, and the register is one to take it in.
        Initiative = "initiative",
        /// It is the default of the register.
        Register = "register",
    }
}

impl ModeSignals {
    /// Returns the mode.
    pub fn resolve(&self) -> ResolvedMode {
        let at_risk = self.risk.requires_confirmation();
        let initiative = match self.register {
            InteractionRegister::Execution => Some(InteractionMode::ActAndReport),
            InteractionRegister::Exploration => Some(InteractionMode::DefaultAndOffer),
            InteractionRegister::Review | InteractionRegister::Status => None,
        };
        let by_register = match self.register {
            InteractionRegister::Execution => InteractionMode::ActAndReport,
            InteractionRegister::Review => InteractionMode::ConfirmOnlyWhenRequired,
            InteractionRegister::Exploration | InteractionRegister::Status => {
                InteractionMode::DefaultAndOffer
            }
        };
        let rules = [
            (ModeRule::Risk, at_risk.then_some(InteractionMode::ConfirmOnlyWhenRequired)),
            (ModeRule::Planner, self.planner_mode),
            (ModeRule::WorkItem, self.plan_mode),
            (ModeRule::Proxy, self.proxy_mode),
            (ModeRule::Initiative, initiative.filter(|_| self.initiative >= HIGH_INITIATIVE)),
        ];
        let first = rules.into_iter().find_map(|(rule, mode)| Some((rule, mode?)));
        let (rule, mode) = first.unwrap_or((ModeRule::Register, by_register));
        ResolvedMode { mode, rule, register: self.register }
    }
}

#[cfg(test)]
mod tests {
    use super::{ModeRule, ModeSignals};
    use crate::risk::RiskLevel;
    use wf_base::keyword::Keyword as _;
    use wf_model::{
        InteractionMode,
        InteractionMode::{ActAndReport, ConfirmOnlyWhenRequired, DefaultAndOffer},
        InteractionRegister,
        InteractionRegister::{Execution, Exploration, Review, Status},
    };

    fn silent(register: InteractionRegister) -> ModeSignals {
        let (planner_mode, work_item, proxy) = (None, None, None);
        ModeSignals {
            register,
            risk: RiskLevel::Low,
            planner_mode,
            plan_mode: work_item,
            proxy_mode: proxy,
            initiative: 0.0,
        }
    }

    fn mode(signals: ModeSignals) -> (ModeRule, InteractionMode) {
        let resolved = signals.resolve();
        assert_eq!(resolved.register, signals.register);
        (resolved.rule, resolved.mode)
    }

    #[test]
    fn the_first_rule_that_applies_decides() {
        let all = ModeSignals {
            risk: RiskLevel::Irreversible,
            planner_mode: Some(DefaultAndOffer),
            plan_mode: Some(ActAndReport),
            proxy_mode: Some(DefaultAndOffer),
            initiative: 1.0,
            ..silent(Execution)
        };
        assert_eq!(mode(all), (ModeRule::Risk, ConfirmOnlyWhenRequired));
        let safe = ModeSignals { risk: RiskLevel::Medium, ..all };
        assert_eq!(mode(safe), (ModeRule::Planner, DefaultAndOffer));
        let unplanned = ModeSignals { planner_mode: None, ..safe };
        assert_eq!(mode(unplanned), (ModeRule::WorkItem, ActAndReport));
        let free = ModeSignals { plan_mode: None, ..unplanned };
        assert_eq!(mode(free), (ModeRule::Proxy, DefaultAndOffer));
        let unrouted = ModeSignals { proxy_mode: None, ..free };
        assert_eq!(mode(unrouted), (ModeRule::Initiative, ActAndReport));
        let calm = ModeSignals { initiative: 0.64, ..unrouted };
        assert_eq!(mode(calm), (ModeRule::Register, ActAndReport));
    }

    #[test]
    fn initiative_decides_from_its_threshold_on_and_in_two_registers() {
        for (register, expected) in [
            (Execution, (ModeRule::Initiative, ActAndReport)),
            (Exploration, (ModeRule::Initiative, DefaultAndOffer)),
            (Review, (ModeRule::Register, ConfirmOnlyWhenRequired)),
            (Status, (ModeRule::Register, DefaultAndOffer)),
        ] {
            assert_eq!(mode(ModeSignals { initiative: 0.65, ..silent(register) }), expected);
        }
    }

    #[test]
    fn each_register_has_a_default() {
        for (register, expected) in [
            (Execution, ActAndReport),
            (Exploration, DefaultAndOffer),
            (Review, ConfirmOnlyWhenRequired),
            (Status, DefaultAndOffer),
        ] {
            assert_eq!(mode(silent(register)), (ModeRule::Register, expected));
        }
    }

    #[test]
    fn nothing_that_an_agent_says_outweighs_a_high_risk() {
        for said in InteractionMode::ALL {
            for register in InteractionRegister::ALL {
                for risk in [RiskLevel::High, RiskLevel::Irreversible] {
                    let said = Some(*said);
                    let signals = ModeSignals {
                        risk,
                        planner_mode: said,
                        proxy_mode: said,
                        initiative: 1.0,
                        ..silent(*register)
                    };
                    assert_eq!(mode(signals), (ModeRule::Risk, ConfirmOnlyWhenRequired));
                }
            }
        }
    }
}
