//! [`Readiness`]: whether this instance may place pods and write.

/// What drivers say of this instance.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Readiness {
    /// All kinds were listed once.
    pub(super) synced: bool,
    /// A watch is behind: what is known may be old.
    pub(super) stale: bool,
    pub(super) leading: bool,
}

impl Readiness {
    /// Whether it leads, and knows the cluster as it is.
    pub(super) fn is_ready(self) -> bool {
        self.leading && self.synced && !self.stale
    }
}
