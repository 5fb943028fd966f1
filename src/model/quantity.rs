//! [`Quantity`]: a Kubernetes resource quantity by Go's rules, in fixed point.

/// An amount as Kubernetes writes it (`500m`, `1Gi`, `2e3`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quantity;

/// Why a text is no quantity; the text is upstream's.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum QuantityError {
    /// Not of the form of a quantity.
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    Format,
    /// The suffix is unknown.
    #[error("unable to parse quantity's suffix")]
    Suffix,
}
