//! Typed expressions to conditions and numbers over columns; what no column answers becomes a
//! closure.

use super::{ColumnInputs, Operand, RangeBool, RangeFloat, RangeNumber};
use crate::analysis::shape;
use crate::codegen::Lowering;
use crate::codegen::closures::{is_plain_float, is_plain_whole};
use crate::language::functions::Vector;
use crate::typed::{ArithmeticOp, Expr, ExprKind};
use crate::types::Type;

impl Lowering<'_> {
    /// A condition over columns.
    pub(crate) fn range_bool(&mut self, expr: &Expr, inputs: &mut ColumnInputs) -> RangeBool {
        if let Some(constant) = shape::constant(self.policy, expr) {
            return RangeBool::Constant(constant.holds());
        }
        if let Some(register) = self.register(expr) {
            return RangeBool::Register(register);
        }
        if shape::is_node_unschedulable(self.policy, expr) {
            return RangeBool::Unschedulable;
        }
        let policy = self.policy;
        match &shape::resolve_alias(policy, expr).kind {
            ExprKind::Not(inner) => RangeBool::Not(Box::new(self.range_bool(inner, inputs))),
            ExprKind::And(left, right) => RangeBool::And(
                Box::new(self.range_bool(left, inputs)),
                Box::new(self.range_bool(right, inputs)),
            ),
            ExprKind::Or(left, right) => RangeBool::Or(
                Box::new(self.range_bool(left, inputs)),
                Box::new(self.range_bool(right, inputs)),
            ),
            ExprKind::Has(inner) => match shape::node_label(policy, inner) {
                Some(key) => RangeBool::LabelHas(inputs.label(key)),
                None => self.bool_closure(expr, inputs),
            },
            ExprKind::Equal(left, right) if is_plain_whole(left) && is_plain_whole(right) => {
                RangeBool::Equal(self.range_number(left, inputs), self.range_number(right, inputs))
            }
            ExprKind::Equal(left, right) => {
                for (label, other) in [(left, right), (right, left)] {
                    if let Some(key) = shape::node_label(policy, label)
                        && *other.ty.present() == Type::String
                        && let Some(operand) = self.operand(other, inputs)
                    {
                        return RangeBool::LabelEquals(inputs.label(key), operand);
                    }
                }
                self.bool_closure(expr, inputs)
            }
            ExprKind::In(element, container) => {
                if let Some(key) = shape::node_label(policy, element)
                    && let Some(operand) = self.operand(container, inputs)
                {
                    return RangeBool::LabelIn(inputs.label(key), operand);
                }
                if shape::is_node_labels(policy, container)
                    && let Some(key) = shape::constant_text(policy, element)
                {
                    return RangeBool::LabelHas(inputs.label(key));
                }
                self.bool_closure(expr, inputs)
            }
            ExprKind::Compare(op, left, right) if is_plain_whole(left) && is_plain_whole(right) => {
                RangeBool::Compare(*op, self.range_number(left, inputs), self.range_number(right, inputs))
            }
            ExprKind::Compare(op, left, right) if is_plain_float(left) && is_plain_float(right) => {
                RangeBool::CompareFloat(*op, self.range_float(left, inputs), self.range_float(right, inputs))
            }
            _ => self.bool_closure(expr, inputs),
        }
    }

    /// What a label is compared with: a constant or a register of text or of texts.
    fn operand(&mut self, expr: &Expr, inputs: &mut ColumnInputs) -> Option<usize> {
        let operand = match shape::constant(self.policy, expr) {
            Some(constant) => Operand::Constant(constant),
            None => Operand::Register(self.register(expr)?),
        };
        inputs.operands.push(operand);
        Some(inputs.operands.len() - 1)
    }

    /// A whole number that is there, over columns.
    pub(crate) fn range_number(&mut self, expr: &Expr, inputs: &mut ColumnInputs) -> RangeNumber {
        let policy = self.policy;
        if let Some(number) = shape::constant(policy, expr).and_then(|constant| constant.as_int()) {
            return RangeNumber::Constant(number);
        }
        if let Some(register) = self.register(expr) {
            return RangeNumber::Register(register);
        }
        if let Some((part, name)) = shape::node_resource(policy, expr) {
            return RangeNumber::Column(part, inputs.resource(name));
        }
        match &shape::resolve_alias(policy, expr).kind {
            ExprKind::Arithmetic(op, left, right) if is_plain_whole(left) && is_plain_whole(right) => {
                let make = match op {
                    ArithmeticOp::Add => RangeNumber::Add,
                    ArithmeticOp::Subtract => RangeNumber::Subtract,
                    ArithmeticOp::Multiply => RangeNumber::Multiply,
                    _ => return self.int_closure(expr, inputs),
                };
                let left = Box::new(self.range_number(left, inputs));
                make(left, Box::new(self.range_number(right, inputs)))
            }
            ExprKind::Call(function, args, _) => match (function.def().vector, args.as_slice()) {
                (Some(Vector::Percent), [part, of]) if is_plain_whole(part) && is_plain_whole(of) => {
                    let part = Box::new(self.range_number(part, inputs));
                    RangeNumber::Percent(part, Box::new(self.range_number(of, inputs)))
                }
                _ => self.int_closure(expr, inputs),
            },
            _ => self.int_closure(expr, inputs),
        }
    }

    /// A float that is there, over columns.
    pub(crate) fn range_float(&mut self, expr: &Expr, inputs: &mut ColumnInputs) -> RangeFloat {
        let policy = self.policy;
        if let Some(number) = shape::constant(policy, expr).and_then(|constant| constant.as_float()) {
            return RangeFloat::Constant(number);
        }
        if let Some(register) = self.register(expr) {
            return RangeFloat::Register(register);
        }
        match &shape::resolve_alias(policy, expr).kind {
            ExprKind::Widen(inner) if is_plain_whole(inner) => {
                RangeFloat::Widen(self.range_number(inner, inputs))
            }
            ExprKind::Coalesce(quotient, otherwise) => {
                if let ExprKind::Arithmetic(ArithmeticOp::Divide, left, right) =
                    &shape::resolve_alias(policy, quotient).kind
                    && left.ty.is_unit()
                    && right.ty.is_unit()
                    && let Some(otherwise) = shape::constant(policy, otherwise).and_then(|c| c.as_float())
                {
                    let left = self.range_number(left, inputs);
                    return RangeFloat::Ratio(left, self.range_number(right, inputs), otherwise);
                }
                self.float_closure(expr, inputs)
            }
            ExprKind::Arithmetic(op, left, right) if is_plain_float(left) && is_plain_float(right) => {
                let make = match op {
                    ArithmeticOp::Add => RangeFloat::Add,
                    ArithmeticOp::Subtract => RangeFloat::Subtract,
                    ArithmeticOp::Multiply => RangeFloat::Multiply,
                    _ => return self.float_closure(expr, inputs),
                };
                let left = Box::new(self.range_float(left, inputs));
                make(left, Box::new(self.range_float(right, inputs)))
            }
            ExprKind::Call(function, args, _) => match (function.def().vector, args.as_slice()) {
                (Some(Vector::Share), [part, of]) if is_plain_whole(part) && is_plain_whole(of) => {
                    let part = self.range_number(part, inputs);
                    RangeFloat::Share(part, self.range_number(of, inputs))
                }
                _ => self.float_closure(expr, inputs),
            },
            _ => self.float_closure(expr, inputs),
        }
    }

    /// A condition that no column answers.
    fn bool_closure(&mut self, expr: &Expr, inputs: &mut ColumnInputs) -> RangeBool {
        match self.by_labels(expr, inputs, Self::bool) {
            Some(found) => RangeBool::ByLabels(found),
            None => RangeBool::Closure(self.bool(expr)),
        }
    }

    /// A whole number that no column answers.
    fn int_closure(&mut self, expr: &Expr, inputs: &mut ColumnInputs) -> RangeNumber {
        match self.by_labels(expr, inputs, Self::int) {
            Some(found) => RangeNumber::ByLabels(found),
            None => RangeNumber::Closure(self.int(expr)),
        }
    }

    /// A float that no column answers.
    fn float_closure(&mut self, expr: &Expr, inputs: &mut ColumnInputs) -> RangeFloat {
        match self.by_labels(expr, inputs, Self::float) {
            Some(found) => RangeFloat::ByLabels(found),
            None => RangeFloat::Closure(self.float(expr)),
        }
    }
}
