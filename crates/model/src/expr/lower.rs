use std::ops::Range;

use minijinja::machinery::{Token, ast, parse_expr, tokenize};
use serde_json::Value;

use super::{
    Expr, ExprReference, SpannedReference, StatusFunction,
    foreign::foreign_syntax_advice,
    names,
    node::{ComparisonOperator, ExprNode, PathKey},
};
use wf_base::{
    diag::{Code, Diagnostic, nearest},
    keyword::Keyword,
    source::Span,
};

/// The length up to which a text is within the other bounds.
const SHORT: usize = 400;
/// The most tokens of an expression.
const MAX_TOKENS: usize = 2000;
/// The most words that make the parser descend without a bound of its own.
const MAX_DESCENTS: usize = 64;

const REMEDY: &str = "expressions only look up and compare values; compute in a step instead";

/// Turns the text of one expression into a [`ExprNode`], collecting names and mistakes.
pub(super) struct ExprLowering<'t> {
    text: &'t str,
    at: Span,
    pub(super) references: Vec<SpannedReference>,
    pub(super) mistakes: Vec<Diagnostic>,
}

impl<'t> ExprLowering<'t> {
    pub(super) fn new(text: &'t str, at: Span) -> Self {
        Self { text, at, references: Vec::new(), mistakes: Vec::new() }
    }

    /// Parses and lowers; if there is no result, there are mistakes.
    pub(super) fn lower(&mut self) -> Option<ExprNode> {
        if let Some(reason) = self.unbounded() {
            return self.refuse(Code::ExpressionForm, 0..self.text.len(), reason);
        }
        match parse_expr(self.text) {
            Ok(tree) => self.node(&tree),
            Err(error) => {
                let range = error.range().unwrap_or(0..self.text.len());
                let detail = error.detail().unwrap_or("syntax error").to_owned();
                let message = format!("invalid expression: {detail}");
                let wrong = self.mistake(Code::ExpressionSyntax, range, message);
                self.mistakes.push(match syntax_help(&detail, self.text) {
                    Some(help) => wrong.with_help(help),
                    None => wrong,
                });
                None
            }
        }
    }

