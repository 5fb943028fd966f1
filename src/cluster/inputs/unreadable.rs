//! [`Unreadable`]: the objects of one watch that cannot be read whole. Each is logged once; a metric has their number.
//! What is read of them is taken all the same.

use super::objects::Slim;
use bayplan_model::{Object, ObjectKey, Symbol};
use rustc_hash::FxHashSet;

/// Reads the objects of one watch.
#[derive(Debug)]
pub(crate) struct Unreadable {
    resource: String,
    /// The objects that cannot be read now: namespaces and names.
    now: FxHashSet<(Symbol, Symbol)>,
}

impl Unreadable {
    /// All objects so far can be read.
    pub(crate) fn of(resource: &str) -> Self {
        Self { resource: resource.to_owned(), now: FxHashSet::default() }
    }

    /// How many objects cannot be read whole.
    pub(crate) fn count(&self) -> usize {
        self.now.len()
    }

    /// A list replaces all objects: forgets those that are not in it.
    pub(crate) fn listed<T: Slim>(&mut self, objects: &[T]) {
        if self.now.is_empty() {
            return;
        }
        let there: FxHashSet<_> = objects.iter().map(|object| place(&object.key())).collect();
        self.now.retain(|known| there.contains(known));
    }

    /// The object as far as it can be read; `None` when nothing of it can.
    pub(crate) fn read<T: Slim>(&mut self, object: &T) -> Option<Object> {
        let (read, problem, what) = match object.parse() {
            Ok(seen) => (Some(seen.object), seen.problem, "this object counts with what can be read of it"),
            Err(problem) => (None, Some(problem), "left out an object that cannot be read at all"),
        };
        match problem {
            None if self.now.is_empty() => {}
            None => drop(self.now.remove(&place(&object.key()))),
            Some(problem) => {
                let (namespace, name) = place(&object.key());
                let shown = format!("{namespace}/{name}");
                if self.now.insert((namespace, name)) {
                    tracing::error!(resource = self.resource, object = %shown, error = %problem, "{what}");
                }
            }
        }
        read
    }

    /// An object is gone.
    pub(crate) fn deleted(&mut self, key: &ObjectKey) {
        if !self.now.is_empty() {
            self.now.remove(&place(key));
        }
    }
}

fn place(key: &ObjectKey) -> (Symbol, Symbol) {
    (key.namespace.clone(), key.name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bayplan_model::objects::pod::Pod;

    fn pod(name: &str, cpu: &str) -> Pod {
        let text = format!(
            r#"{{"metadata":{{"name":"{name}","uid":"{name}"}},"spec":{{"nodeName":"n1",
            "containers":[{{"name":"c","resources":{{"requests":{{"cpu":"{cpu}"}}}}}}]}}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn objects_count_while_they_cannot_be_read() {
        let mut unreadable = Unreadable::of("pods");
        let Some(Object::Pod(read)) = unreadable.read(&pod("a", "much")) else { panic!("it is there") };
        assert_eq!((read.requests.milli_cpu, unreadable.count()), (i64::MAX, 1));
        assert!(unreadable.read(&pod("b", "1e30")).is_some());
        assert_eq!(unreadable.count(), 1, "beyond the range is readable");
        assert!(unreadable.read(&pod("a", "2")).is_some());
        assert_eq!(unreadable.count(), 0, "an update that can be read ends it");
        for name in ["a", "b"] {
            unreadable.read(&pod(name, "much"));
        }
        unreadable.listed(&[pod("b", "much")]);
        assert_eq!(unreadable.count(), 1, "a list without it ends it");
        unreadable.deleted(&pod("b", "much").key());
        assert_eq!(unreadable.count(), 0);
    }
}
