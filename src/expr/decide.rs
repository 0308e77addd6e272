use serde_json::Value;

use super::node::{Comparison, Node};
use super::{Ref, StatusTest, truthy};

/// The most pairs of values that a comparison is tried with.
const MAX_PAIRS: usize = 1000;

/// Which truth values an expression can have, at least as far as can be seen.
#[derive(Clone, Copy)]
pub(super) struct Outcomes {
    pub(super) can_be_true: bool,
    pub(super) can_be_false: bool,
}

type Domain<'d> = &'d dyn Fn(&Ref) -> Option<Vec<Value>>;

/// Finds what an expression can come to. Errs only on the side of "both".
pub(super) fn outcomes(node: &Node, domain: Domain<'_>) -> Outcomes {
    match node {
        Node::Test(StatusTest::Always, _) => of([true]),
        Node::Test(..) => of([true, false]),
        Node::Const(_) | Node::Read(..) | Node::List(_) => match values(node, domain) {
            Some(values) => of(values.iter().map(truthy)),
            None => of([true, false]),
        },
        Node::Not(inner) => {
            let inner = outcomes(inner, domain);
            Outcomes {
                can_be_true: inner.can_be_false,
                can_be_false: inner.can_be_true,
            }
        }
        Node::All(operands) => {
            let each: Vec<_> = operands.iter().map(|n| outcomes(n, domain)).collect();
            Outcomes {
                can_be_true: each.iter().all(|o| o.can_be_true) && !contradict(operands),
                can_be_false: each.iter().any(|o| o.can_be_false),
            }
        }
        Node::Any(operands) => {
            let each: Vec<_> = operands.iter().map(|n| outcomes(n, domain)).collect();
            Outcomes {
                can_be_true: each.iter().any(|o| o.can_be_true),
                can_be_false: each.iter().all(|o| o.can_be_false),
            }
        }
        Node::Compare(how, sides) => compare(*how, &sides.0, &sides.1, domain),
    }
}

fn of(truths: impl IntoIterator<Item = bool>) -> Outcomes {
    let mut found = Outcomes {
        can_be_true: false,
        can_be_false: false,
    };
    for truth in truths {
        found.can_be_true |= truth;
        found.can_be_false |= !truth;
    }
    found
}

fn compare(how: Comparison, left: &Node, right: &Node, domain: Domain<'_>) -> Outcomes {
    let (Some(left), Some(right)) = (values(left, domain), values(right, domain)) else {
        return of([true, false]);
    };
    if left.len().saturating_mul(right.len()) > MAX_PAIRS {
        return of([true, false]);
    }
    let pairs = left.iter().flat_map(|l| right.iter().map(move |r| (l, r)));
    of(pairs.map(|(l, r)| how.holds(l, r) == Some(true)))
}

/// All the values a node can have, if they are known.
fn values(node: &Node, domain: Domain<'_>) -> Option<Vec<Value>> {
    match node {
        Node::Const(value) => Some(vec![value.clone()]),
        Node::Read(name, path) if path.is_empty() => domain(name).filter(|v| !v.is_empty()),
        Node::List(items) => {
            let consts: Option<Vec<Value>> = items.iter().map(constant).collect();
            Some(vec![Value::Array(consts?)])
        }
        _ => None,
    }
}

fn constant(node: &Node) -> Option<Value> {
    match node {
        Node::Const(value) => Some(value.clone()),
        _ => None,
    }
}

/// Whether two operands ask the same name to equal different values.
fn contradict(operands: &[Node]) -> bool {
    let wanted: Vec<_> = operands.iter().filter_map(equality).collect();
    wanted.iter().enumerate().any(|(at, (name, path, value))| {
        let later = wanted.iter().skip(at + 1).take(MAX_PAIRS);
        later.into_iter().any(|(other, way, rival)| {
            name == other && path == way && Comparison::Unequal.holds(value, rival) == Some(true)
        })
    })
}

type Equality<'n> = (&'n Ref, &'n [super::node::Key], &'n Value);

fn equality(node: &Node) -> Option<Equality<'_>> {
    let Node::Compare(Comparison::Equal, sides) = node else {
        return None;
    };
    match &**sides {
        (Node::Read(name, path), Node::Const(value))
        | (Node::Const(value), Node::Read(name, path)) => Some((name, path, value)),
        _ => None,
    }
}
