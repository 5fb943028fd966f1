//! "Did you mean": the nearest of the names that would have been right.
//!
//! Called wherever a name is unknown: parser, checker, configuration, command line.

/// The candidate that is nearest to a word, if one is near enough to be meant: at most a third of the
/// letters differ (one of three letters or fewer), where swapped neighbours are one difference and upper and
/// lower case none. Of equally near ones the first in the order of the alphabet.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters: Vec<char> = word.chars().flat_map(char::to_lowercase).collect();
    // a word this long is no slip of a name
    if letters.is_empty() || letters.len() > 100 {
        return None;
    }
    let far = (letters.len() / 3).max(1);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        if candidate == word {
            continue;
        }
        let other: Vec<char> = candidate.chars().flat_map(char::to_lowercase).collect();
        if other.len().abs_diff(letters.len()) > far {
            continue;
        }
        let distance = distance(&letters, &other);
        // a word of one or two letters is near to too much
        if distance > far || (distance > 0 && distance >= letters.len().min(other.len())) {
            continue;
        }
        if best.is_none_or(|(least, name)| (distance, candidate) < (least, name)) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, name)| name)
}

/// Insertions, deletions, replacements and swaps of neighbours that make one word of the other.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let replace = last[j] + usize::from(x != y);
            let mut least = replace.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(0)
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
