use super::entry::{read, used};
use super::token_path;
use crate::approval::{Refusal, SKEW, Scope, Statement, Token};
use crate::cli::{Failure, Workspace};
use crate::goal::withdrawn;
use crate::name::PlanId;
use crate::store::{Reader, StoreError};
use crate::time::Moment;

/// The standing approval that lies beside a goal.
#[derive(Debug)]
pub struct Standing {
    /// What it says. Whether its signatures hold was not asked.
    pub statement: Statement,
    /// How often it was used.
    pub used: u32,
    /// When it was withdrawn, if it was.
    pub withdrawn: Option<Moment>,
}

/// The standing approval beside a goal, as far as it can be read; a refusal tells why there is none.
pub fn standing(
    workspace: &Workspace,
    (goal, path): (&PlanId, &str),
    now: Moment,
) -> Result<Result<Standing, Refusal>, Failure> {
    let found = read(workspace, &token_path(&workspace.root.join(path)));
    let token = match found.and_then(of_a_goal) {
        Ok(token) => token,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let statement = token.statement().clone();
    Ok(Ok(Standing {
        used: used(workspace, &token)?,
        withdrawn: withdrawal(workspace, (goal, &statement), now)?,
        statement,
    }))
}

fn of_a_goal(token: Token) -> Result<Token, Refusal> {
    match token.statement().scope {
        Scope::Standing => Ok(token),
        approved => Err(Refusal::OtherScope {
            approved,
            asked: Scope::Standing,
        }),
    }
}

/// When a standing approval of a goal was withdrawn, if it was.
pub(super) fn withdrawal(
    workspace: &Workspace,
    (goal, statement): (&PlanId, &Statement),
    now: Moment,
) -> Result<Option<Moment>, Failure> {
    let withdrawals = match Reader::from_log(&workspace.state) {
        Ok(reader) => reader.withdrawals(goal)?,
        Err(StoreError::NoState(_)) => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let of = (statement.nonce.as_str(), statement.issued);
    Ok(withdrawn(&withdrawals, of, (now, SKEW)))
}