    /// Returns the reason why the text is not even given to the parser.
    fn unbounded(&self) -> Option<&'static str> {
        if self.text.len() > Expr::MAX {
            return Some("the expression is longer than 10,000 characters");
        }
        if self.text.len() <= SHORT {
            return None;
        }
        let (mut tokens, mut descents) = (0, 0);
        for token in tokenize(self.text, true, minijinja::syntax::SyntaxConfig::default()) {
            let Ok((token, _)) = token else { break };
            tokens += 1;
            descents += usize::from(matches!(token, Token::Minus | Token::Ident("not" | "if" | "else")));
        }
        (tokens > MAX_TOKENS || descents > MAX_DESCENTS).then_some("the expression is too large")
    }

    fn node(&mut self, tree: &ast::Expr<'_>) -> Option<ExprNode> {
        match tree {
            ast::Expr::Const(constant) => self.constant(&constant.value, tree),
            ast::Expr::Var(_) | ast::Expr::GetAttr(_) | ast::Expr::GetItem(_) => self.lookup(tree),
            ast::Expr::Call(call) => self.call(call, range(tree)),
            ast::Expr::List(list) => self.nodes(list.items.iter()).map(ExprNode::List),
            ast::Expr::UnaryOp(unary) => match unary.op {
                ast::UnaryOpKind::Not => Some(ExprNode::Not(Box::new(self.node(&unary.expr)?))),
                ast::UnaryOpKind::Neg => self.negative(unary),
            },
            ast::Expr::BinOp(binary) => self.binary(binary, tree),
            ast::Expr::Compare(_) => {
                self.refuse_form(tree, "chained comparisons are not supported", "write `a < b and b < c`")
            }
            ast::Expr::Filter(_) => self.refuse_form(tree, "filters are not supported", REMEDY),
            ast::Expr::Test(_) => self.refuse_form(tree, "`is` tests are not supported", "compare with `==`"),
            ast::Expr::IfExpr(_) => self.refuse_form(tree, "`if` is not supported", REMEDY),
            ast::Expr::Slice(_) => self.refuse_form(tree, "slices are not supported", REMEDY),
            ast::Expr::Tuple(_) => self.refuse_form(tree, "tuples are not supported", "write a list: [1, 2]"),
            ast::Expr::Map(_) => self.refuse_form(tree, "objects are not supported", REMEDY),
        }
    }

    /// Lowers all nodes, so the mistakes of each are found.
    fn nodes<'a, 's: 'a>(&mut self, trees: impl Iterator<Item = &'a ast::Expr<'s>>) -> Option<Vec<ExprNode>> {
        let lowered: Vec<_> = trees.map(|tree| self.node(tree)).collect();
        lowered.into_iter().collect()
    }

    fn constant(&mut self, value: &minijinja::Value, tree: &ast::Expr<'_>) -> Option<ExprNode> {
        match serde_json::to_value(value) {
            Ok(json) if !(json.is_null() && value.is_number()) => Some(ExprNode::Const(json)),
            _ => self.refuse(Code::ExpressionForm, range(tree), "the number is too large"),
        }
    }

    fn negative(&mut self, unary: &ast::Spanned<ast::UnaryOp<'_>>) -> Option<ExprNode> {
        let at = bytes(unary.span());
        let number = match &unary.expr {
            ast::Expr::Const(constant) => serde_json::to_value(&constant.value).ok(),
            _ => None,
        };
        let negative = number.and_then(|number| match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => whole.checked_neg().map(Value::from),
            (None, Some(float)) => serde_json::Number::from_f64(-float).map(Value::Number),
            (None, None) => None,
        });
        match negative {
            Some(value) => Some(ExprNode::Const(value)),
            None => self.refuse(Code::ExpressionForm, at, "only numbers can be negated"),
        }
    }

    fn binary(&mut self, binary: &ast::Spanned<ast::BinOp<'_>>, tree: &ast::Expr<'_>) -> Option<ExprNode> {
        use ast::BinOpKind as Kind;
        let how = match binary.op {
            Kind::ScAnd => return self.operands(tree, true).map(ExprNode::All),
            Kind::ScOr => return self.operands(tree, false).map(ExprNode::Any),
            Kind::Eq => ComparisonOperator::Equal,
            Kind::Ne => ComparisonOperator::Unequal,
            Kind::Lt => ComparisonOperator::Below,
            Kind::Lte => ComparisonOperator::AtMost,
            Kind::Gt => ComparisonOperator::Above,
            Kind::Gte => ComparisonOperator::AtLeast,
            Kind::In => ComparisonOperator::Within,
            _ => return self.refuse_form(tree, "arithmetic is not supported", REMEDY),
        };
        let (left, right) = (self.node(&binary.left), self.node(&binary.right));
        Some(ExprNode::Compare(how, Box::new((left?, right?))))
    }

    /// Returns the operands of a run of `and` or of `or`, which the parser nests to the left.
    fn operands(&mut self, tree: &ast::Expr<'_>, and: bool) -> Option<Vec<ExprNode>> {
        let mut trees = Vec::new();
        let mut left = tree;
        while let ast::Expr::BinOp(binary) = left {
            match binary.op {
                ast::BinOpKind::ScAnd if and => {}
                ast::BinOpKind::ScOr if !and => {}
                _ => break,
            }
            trees.push(&binary.right);
            left = &binary.left;
        }
        trees.push(left);
        self.nodes(trees.into_iter().rev())
    }

    fn lookup(&mut self, tree: &ast::Expr<'_>) -> Option<ExprNode> {
        let mut keys = Vec::new();
        let mut inner = tree;
        let (root, start) = loop {
            match inner {
                ast::Expr::Var(var) => break (var.id, bytes(var.span()).start),
                ast::Expr::GetAttr(get) => {
                    keys.push(PathKey::Field(get.name.to_owned()));
                    inner = &get.expr;
                }
                ast::Expr::GetItem(get) => {
                    keys.push(self.subscript(&get.subscript_expr)?);
                    inner = &get.expr;
                }
                other => {
                    let message = "fields can only be read from names";
                    return self.refuse_form(other, message, REMEDY);
                }
            }
        };
        keys.reverse();
        let at = start..range(tree).end;
        match names::resolve(root, keys) {
            Ok((name, path)) => {
                self.read(name.clone(), path.clone(), at);
                Some(ExprNode::Read(name, path))
            }
            Err(wrong) => {
                let diagnostic = self.mistake(wrong.code, at, wrong.message);
                self.mistakes.push(match wrong.help {
                    Some(help) => diagnostic.with_help(help),
                    None => diagnostic,
                });
                None
            }
        }
    }

    fn subscript(&mut self, tree: &ast::Expr<'_>) -> Option<PathKey> {
        if let ast::Expr::Const(constant) = tree {
            if let Some(name) = constant.value.as_str() {
                return Some(PathKey::Field(name.to_owned()));
            }
            if let Some(at) = constant.value.as_usize() {
                return Some(PathKey::Index(at));
            }
        }
        let message = "the index must be a string or a whole number";
        self.refuse_form(tree, message, REMEDY)
    }

    fn call(&mut self, call: &ast::Call<'_>, at: Range<usize>) -> Option<ExprNode> {
        let ast::Expr::Var(function) = &call.expr else {
            return self.refuse(Code::ExpressionForm, at, "methods are not supported");
        };
        let Some(test) = StatusFunction::from_word(function.id) else {
            let functions: Vec<&str> = StatusFunction::ALL.iter().map(|test| test.as_str()).collect();
            let message = format!("unknown function `{}`", function.id);
            let wrong = self.mistake(Code::UnknownName, bytes(function.span()), message);
            self.mistakes.push(match nearest(function.id, functions.iter().copied()) {
                Some(near) => wrong.with_suggestion(Some(near)),
                None => match foreign_syntax_advice(function.id) {
                    Some(help) => wrong.with_help(help),
                    None => wrong.with_help(format!("valid functions: {}", functions.join(", "))),
                },
            });
            return None;
        };
        let step = match call.args.as_slice() {
            [] if test != StatusFunction::Skipped => None,
            [ast::CallArg::Pos(ast::Expr::Const(arg))] if test != StatusFunction::Always => {
                arg.value.as_str().map(str::to_owned)
            }
            _ => None,
        };
        if step.is_none() && !(call.args.is_empty() && test != StatusFunction::Skipped) {
            let message = match test {
                StatusFunction::Always => "`always()` takes no arguments".to_owned(),
                _ => format!("`{test}` takes one argument: the quoted id of a step"),
            };
            return self.refuse(Code::ExpressionForm, at, message);
        }
        self.read(ExprReference::Test(test, step.clone()), Vec::new(), at);
        Some(ExprNode::Test(test, step))
    }

    fn read(&mut self, reference: ExprReference, path: Vec<PathKey>, at: Range<usize>) {
        let span = self.place(at);
        self.references.push(SpannedReference { name: reference, path, span });
    }

    fn refuse_form<T>(&mut self, tree: &ast::Expr<'_>, message: &str, help: &str) -> Option<T> {
        let wrong = self.mistake(Code::ExpressionForm, range(tree), message);
        self.mistakes.push(wrong.with_help(help));
        None
    }

    fn refuse<T>(&mut self, code: Code, at: Range<usize>, message: impl Into<String>) -> Option<T> {
        let wrong = self.mistake(code, at, message);
        self.mistakes.push(wrong.with_help(REMEDY));
        None
    }

    fn mistake(&self, code: Code, at: Range<usize>, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(code, self.place(at), message)
    }

    /// Returns the position of a part of the text in the file.
    fn place(&self, part: Range<usize>) -> Span {
        let whole = self.at.range();
        if whole.len() != self.text.len() {
            return self.at;
        }
        let end = self.text.ceil_char_boundary(part.end.min(self.text.len()));
        let start = self.text.floor_char_boundary(part.start.min(end));
        self.at.subspan(start..end)
    }
}

fn range(tree: &ast::Expr<'_>) -> Range<usize> {
    bytes(tree.span())
}

fn bytes(span: minijinja::machinery::Span) -> Range<usize> {
    span.start_offset as usize..span.end_offset as usize
}

fn syntax_help(detail: &str, text: &str) -> Option<&'static str> {
    if text.trim_start().starts_with("${{") {
        return foreign_syntax_advice(text.trim_start().trim_start_matches("${{"))
            .or(Some("remove `${{` and `}}`: this is already an expression"));
    }
    if text.trim().is_empty() {
        Some("write the value to look up, for example `params.day`")
    } else if text.contains("&&") || text.contains("||") {
        Some("write `and` and `or`")
    } else if text.trim_start().starts_with("{{") {
        Some("remove the braces: this is already an expression")
    } else if text.contains('=') && !text.contains("==") {
        Some("compare with `==`")
    } else if text.contains('!') && !text.contains("!=") {
        Some("write `not`")
    } else if detail.contains("recursion") {
        Some("use fewer parentheses")
    } else {
        None
    }
}
