//! What may help a pod whose claims find too few devices on a node.

use super::super::DynamicResources;
use super::asked::Asked;
use bayplan_devices::Refusal;
use bayplan_framework::{DevicesOf, Edit, Handle, is_of_lifecycle};
use bayplan_model::NodeInfo;
use bayplan_model::objects::devices::AllocationMode;

impl DynamicResources {
    /// Tolerations of device taints, fewer devices, and the end of pods that hold devices.
    pub(in super::super) fn edits_for(&self, h: &Handle, node: NodeInfo) -> Vec<Edit> {
        let mut edits = Vec::new();
        let Ok(state) = self.state(h) else { return edits };
        let Ok(search) = self.search(h, &state) else { return edits };
        search.requests_on(node, |all| {
            let any_short = all.iter().any(|asked| asked.is_short);
            for asked in all.iter().filter(|asked| asked.is_short || !any_short) {
                for edit in of(asked, h) {
                    if !edits.contains(&edit) {
                        edits.push(edit);
                    }
                }
            }
        });
        edits
    }
}

fn of(asked: &Asked, h: &Handle) -> Vec<Edit> {
    let mut edits = Vec::new();
    let holds = |refusal: &Refusal| {
        matches!(refusal, Refusal::Allocated(_) | Refusal::Capacity { .. } | Refusal::Counter { .. })
    };
    if asked.refused.iter().any(|of| holds(&of.refusal)) {
        edits.push(Edit::PodsEnd);
    }
    // The claim for extended resources has no spec that a person writes.
    let Some(claim) = asked.written_claim() else { return edits };
    let of = || DevicesOf {
        namespace: h.pod.namespace.clone(),
        claim: claim.clone(),
        request: asked.request.clone(),
    };
    for refused in &asked.refused {
        if let Refusal::Taint(taint) = &refused.refusal
            && !is_of_lifecycle(&taint.key)
        {
            edits.push(Edit::TolerateDevice { of: of(), taint: taint.clone() });
        }
    }
    if let AllocationMode::ExactCount(from) = asked.device.mode() {
        let fit = i64::try_from(asked.fitting.len()).unwrap_or(i64::MAX).min(from.saturating_sub(1));
        if fit > 0 {
            edits.push(Edit::DeviceCount { of: of(), from, to: fit });
        }
    }
    edits
}
