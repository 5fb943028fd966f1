//! [`Amount`]: what pods add to a ledger, and sums of it. Sums have 128 bits, so that they come apart again.

use crate::types::Type;
use crate::types::convert;
use crate::types::value::{Constant, Ordered, Value, named_resources};
use bayplan_model::{Resource, Symbol};
use std::collections::BTreeMap;

/// What one or more pods add to a ledger.
#[derive(Clone, Debug, PartialEq)]
pub enum Amount {
    /// Whole numbers, in base units.
    Whole(i128),
    /// Amounts by resource name, each with how often it was named.
    Resources(BTreeMap<Symbol, (i128, u32)>),
    /// Elements of a set, each with how often it was added.
    Set(BTreeMap<Ordered<'static>, u32>),
}

impl Amount {
    /// Nothing, for a ledger of a type.
    pub fn nothing(ty: &Type) -> Self {
        match ty {
            Type::Resources => Amount::Resources(BTreeMap::new()),
            Type::Set(_) => Amount::Set(BTreeMap::new()),
            _ => Amount::Whole(0),
        }
    }

    /// Adds the value of an `add`. An absent value adds nothing.
    pub(crate) fn add_value(&mut self, value: &Value<'_>) {
        match (self, value) {
            (_, Value::Absent) => {}
            (Amount::Whole(sum), value) => *sum += value.as_int().map_or(0, i128::from),
            (Amount::Resources(sum), Value::Resources(resources)) => {
                for (name, amount) in named_resources(resources) {
                    let (known, times) = sum.entry(name).or_default();
                    *known += i128::from(amount);
                    *times += 1;
                }
            }
            (Amount::Set(sum), value) => match value.elements() {
                Some(elements) => elements.iter().for_each(|element| add_element(sum, element)),
                None => add_element(sum, value),
            },
            (Amount::Resources(_), _) => {}
        }
    }

    /// Adds what other pods add.
    pub fn add(&mut self, more: &Amount) {
        match (self, more) {
            (Amount::Whole(sum), Amount::Whole(more)) => *sum += more,
            (Amount::Resources(sum), Amount::Resources(more)) => {
                for (name, (amount, times)) in more {
                    let known = sum.entry(name.clone()).or_default();
                    *known = (known.0 + amount, known.1 + times);
                }
            }
            (Amount::Set(sum), Amount::Set(more)) => {
                for (element, times) in more {
                    *sum.entry(element.clone()).or_default() += times;
                }
            }
            _ => {}
        }
    }

    /// Takes away what was added before.
    pub fn subtract(&mut self, less: &Amount) {
        match (self, less) {
            (Amount::Whole(sum), Amount::Whole(less)) => *sum -= less,
            (Amount::Resources(sum), Amount::Resources(less)) => {
                for (name, (amount, times)) in less {
                    let Some(known) = sum.get_mut(name) else { continue };
                    *known = (known.0 - amount, known.1.saturating_sub(*times));
                    if known.1 == 0 {
                        sum.remove(name);
                    }
                }
            }
            (Amount::Set(sum), Amount::Set(less)) => {
                for (element, times) in less {
                    let Some(known) = sum.get_mut(element) else { continue };
                    *known = known.saturating_sub(*times);
                    if *known == 0 {
                        sum.remove(element);
                    }
                }
            }
            _ => {}
        }
    }

    /// Whether it adds nothing that a rule sees.
    pub(crate) fn is_nothing(&self) -> bool {
        match self {
            Amount::Whole(sum) => *sum == 0,
            Amount::Resources(sum) => sum.is_empty(),
            Amount::Set(sum) => sum.is_empty(),
        }
    }

    /// As a value: numbers stop at the ends of 64 bits, the elements of a set are in their order.
    pub fn value(&self) -> Constant {
        match self {
            Amount::Whole(sum) => Value::Int(clamped(*sum)),
            Amount::Resources(sum) => {
                let mut resources = Resource::default();
                for (name, (amount, _)) in sum {
                    let amount = clamped(*amount);
                    match name.as_str() {
                        "cpu" => resources.milli_cpu = amount,
                        "memory" => resources.memory = amount,
                        "ephemeral-storage" => resources.ephemeral_storage = amount,
                        "pods" => resources.pods = amount,
                        _ => resources.scalars.push((name.clone(), amount)),
                    }
                }
                Value::resources(resources)
            }
            Amount::Set(sum) => Value::List(sum.keys().map(|element| element.0.clone()).collect()),
        }
    }
}

fn add_element(sum: &mut BTreeMap<Ordered<'static>, u32>, element: &Value<'_>) {
    if !element.is_absent() {
        *sum.entry(Ordered(convert::keep(element))).or_default() += 1;
    }
}

fn clamped(sum: i128) -> i64 {
    sum.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}
