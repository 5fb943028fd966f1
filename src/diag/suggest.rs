//! "Did you mean": the known name that is nearest to an unknown one.
//!
//! Called by the parser, the checker, the reader of configurations and the command line.

/// The candidate that is nearest to a word, if it is near enough.
///
/// At most a third of the letters may differ (one, in a word of three letters or fewer). Two swapped
/// neighbours count as one difference, upper and lower case as none. Among equally near candidates the
/// first in the order of the alphabet wins.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    let length = lower.chars().count();
    // Skip very long names: the cost of the comparison grows with the square of the length.
    if length == 0 || length > 100 {
        return None;
    }
    let far = (length / 3).max(1);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        if candidate == word {
            continue;
        }
        let other = candidate.to_lowercase();
        let other_length = other.chars().count();
        if other_length.abs_diff(length) > far {
            continue;
        }
        let distance = strsim::osa_distance(&lower, &other);
        // A word of one or two letters is near to too many others.
        if distance > far || (distance > 0 && distance >= length.min(other_length)) {
            continue;
        }
        if best.is_none_or(|(least, name)| (distance, candidate) < (least, name)) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, name)| name)
}

/// The candidates that are as near as the nearest one may be, the nearest first, at most `most`.
pub fn near<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>, most: usize) -> Vec<&'a str> {
    let lower = word.to_lowercase();
    let far = (lower.chars().count() / 3).max(1);
    let mut found: Vec<(usize, &str)> = candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= 100 && word.len() <= 100)
        .map(|candidate| (strsim::osa_distance(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= far)
        .collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().take(most).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let words = ["filter", "score", "require", "reject", "let"];
        assert_eq!(nearest("fliter", words), Some("filter"));
        assert_eq!(nearest("Score", words), Some("score"));
        assert_eq!(nearest("requre", words), Some("require"));
        assert_eq!(nearest("lte", words), Some("let"));
        assert_eq!(nearest("banana", words), None);
        assert_eq!(nearest("x", ["y"]), None);
        assert_eq!(nearest("", words), None);
    }

    #[test]
    fn of_equally_near_names_the_order_given_does_not_matter() {
        assert_eq!(nearest("zane", ["zone", "zine"]), nearest("zane", ["zine", "zone"]));
    }
}
