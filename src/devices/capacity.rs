//! How much of a device's capacities a request takes, and whether that much is left.
//!
//! Source: `structured/internal/incubating/consumable_capacity.go`.

use bayplan_model::objects::devices::{Capacity, CapacityPolicy, CapacityRange};
use bayplan_model::{Quantity, Symbol};
use std::collections::BTreeMap;

/// Amounts by the name of the capacity.
pub(crate) type Amounts = BTreeMap<Symbol, Quantity>;

/// How amounts are computed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arithmetic {
    /// What cannot be computed is an error, and steps keep their format. Otherwise 64 bits wrap, as upstream's did.
    pub(crate) checked: bool,
    /// Ranges may have thousandths.
    pub(crate) fractions: bool,
}

/// Why a device has too little.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum CapacityProblem {
    /// The device has no capacity of this name.
    Unknown(Symbol),
    /// The amount is none that the device gives out.
    Policy(Symbol, Quantity),
    /// Name of the capacity, what all shares would take together, and what the device has.
    Short(Symbol, Quantity, Quantity),
}

/// Whether a device has enough.
pub(crate) type Fit = Result<(), CapacityProblem>;

/// The whole number above or at an amount that is exact in thousandths.
fn milli(amount: &Quantity) -> Option<i64> {
    amount.checked_milli_value().filter(|milli| Quantity::from_milli(*milli) == *amount)
}

/// The policy's range in thousandths: `min`, `step`.
fn milli_range(range: &CapacityRange) -> Option<(i64, i64)> {
    if let Some(max) = &range.max {
        milli(max)?;
    }
    let (min, step) = (milli(range.min.as_ref()?)?, milli(range.step.as_ref()?)?);
    (step >= 1).then_some((min, step))
}

const CANNOT: &str = "capacity request cannot be represented in the device's range arithmetic";

impl Arithmetic {
    /// What a request for `amount` takes of a capacity; without an amount the default, or everything.
    fn taken(self, amount: Option<&Quantity>, of: &Capacity) -> Result<Quantity, String> {
        let Some(amount) = amount else {
            let default = of.request_policy.as_ref().and_then(|policy| policy.default);
            return Ok(default.unwrap_or(of.value));
        };
        match of.request_policy.as_deref() {
            Some(CapacityPolicy {
                valid_range: Some(range @ CapacityRange { min: Some(min), .. }), ..
            }) => {
                if amount < min {
                    return Ok(*min);
                }
                range.step.as_ref().map_or(Ok(*amount), |step| self.step_up(amount, min, step, range))
            }
            Some(CapacityPolicy { valid_values, .. }) => {
                Ok(*valid_values.iter().find(|value| amount <= *value).unwrap_or(amount))
            }
            None => Ok(*amount),
        }
    }

    /// The first step from `min` on that is not below `amount`.
    fn step_up(
        self,
        amount: &Quantity,
        min: &Quantity,
        step: &Quantity,
        range: &CapacityRange,
    ) -> Result<Quantity, String> {
        let steps = |amount: i64, min: i64, step: i64| {
            let above = amount.wrapping_sub(min);
            let whole = above.checked_div(step).unwrap_or(0);
            whole.wrapping_add(i64::from(above.checked_rem(step).unwrap_or(0) != 0))
        };
        if self.fractions
            && let Some((min, step_milli)) = milli_range(range)
        {
            let Some(amount_milli) = milli(amount) else {
                return Err(format!("{CANNOT}: request {amount} is not a representable milli value"));
            };
            let steps = steps(amount_milli, min, step_milli);
            let Some(taken) = steps.checked_mul(step_milli).and_then(|above| min.checked_add(above)) else {
                let passes = "up to the next step passes the milli-value range";
                return Err(format!("{CANNOT}: rounding request {amount} {passes}"));
            };
            let taken = if taken % 1000 == 0 {
                Quantity::from_value(taken / 1000)
            } else {
                Quantity::from_milli(taken)
            };
            return Ok(taken.with_format(step.format()));
        }
        if self.checked && *amount > Quantity::from_value(i64::MAX) {
            return Err(format!("{CANNOT}: request {amount} exceeds MaxInt64"));
        }
        let (min, step_value) = (min.low_value(), step.low_value());
        if step_value == 0 {
            // Upstream stops here. No amount is on such a step.
            return Ok(*amount);
        }
        let steps = steps(amount.low_value(), min, step_value);
        let fits = steps.checked_mul(step_value).and_then(|above| min.checked_add(above)).is_some();
        if self.checked && min >= 0 && !fits {
            return Err(format!("{CANNOT}: rounding request {amount} up to the next step passes MaxInt64"));
        }
        let taken = min.wrapping_add(steps.wrapping_mul(step_value));
        if self.checked {
            return Ok(Quantity::from_value(taken).with_format(step.format()));
        }
        Ok(Quantity::from_bytes(taken))
    }

