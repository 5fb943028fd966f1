//! Verdicts on the texts of policy objects, the problems they name, and the revision of a text.
//! `store` decides on them, `writer` writes them.

use aws_lc_rs::digest;
use std::collections::BTreeMap;

/// The name of an object: `namespace/name` of a ConfigMap, or a path.
pub(crate) type ObjectName = String;
/// The texts of an object by key.
pub type Texts = BTreeMap<String, String>;

/// A problem in a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The code, as in `BP0104`.
    pub code: String,
    /// The key of the text.
    pub key: String,
    /// Line in the text, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to do about it; may be empty.
    pub help: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.line > 0 {
            write!(f, "{}:{}:{}: ", self.key, self.line, self.column)?;
        }
        write!(f, "{}", self.message)?;
        if !self.code.is_empty() {
            write!(f, " [{}]", self.code)?;
        }
        if !self.help.is_empty() {
            write!(f, "; {}", self.help)?;
        }
        Ok(())
    }
}

/// The verdict on the present text of an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// It is in service.
    Serving,
    /// It does not compile; an earlier text is in service, or none is.
    Refused {
        /// What is wrong.
        problems: Vec<Problem>,
        /// The hash of the text that stays in service.
        instead: Option<String>,
        /// The policies whose pods wait, because no text of them that compiles is known.
        holds: Vec<String>,
    },
    /// It compiles, but another object has a policy of the same name or with `queue by` in service, what it
    /// reads may not be watched, or no profiles can be made with it.
    Waiting {
        /// The reason.
        why: String,
    },
    /// It compiles, and an entry of `bayplan-overrides` suspends a policy of it or pins an older
    /// text.
    Overridden {
        /// Which policy, and the words of the entry.
        why: String,
    },
}

impl Verdict {
    /// `Serving`, `Refused`, `Waiting` or `Overridden`.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Serving => "Serving",
            Self::Refused { .. } => "Refused",
            Self::Waiting { .. } => "Waiting",
            Self::Overridden { .. } => "Overridden",
        }
    }
}

/// The revision of texts: the first 128 bits of the SHA-256 of their keys and contents, each with
/// its length in front. Two texts with one revision cannot be constructed, so a revision proves
/// which text decided.
pub fn hash(texts: &Texts) -> String {
    let mut context = digest::Context::new(&digest::SHA256);
    for part in texts.iter().flat_map(|(key, text)| [key, text]) {
        context.update(&(part.len() as u64).to_le_bytes());
        context.update(part.as_bytes());
    }
    let whole = context.finish();
    whole.as_ref().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_is_the_sha_256_of_keys_and_texts() {
        let texts = |text: &str| Texts::from([("a.bay".to_owned(), text.to_owned())]);
        // `printf '\5\0\0\0\0\0\0\0a.bay\1\0\0\0\0\0\0\0x' | sha256sum | cut -c1-32`
        assert_eq!(hash(&texts("x")), "fe8dac882b39e2ea75ffa627b96690c7");
        let two: Texts = [("a".to_owned(), "x".to_owned()), ("b".to_owned(), "y".to_owned())].into();
        let one: Texts = [("a".to_owned(), "x\0b\0y".to_owned())].into();
        assert_ne!(hash(&two), hash(&one), "the parts of a text set are kept apart");
    }
}
