//! Types that CEL infers: unification with the rules of cel-go (`checker/types.go`), by which overloads are
//! chosen and elements of literals joined.

use crate::types::{CelType, Ty, Type};
use std::sync::Arc;

/// What is known of the types that are inferred from their uses.
#[derive(Clone, Debug, Default)]
pub(in crate::check) struct Inference {
    /// By the number of the variable.
    bound: Vec<Option<Type>>,
    /// What the last pairs of types bound, each variable with what was known of it before.
    trail: Vec<(u32, Option<Type>)>,
}

/// The parts of a type.
fn parts(ty: &Type) -> [Option<&Type>; 2] {
    match ty {
        Type::List(of) | Type::Set(of) | Type::CelOptional(of) | Type::TypeOf(of) => [Some(of), None],
        Type::Map(key, value) => [Some(key), Some(value)],
        _ => [None, None],
    }
}

/// Whether two types differ in their parts at most.
fn same_kind(left: &Type, right: &Type) -> bool {
    match (left, right) {
        (Type::List(_), Type::List(_))
        | (Type::Set(_), Type::Set(_))
        | (Type::CelOptional(_), Type::CelOptional(_))
        | (Type::Map(..), Type::Map(..))
        | (Type::TypeOf(_) | Type::TypeName, Type::TypeOf(_) | Type::TypeName) => true,
        _ => left == right,
    }
}

fn is_dyn(ty: &Type) -> bool {
    matches!(ty, Type::Dyn | Type::Any | Type::Unknown)
}

/// Whether cel-go takes `null` for a value of this type.
fn takes_null(ty: &Type) -> bool {
    matches!(
        ty,
        Type::Null
            | Type::Quantity
            | Type::CelOptional(_)
            | Type::Cel(
                CelType::Duration
                    | CelType::Timestamp
                    | CelType::Ip
                    | CelType::Cidr
                    | CelType::Url
                    | CelType::Semver
                    | CelType::Format
            )
    )
}

/// The more general one of two types that are known to unify.
pub(super) fn most_general(left: &Type, right: &Type) -> Type {
    if is_less_specific(left, right) { left.clone() } else { right.clone() }
}

fn is_less_specific(left: &Type, right: &Type) -> bool {
    if is_dyn(left) || matches!(left, Type::Variable(_)) {
        return true;
    }
    if is_dyn(right) || matches!(right, Type::Variable(_)) || !same_kind(left, right) {
        return false;
    }
    if matches!(left, Type::TypeOf(_) | Type::TypeName) {
        return true;
    }
    let pairs = parts(left).into_iter().zip(parts(right));
    pairs.into_iter().all(|pair| match pair {
        (Some(left), Some(right)) => is_less_specific(left, right),
        _ => true,
    })
}

impl Inference {
    /// A type of which nothing is known yet.
    pub(super) fn fresh(&mut self) -> Type {
        self.bound.push(None);
        Type::Variable(self.bound.len() as u32 - 1)
    }

    fn get(&self, variable: u32) -> Option<&Type> {
        self.bound.get(variable as usize).and_then(Option::as_ref)
    }

    /// The type with all that is known of it.
    pub(super) fn resolve(&self, ty: &Type) -> Type {
        let part = |of: &Arc<Type>| Arc::new(self.resolve(of));
        match ty {
            Type::Variable(id) => self.get(*id).map_or_else(|| ty.clone(), |known| self.resolve(known)),
            Type::List(of) => Type::List(part(of)),
            Type::Set(of) => Type::Set(part(of)),
            Type::CelOptional(of) => Type::CelOptional(part(of)),
            Type::TypeOf(of) => Type::TypeOf(part(of)),
            Type::Map(key, value) => Type::Map(part(key), part(value)),
            other => other.clone(),
        }
    }

    /// Whether a value of one type may be used where the other is wanted; binds variables if so.
    pub(super) fn assign(&mut self, left: &Type, right: &Type) -> bool {
        self.assign_all(&[(left, right)])
    }

    /// Whether the first type of each pair fits the second one; binds variables for all pairs or for none.
    pub(super) fn assign_all(&mut self, pairs: &[(&Type, &Type)]) -> bool {
        self.trail.clear();
        let fits = pairs.iter().all(|(left, right)| self.unify(left, right));
        if !fits {
            while let Some((variable, before)) = self.trail.pop() {
                self.bound[variable as usize] = before;
            }
        }
        fits
    }

    fn bind(&mut self, variable: u32, ty: Type) {
        let before = self.bound[variable as usize].replace(ty);
        self.trail.push((variable, before));
    }