    /// Whether the policy gives out this much.
    fn gives_out(self, amount: &Quantity, policy: &CapacityPolicy) -> bool {
        if policy.default.as_ref() == Some(amount) {
            return true;
        }
        let Some(range) = &policy.valid_range else {
            return policy.valid_values.is_empty() || policy.valid_values.contains(amount);
        };
        if range.max.as_ref().is_some_and(|max| amount > max) {
            return false;
        }
        let Some(step) = &range.step else { return true };
        let Some(min) = &range.min else { return false };
        let is_step = |amount: i64, min: i64, step: i64| {
            amount.wrapping_sub(min).checked_rem(step).is_some_and(|rest| rest == 0)
        };
        if self.fractions
            && let Some((min, step)) = milli_range(range)
        {
            return milli(amount).is_some_and(|amount| is_step(amount, min, step));
        }
        is_step(amount.low_value(), min.low_value(), step.low_value())
    }

    /// What a request takes of every capacity of a device.
    pub(crate) fn all_taken(
        self,
        amounts: Option<&Amounts>,
        of: &BTreeMap<Symbol, Capacity>,
    ) -> Result<Amounts, String> {
        let taken = of.iter().map(|(name, capacity)| {
            let amount = amounts.and_then(|amounts| amounts.get(name));
            let taken = self.taken(amount, capacity).map_err(|error| of_capacity(name, &error))?;
            Ok((name.clone(), taken))
        });
        taken.collect()
    }

    /// Whether a device has enough left beside what is `committed` and what shares of this search take (`picked`). `Err`:
    /// the amounts cannot be computed.
    pub(crate) fn fit(
        self,
        amounts: Option<&Amounts>,
        of: &BTreeMap<Symbol, Capacity>,
        committed: Option<&Amounts>,
        picked: Option<&Amounts>,
    ) -> Result<Fit, String> {
        let mut requested = amounts.into_iter().flat_map(BTreeMap::keys);
        if let Some(unknown) = requested.find(|name| !of.contains_key(*name)) {
            return Ok(Err(CapacityProblem::Unknown(unknown.clone())));
        }
        let taken = |name: &Symbol, capacity: &Capacity| {
            self.taken(amounts.and_then(|amounts| amounts.get(name)), capacity)
        };
        if self.checked {
            for (name, capacity) in of {
                let taken = taken(name, capacity).map_err(|error| of_capacity(name, &error))?;
                if taken.sign() < 0 {
                    return Err(of_capacity(name, "capacity value is negative"));
                }
            }
        }
        for (name, capacity) in of {
            let taken = taken(name, capacity).map_err(|error| of_capacity(name, &error))?;
            if capacity.request_policy.as_ref().is_some_and(|policy| !self.gives_out(&taken, policy)) {
                return Ok(Err(CapacityProblem::Policy(name.clone(), taken)));
            }
            let others = [committed, picked].into_iter().flatten().filter_map(|amounts| amounts.get(name));
            let all = others.fold(taken, |sum, amount| sum + *amount);
            if all > capacity.value {
                return Ok(Err(CapacityProblem::Short(name.clone(), all, capacity.value)));
            }
        }
        Ok(Ok(()))
    }
}

fn of_capacity(name: &Symbol, error: &str) -> String {
    format!("capacity {:?}: {error}", name.as_str())
}
