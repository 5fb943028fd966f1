//! [`ROWS`]: what environments of CEL have beside the one of Kubernetes, and what they decide otherwise.
//!
//! The environment of Kubernetes has no row; that of policies and that of selectors of devices are it and their rows.
//! The checker asks for a row, never which environment it is in. `docs/cel-conformance.md` prints the table, and counts
//! the recorded expressions of Kubernetes whose verdict each row changes.

/// Something in which an environment differs from that of Kubernetes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// `pod`, `node` and the declarations of a policy.
    Names,
    /// Functions of the policy language, and macros of it.
    Functions,
    /// `now()`
    Now,
    /// `lookup(…)`, `objects(…)` and `x.owner(…)`
    LookUps,
    /// `optional.ofValid(e)`
    OfValid,
    /// `cel.bind(x, e, b)`
    Bind,
    /// `a.includes(x)`
    Includes,
    /// Lists as the libraries of 1.37 have them.
    Lists,
    /// The size of a text has the row of the policy language.
    Sizes,
    /// Quantities are compared as amounts.
    Quantities,
    /// `quantity("a")` is refused when it is compiled.
    ConstantQuantities,
    /// Patterns have less room than in Go.
    Patterns,
    /// Optionals keep what they hold.
    Optionals,
    /// Where cel-go stops in the middle is an ordinary fault, or none.
    Faults,
    /// A variable whose value is a type is a variable.
    TypeVariables,
}

/// A row with the environments that have it.
#[derive(Debug)]
pub struct RowDef {
    /// Which row it is.
    pub row: Row,
    /// What it is about, in a word or two.
    pub name: &'static str,
    /// Whether policies have it.
    pub policies: bool,
    /// Whether selectors of devices have it.
    pub devices: bool,
    /// What it means, and why.
    pub doc: &'static str,
}

const fn of_policies(row: Row, name: &'static str, doc: &'static str) -> RowDef {
    RowDef { row, name, policies: true, devices: false, doc }
}

const fn of_devices(row: Row, name: &'static str, doc: &'static str) -> RowDef {
    RowDef { row, name, policies: false, devices: true, doc }
}

/// Every row.
pub static ROWS: &[RowDef] = &[
    of_policies(
        Row::Names,
        "names",
        "`pod`, `node`, `ns`, `nodes`, `pods`, `nominated`, and what the policy declares. Their amounts have units, \
         whose operators are those of the policy language: a type says so, in any environment.",
    ),
    of_policies(
        Row::Functions,
        "functions",
        "What the policy language has beside the functions and macros of Kubernetes, such as `percent` and `count`.",
    ),
    of_policies(Row::Now, "`now()`", "The time of the attempt. Validation in Kubernetes knows no time."),
    of_policies(
        Row::LookUps,
        "look-ups",
        "`lookup(…)`, `objects(…)` and `x.owner(…)` find objects of the cluster, of which Kubernetes' validation \
         knows none.",
    ),
    of_policies(
        Row::OfValid,
        "`optional.ofValid(e)`",
        "The value of `e`, or none where it is an error: a rule wants an answer, a request may fail.",
    ),
    of_devices(Row::Bind, "`cel.bind(x, e, b)`", "Selectors of devices have cel-go's bindings."),
    of_devices(
        Row::Includes,
        "`a.includes(x)`",
        "Whether an attribute is a value, or a list that has it. Only attributes of devices are either.",
    ),
    of_devices(
        Row::Lists,
        "lists of 1.37",
        "`a.includes(x)` takes lists of any length, and `lists.range(n)` is an error for an `n` below 0 or above \
         1,000,000. In 1.36 `a.includes(x)` takes up to 48 values.",
    ),
    of_policies(
        Row::Sizes,
        "`size` of a text",
        "At most 1,048,576: the row of the policy language, whose bound proves more sums.",
    ),
    of_policies(
        Row::Quantities,
        "`==` of quantities",
        "Quantities are equal where their amounts are. In Go a sum is of another type, and not equal to what was read.",
    ),
    of_policies(
        Row::ConstantQuantities,
        "constant quantities",
        "`quantity('a')` is refused when it is compiled: such a rule would never have a value.",
    ),
    RowDef {
        row: Row::Patterns,
        name: "patterns",
        policies: true,
        devices: true,
        doc: "What schedules keeps its patterns compiled, and has less room for each than Go.",
    },
    of_policies(
        Row::Optionals,
        "optionals",
        "An optional is given as it is. cel-go makes it anew in `?:`, macros and paths, where it loses what Go cannot \
         convert.",
    ),
    of_policies(
        Row::Faults,
        "where cel-go stops",
        "`||` and `onError` take in every error. cel-go stops where it counts what a call costs, or has no hash \
         of a value.",
    ),
    of_policies(
        Row::TypeVariables,
        "types as variables",
        "The variable of a macro is its value, also where that is a type. cel-go takes its name for the name of a \
         type.",
    ),
];

/// The rows of an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows(u32);

impl Rows {
    /// The environment of stored expressions of Kubernetes 1.36.
    pub(crate) const KUBERNETES: Rows = Rows(0);

    /// The environment of policies.
    pub fn of_policies() -> Self {
        Rows::of(|def| def.policies)
    }

    /// The environment of selectors of devices.
    pub(crate) fn of_devices() -> Self {
        Rows::of(|def| def.devices)
    }

    fn of(has: fn(&RowDef) -> bool) -> Self {
        ROWS.iter().filter(|def| has(def)).fold(Rows::KUBERNETES, |rows, def| Rows(rows.0 | bit(def.row)))
    }

    /// Whether it has a row.
    pub fn has(self, row: Row) -> bool {
        self.0 & bit(row) != 0
    }

    /// These rows without one of them.
    #[must_use]
    pub fn without(self, row: Row) -> Self {
        Rows(self.0 & !bit(row))
    }
}

fn bit(row: Row) -> u32 {
    1 << row as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_in_the_table_once_and_in_an_environment() {
        for (at, def) in ROWS.iter().enumerate() {
            assert_eq!(def.row as usize, at, "{}", def.name);
            assert!(def.policies || def.devices, "{}", def.name);
            assert_eq!(Rows::of_policies().has(def.row), def.policies, "{}", def.name);
            assert!(!Rows::of_policies().without(def.row).has(def.row), "{}", def.name);
        }
        assert!(ROWS.iter().all(|def| !Rows::KUBERNETES.has(def.row)));
    }
}
