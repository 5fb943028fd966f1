//! [`Problems`]: what is wrong with an object, noted while the rest of it is read, and [`as_far_as_possible`], which
//! reads an object without the parts that have another form than ours.
//!
//! An object of a file is refused with its first problem. One that an API server gave is there whatever we think of it:
//! it is taken with what can be read.

use super::{ObjectError, decode};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// What is wrong with an object.
#[derive(Debug, Default)]
pub struct Problems {
    first: Option<ObjectError>,
    /// The first problem that hides what the object takes or has.
    hiding: Option<ObjectError>,
}

impl Problems {
    /// Notes a problem after which the object is still known as far as decisions need it.
    pub fn note(&mut self, problem: ObjectError) {
        self.first.get_or_insert(problem);
    }

    /// Notes a problem that hides what the object takes or has.
    pub fn note_hiding(&mut self, problem: ObjectError) {
        self.hiding.get_or_insert_with(|| problem.clone());
        self.note(problem);
    }

    /// The value; its absence after a problem.
    pub(crate) fn or_none<T>(&mut self, read: Result<Option<T>, ObjectError>) -> Option<T> {
        read.unwrap_or_else(|problem| {
            self.note(problem);
            None
        })
    }

    /// The first problem that hides something.
    pub(crate) fn hiding(&self) -> Option<&ObjectError> {
        self.hiding.as_ref()
    }

    /// The first problem.
    pub fn into_first(self) -> Option<ObjectError> {
        self.first
    }

    /// What was read, if there is no problem.
    pub fn refuse<T>(self, read: T) -> Result<T, ObjectError> {
        self.first.map_or(Ok(read), Err)
    }
}

/// The most parts that are taken out of one object.
const MOST: usize = 64;

/// Reads an object without the parts that cannot be read; the first of them is noted as hiding. Fails when nothing can
/// be read.
pub(crate) fn as_far_as_possible<T>(
    mut object: Value,
    problems: &mut Problems,
    read: impl Fn(&Value) -> Result<T, ObjectError>,
) -> Result<T, ObjectError> {
    for _ in 0..MOST {
        let problem = match read(&object) {
            Ok(found) => return Ok(found),
            Err(problem) => problem,
        };
        if !take_out(&mut object, &problem.path) {
            return Err(problem);
        }
        problems.note_hiding(problem);
    }
    read(&object)
}

/// The slim form of an object without the parts that have another form.
pub fn decode_as_far_as_possible<T: DeserializeOwned>(
    object: &Value,
    problems: &mut Problems,
) -> Result<T, ObjectError> {
    // Nearly every object is read at once, and then nothing is copied.
    decode(object).or_else(|_| as_far_as_possible(object.clone(), problems, |object| decode(object)))
}

/// Takes the part at a path out of a tree: what is there, or the nearest part around it. `false`: there is none.
fn take_out(tree: &mut Value, path: &str) -> bool {
    match tree {
        Value::Object(fields) => {
            // Keys may contain dots: the longest that fits is meant.
            let fits = fields.keys().filter(|key| after(path, key).is_some());
            let Some(key) = fits.max_by_key(|key| key.len()).cloned() else { return false };
            let rest = after(path, &key).unwrap_or_default();
            let inside = !rest.is_empty() && fields.get_mut(&key).is_some_and(|inner| take_out(inner, rest));
            inside || fields.shift_remove(&key).is_some()
        }
        Value::Array(items) => {
            let Some((number, rest)) = path.strip_prefix('[').and_then(|path| path.split_once(']')) else {
                return false;
            };
            let Ok(at) = number.parse::<usize>() else { return false };
            let rest = rest.strip_prefix('.').unwrap_or(rest);
            let Some(item) = items.get_mut(at) else { return false };
            if rest.is_empty() || !take_out(item, rest) {
                items.remove(at);
            }
            true
        }
        _ => false,
    }
}

/// What follows a key at the beginning of a path; `None` when the path begins otherwise.
fn after<'a>(path: &'a str, key: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(key)?;
    match rest.as_bytes().first() {
        None | Some(b'[') => Some(rest),
        Some(b'.') => rest.get(1..),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_part_at_a_path_is_taken_out() {
        let tree =
            json!({"spec": {"requests": {"nvidia.com/gpu": 1, "cpu": 2}, "list": [{"a": 1}, {"a": 2}]}});
        let without = |path: &str| {
            let mut tree = tree.clone();
            (take_out(&mut tree, path), tree)
        };
        assert_eq!(without("spec.requests.nvidia.com/gpu").1["spec"]["requests"], json!({"cpu": 2}));
        assert_eq!(without("spec.list[1].a").1["spec"]["list"], json!([{"a": 1}, {}]));
        // What is not there is part of something that is.
        assert_eq!(without("spec.list[1].b").1["spec"]["list"], json!([{"a": 1}]));
        assert_eq!(without("spec.requests.memory").1["spec"].get("requests"), None);
        assert_eq!((without("").0, without("status").0), (false, false));
    }
}
