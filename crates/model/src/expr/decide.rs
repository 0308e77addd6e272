use serde_json::Value;

use super::{
    ExprReference, StatusFunction,
    node::{ComparisonOperator, ExprNode},
    truthy,
};

/// The most pairs of values for which a comparison is tried.
const MAX_PAIRS: usize = 1000;

/// The truth values an expression can have, as far as can be determined.
#[derive(Clone, Copy)]
pub(super) struct PossibleOutcomes {
    pub(super) can_be_true: bool,
    pub(super) can_be_false: bool,
}

type ReferenceDomain<'d> = &'d dyn Fn(&ExprReference) -> Option<Vec<Value>>;

/// Finds the possible outcomes of an expression. Errs only on the side of "both".
pub(super) fn outcomes(node: &ExprNode, domain: ReferenceDomain<'_>) -> PossibleOutcomes {
    match node {
        ExprNode::Test(StatusFunction::Always, _) => of([true]),
        ExprNode::Test(..) => of([true, false]),
        ExprNode::Const(_) | ExprNode::Read(..) | ExprNode::List(_) => match values(node, domain) {
            Some(values) => of(values.iter().map(truthy)),
            None => of([true, false]),
        },
        ExprNode::Not(inner) => {
            let inner = outcomes(inner, domain);
            PossibleOutcomes { can_be_true: inner.can_be_false, can_be_false: inner.can_be_true }
        }
        ExprNode::All(operands) => {
            let each: Vec<_> = operands.iter().map(|n| outcomes(n, domain)).collect();
            PossibleOutcomes {
                can_be_true: each.iter().all(|o| o.can_be_true) && !contradict(operands),
                can_be_false: each.iter().any(|o| o.can_be_false),
            }
        }
        ExprNode::Any(operands) => {
            let each: Vec<_> = operands.iter().map(|n| outcomes(n, domain)).collect();
            PossibleOutcomes {
                can_be_true: each.iter().any(|o| o.can_be_true),
                can_be_false: each.iter().all(|o| o.can_be_false),
            }
        }
        ExprNode::Compare(how, sides) => compare(*how, &sides.0, &sides.1, domain),
    }
}

fn of(truths: impl IntoIterator<Item = bool>) -> PossibleOutcomes {
    let mut outcomes = PossibleOutcomes { can_be_true: false, can_be_false: false };
    for truth in truths {
        outcomes.can_be_true |= truth;
        outcomes.can_be_false |= !truth;
    }
    outcomes
}

fn compare(
    operator: ComparisonOperator,
    left: &ExprNode,
    right: &ExprNode,
    domain: ReferenceDomain<'_>,
) -> PossibleOutcomes {
    let (Some(left), Some(right)) = (values(left, domain), values(right, domain)) else {
        return of([true, false]);
    };
    if left.len().saturating_mul(right.len()) > MAX_PAIRS {
        return of([true, false]);
    }
    let pairs = left.iter().flat_map(|l| right.iter().map(move |r| (l, r)));
    of(pairs.map(|(l, r)| operator.holds(l, r) == Some(true)))
}

/// Returns all the values a node can have, if they are known.
fn values(node: &ExprNode, domain: ReferenceDomain<'_>) -> Option<Vec<Value>> {
    match node {
        ExprNode::Const(value) => Some(vec![value.clone()]),
        ExprNode::Read(name, path) if path.is_empty() => domain(name).filter(|v| !v.is_empty()),
        ExprNode::List(items) => {
            let constants = items.iter().map(|item| match item {
                ExprNode::Const(value) => Some(value.clone()),
                _ => None,
            });
            Some(vec![Value::Array(constants.collect::<Option<_>>()?)])
        }
        _ => None,
    }
}

/// True if two operands require the same name to equal different values.
fn contradict(operands: &[ExprNode]) -> bool {
    let equalities: Vec<_> = operands.iter().filter_map(equality).collect();
    equalities.iter().enumerate().any(|(at, (name, path, value))| {
        let later = equalities.iter().skip(at + 1).take(MAX_PAIRS);
        later.into_iter().any(|(other, way, rival)| {
            name == other && path == way && ComparisonOperator::Unequal.holds(value, rival) == Some(true)
        })
    })
}

type EqualityTest<'n> = (&'n ExprReference, &'n [super::node::PathKey], &'n Value);

fn equality(node: &ExprNode) -> Option<EqualityTest<'_>> {
    let ExprNode::Compare(ComparisonOperator::Equal, sides) = node else {
        return None;
    };
    match &**sides {
        (ExprNode::Read(name, path), ExprNode::Const(value))
        | (ExprNode::Const(value), ExprNode::Read(name, path)) => Some((name, path, value)),
        _ => None,
    }
}
