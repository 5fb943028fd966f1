//! Which definitions a condition needs, by the words of their texts.

/// Which of some definitions (name and text) a text mentions, directly or through others. Every word counts, also
/// in strings and comments: the answer may have more definitions than the text needs, and never fewer.
pub fn mentioned(text: &str, definitions: &[(&str, &str)]) -> Vec<bool> {
    let mut found = vec![false; definitions.len()];
    let mut texts = vec![text];
    while let Some(text) = texts.pop() {
        for (taken, (name, definition)) in found.iter_mut().zip(definitions) {
            if !*taken && words(text).any(|word| word == *name) {
                *taken = true;
                texts.push(definition);
            }
        }
    }
    found
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_followed_through_each_other() {
        let definitions =
            [("a", "let a = b + 1"), ("b", "let b = 2"), ("c", "let c = a"), ("ab", "let ab = 1")];
        assert_eq!(mentioned("a > 1", &definitions), [true, true, false, false]);
        assert_eq!(mentioned("x.ab == 1", &definitions), [false, false, false, true]);
        assert_eq!(mentioned("1", &definitions), [false; 4]);
    }
}