    fn unify(&mut self, left: &Type, right: &Type) -> bool {
        if let Type::Variable(id) = right {
            let (fits, known) = self.substitute(left, *id);
            if fits || known {
                return fits;
            }
        }
        if let Type::Variable(id) = left {
            return self.substitute(right, *id).0;
        }
        if is_dyn(left) || is_dyn(right) {
            return true;
        }
        if *left == Type::Null || *right == Type::Null {
            return takes_null(if *left == Type::Null { right } else { left });
        }
        if !same_kind(left, right) {
            return false;
        }
        if matches!(left, Type::TypeOf(_) | Type::TypeName) {
            return true;
        }
        parts(left).into_iter().zip(parts(right)).all(|pair| match pair {
            (Some(left), Some(right)) => self.unify(left, right),
            _ => true,
        })
    }

    /// Whether a variable may stand for a type, and whether something was known of it.
    fn substitute(&mut self, ty: &Type, variable: u32) -> (bool, bool) {
        if *ty == Type::Variable(variable) {
            return (true, true);
        }
        let Some(known) = self.get(variable).cloned() else {
            let fits = !self.mentions(variable, ty);
            if fits {
                self.bind(variable, ty.clone());
            }
            return (fits, false);
        };
        if *ty == known {
            return (true, true);
        }
        if !self.unify(ty, &known) {
            return (false, true);
        }
        let general = most_general(ty, &known);
        if !self.mentions(variable, &general) {
            self.bind(variable, general);
        }
        (true, true)
    }

    /// Whether a variable occurs in a type.
    fn mentions(&self, variable: u32, within: &Type) -> bool {
        match within {
            Type::Variable(id) if *id == variable => true,
            Type::Variable(id) => self.get(*id).is_some_and(|known| self.mentions(variable, known)),
            other => parts(other).into_iter().flatten().any(|part| self.mentions(variable, part)),
        }
    }

    /// A type of a row, with a fresh variable for each letter that has none yet.
    pub(super) fn instantiate(&mut self, ty: &Ty, letters: &mut Vec<(char, Type)>) -> Type {
        match ty {
            Ty::Var(letter) | Ty::Number(letter) | Ty::Ordered(letter) => {
                if let Some((_, known)) = letters.iter().find(|(known, _)| known == letter) {
                    return known.clone();
                }
                let fresh = self.fresh();
                letters.push((*letter, fresh.clone()));
                fresh
            }
            Ty::List(of) => self.instantiate(of, letters).list(),
            Ty::Map(key, value) => {
                let key = self.instantiate(key, letters);
                Type::Map(Arc::new(key), Arc::new(self.instantiate(value, letters)))
            }
            Ty::CelOptional(of) => Type::CelOptional(Arc::new(self.instantiate(of, letters))),
            Ty::Optional(of) => self.instantiate(of, letters),
            other => super::super::expr::plain_type(other),
        }
    }

    /// The type of the first of the overloads that fit, or `dyn` where several of different results do; with it
    /// which ones fit.
    pub(super) fn overload<'o>(
        &mut self,
        overloads: impl Iterator<Item = (&'o [Ty], bool, &'o Ty)>,
        given: &[Type],
    ) -> Option<(Vec<usize>, Type)> {
        let (mut fitting, mut result): (Vec<usize>, Option<Type>) = (Vec::new(), None);
        for (at, (params, repeats, gives)) in overloads.enumerate() {
            if params.len() != given.len() && !(repeats && given.len() >= params.len()) {
                continue;
            }
            let mut letters = Vec::new();
            let wanted: Vec<Type> = (0..given.len())
                .filter_map(|at| params.get(at).or(params.last()))
                .map(|ty| self.instantiate(ty, &mut letters))
                .collect();
            let pairs: Vec<(&Type, &Type)> = given.iter().zip(&wanted).collect();
            if !self.assign_all(&pairs) {
                continue;
            }
            fitting.push(at);
            let gives = self.instantiate(gives, &mut letters);
            let gives = self.resolve(&gives);
            result = Some(match result {
                None => gives,
                Some(known) if is_dyn(&known) || known == gives => known,
                Some(_) => Type::Dyn,
            });
        }
        result.map(|result| (fitting, result))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text of a mebibyte has 100,000 variables: what a call costs does not grow with them.
    #[test]
    fn what_does_not_fit_binds_nothing_and_only_what_was_bound_is_noted() {
        let mut inference = Inference::default();
        let variables: Vec<Type> = (0..1_000).map(|_| inference.fresh()).collect();
        for variable in &variables {
            assert!(inference.assign(variable, &Type::Int));
            assert_eq!(inference.trail.len(), 1);
        }
        let (one, other) = (inference.fresh(), inference.fresh());
        let pairs = [(&one, &Type::String), (&other, &one), (&variables[7], &Type::Bool)];
        assert!(!inference.assign_all(&pairs));
        assert_eq!(inference.resolve(&one), one);
        assert_eq!(inference.resolve(&other), other);
        assert_eq!(inference.resolve(&variables[7]), Type::Int);
        assert!(inference.assign_all(&pairs[..2]));
        assert_eq!(inference.resolve(&other), Type::String);
    }
}
