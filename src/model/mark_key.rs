//! [`MarkKeys`]: the secret keys which prove that this scheduler bound a pod to a node and has something to write for it.
//! Anybody who may write a pod may write annotations, so a mark counts only with its proof.

use super::pod::PodKey;
use super::symbol::Symbol;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fmt;
use std::sync::Arc;

/// A secret key. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct MarkKey(Arc<[u8]>);

impl MarkKey {
    /// The least number of bytes of a key.
    pub const SHORTEST: usize = 16;

    /// A key of these bytes; `None` if there are too few.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        (bytes.len() >= Self::SHORTEST).then(|| Self(bytes.into()))
    }

    /// The key of dry runs and simulations, which everybody knows.
    pub fn fixed() -> Self {
        Self(Arc::from(&b"the key of dry runs and of tests"[..]))
    }

    /// The proof that this plugin has something to write for this pod, which was bound to this node: HMAC-SHA256 in
    /// hexadecimal digits.
    pub fn proof(&self, pod: &PodKey, node: &Symbol, plugin: &str) -> String {
        let proof = self.mac(pod, node, plugin).map(|mac| mac.finalize().into_bytes());
        proof.into_iter().flatten().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Whether a value is the proof. Takes the same time for every wrong value.
    fn proves(&self, value: &str, pod: &PodKey, node: &Symbol, plugin: &str) -> bool {
        let digits = value.as_bytes().chunks(2);
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        let bytes: Option<Vec<u8>> = digits.map(byte).collect();
        match (bytes, self.mac(pod, node, plugin)) {
            (Some(bytes), Some(mac)) => mac.verify_slice(&bytes).is_ok(),
            _ => false,
        }
    }

    /// Each part comes with its length, so that no two triples are one text. HMAC takes keys of any length.
    fn mac(&self, pod: &PodKey, node: &Symbol, plugin: &str) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).ok()?;
        for part in ["after-bind", pod.0.as_str(), node.as_str(), plugin] {
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part.as_bytes());
        }
        Some(mac)
    }
}

impl fmt::Debug for MarkKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MarkKey")
    }
}

/// The keys that a scheduler proves marks with: its own, and the one that it shares with the instances before and after
/// it, once that is known.
#[derive(Clone, Debug)]
pub struct MarkKeys {
    own: MarkKey,
    shared: Option<MarkKey>,
}

impl MarkKeys {
    /// Only the process's own key is known.
    pub fn of_process(own: MarkKey) -> Self {
        Self { own, shared: None }
    }

    /// Marks are made with this key from now on; those that were made with the own one hold too.
    pub fn share(&mut self, key: MarkKey) {
        self.shared = Some(key);
    }

    /// The proof of a mark.
    pub fn proof(&self, pod: &PodKey, node: &Symbol, plugin: &str) -> String {
        self.shared.as_ref().unwrap_or(&self.own).proof(pod, node, plugin)
    }

    /// Whether a mark with this value is one of this scheduler, on a pod that it bound to this node.
    pub fn prove(&self, value: &str, pod: &PodKey, node: &Symbol, plugin: &str) -> bool {
        let mut all = self.shared.iter().chain([&self.own]);
        all.any(|key| key.proves(value, pod, node, plugin))
    }

    /// Whether a mark without a proof is forged. Without the shared key it may be one of an instance before this one.
    pub fn judge(&self) -> bool {
        self.shared.is_some()
    }
}

/// The keys of dry runs and simulations.
impl Default for MarkKeys {
    fn default() -> Self {
        Self { own: MarkKey::fixed(), shared: Some(MarkKey::fixed()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> PodKey {
        PodKey(name.into())
    }

    #[test]
    fn a_proof_is_of_one_pod_node_and_plugin_and_of_one_key() {
        let one = MarkKey::new(b"0123456789abcdef").unwrap();
        let proof = one.proof(&key("u-1"), &"n1".into(), "sticky");
        // Computed by a program of its own: HMAC-SHA256 over each part after its length as eight bytes, low first.
        assert_eq!(proof, "48b5da57de30a89b67a0f3f1c77101e42f6c5bd71c83633e356036ea903c694e");
        let keys = MarkKeys { own: one.clone(), shared: None };
        assert!(keys.prove(&proof, &key("u-1"), &"n1".into(), "sticky") && !keys.judge());
        for (pod, node, plugin) in [
            ("u-2", "n1", "sticky"),
            ("u-1", "n2", "sticky"),
            ("u-1", "n1", "other"),
            ("u-1n1", "", "sticky"),
        ] {
            assert!(!keys.prove(&proof, &key(pod), &node.into(), plugin), "{pod} {node} {plugin}");
        }
        for value in ["", "0", "é", &proof[..62], &format!("{proof}00"), &proof.replace(['a', 'c'], "b")] {
            assert!(!keys.prove(value, &key("u-1"), &"n1".into(), "sticky"), "{value}");
        }
        let mut shared = MarkKeys::of_process(one);
        shared.share(MarkKey::fixed());
        assert!(shared.prove(&proof, &key("u-1"), &"n1".into(), "sticky"), "made before the key was shared");
        assert_ne!(shared.proof(&key("u-1"), &"n1".into(), "sticky"), proof);
        assert!(shared.judge() && !MarkKeys::default().prove(&proof, &key("u-1"), &"n1".into(), "sticky"));
        assert!(MarkKey::new(b"short").is_none());
        assert_eq!(format!("{:?}", MarkKey::fixed()), "MarkKey");
    }
}
