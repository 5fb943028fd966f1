//! Rules that taint devices.

use crate::objects::DeviceTaintRule;
use crate::objects::devices::{DeviceId, DeviceTaint, PoolId};
use crate::symbol::Symbol;
use std::collections::BTreeMap;
use std::sync::Arc;

type ByName = BTreeMap<Symbol, Arc<DeviceTaintRule>>;

/// All rules: by the pool that they select, the others under `None`.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct TaintRules(Arc<BTreeMap<Option<PoolId>, ByName>>);

/// The only pool whose devices the rule can taint; `None`: it selects by less.
fn pool_of(rule: &DeviceTaintRule) -> Option<PoolId> {
    let selector = rule.selector.as_ref()?;
    Some(PoolId { driver: selector.driver.clone()?, name: selector.pool.clone()? })
}

impl TaintRules {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn taints_of<'r>(
        &'r self,
        device: &DeviceId,
        all: bool,
    ) -> impl Iterator<Item = &'r DeviceTaint> {
        let groups = match self.0.is_empty() {
            true => [None, None],
            false => [self.0.get(&None), self.0.get(&Some(device.pool.clone()))],
        };
        let rules = groups.into_iter().flatten().flat_map(BTreeMap::values);
        rules.filter(move |rule| rule.taints(device, all)).map(|rule| &rule.taint)
    }

    pub(super) fn change(&mut self, before: Option<&DeviceTaintRule>, after: Option<Arc<DeviceTaintRule>>) {
        let rules = Arc::make_mut(&mut self.0);
        if let Some(before) = before {
            let pool = pool_of(before);
            if let Some(known) = rules.get_mut(&pool) {
                known.remove(&before.metadata.name);
                if known.is_empty() {
                    rules.remove(&pool);
                }
            }
        }
        if let Some(after) = after {
            rules.entry(pool_of(&after)).or_default().insert(after.metadata.name.clone(), after);
        }
    }
}
