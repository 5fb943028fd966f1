//! "Did you mean": the known name that is nearest to an unknown one.
//!
//! Called by the parser, the checker, the reader of configurations and the command line. Who suggests for many words of one
//! text shares an [`Effort`] among them.

use std::cell::Cell;

/// What suggestions for one text may take: letters that are compared, and names that are compared. Beyond it there are no
/// more suggestions, so that a text full of mistakes is answered at once.
#[derive(Debug)]
pub struct Effort(Cell<u64>);

/// Letters that the suggestions for one text may compare: more than a tenth of a second takes.
const MOST_LETTERS: u64 = 20_000_000;

/// Longer words get no suggestion: a name of Kubernetes has at most 63 letters, a path of names hardly more than this.
const LONGEST: usize = 100;

impl Default for Effort {
    fn default() -> Self {
        Self(Cell::new(MOST_LETTERS))
    }
}

impl Effort {
    /// Takes something from it; `false` when nothing is left.
    pub fn spend(&self, number: usize) -> bool {
        self.0.set(self.0.get().saturating_sub(number as u64));
        self.0.get() > 0
    }

    /// What was taken, of [`Effort::MOST`].
    pub fn spent(&self) -> u64 {
        Self::MOST - self.0.get()
    }

    /// What there is.
    pub const MOST: u64 = MOST_LETTERS;

    /// As [`nearest`], while something is left.
    pub fn nearest<'a>(&self, word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
        let mut best: Option<(usize, &str)> = None;
        self.each_near(word, candidates, &mut |distance, other_length, length, candidate| {
            // A word of one or two letters is near to too many others.
            let stranger = distance > 0 && distance >= length.min(other_length);
            if !stranger && best.is_none_or(|least| (distance, candidate) < least) {
                best = Some((distance, candidate));
            }
        });
        best.map(|(_, name)| name)
    }

    /// As [`near`], while something is left.
    pub fn near<'a>(
        &self,
        word: &str,
        candidates: impl IntoIterator<Item = &'a str>,
        most: usize,
    ) -> Vec<&'a str> {
        let mut found: Vec<(usize, &str)> = Vec::new();
        self.each_near(word, candidates, &mut |distance, _, _, candidate| found.push((distance, candidate)));
        found.sort_unstable();
        found.dedup();
        found.into_iter().take(most).map(|(_, name)| name).collect()
    }

    /// Calls `f` for each candidate that is near enough, with its distance, its length and that of the word.
    fn each_near<'a>(
        &self,
        word: &str,
        candidates: impl IntoIterator<Item = &'a str>,
        f: &mut dyn FnMut(usize, usize, usize, &'a str),
    ) {
        let lower: Vec<char> = word.to_lowercase().chars().collect();
        if lower.is_empty() || lower.len() > LONGEST {
            return;
        }
        let far = (lower.len() / 3).max(1);
        let mut rows = Rows::default();
        for candidate in candidates {
            if !self.spend(1) {
                return;
            }
            // Letters have up to four bytes, and lower case may have more letters.
            if candidate == word || candidate.len() + 3 * far < lower.len() || candidate.len() > 4 * LONGEST {
                continue;
            }
            let other: Vec<char> = candidate.to_lowercase().chars().collect();
            if !self.spend(other.len()) {
                return;
            }
            if other.len().abs_diff(lower.len()) > far || other.len() > 2 * LONGEST {
                continue;
            }
            let distance = rows.distance(&lower, &other, far, self);
            if let Some(distance) = distance {
                f(distance, other.len(), lower.len(), candidate);
            }
        }
    }
}

/// The rows of the table of distances, used again for each word.
#[derive(Default)]
struct Rows {
    before: Vec<usize>,
    last: Vec<usize>,
    this: Vec<usize>,
}

impl Rows {
    /// How many letters to insert, remove, replace or swap with their neighbour make one word the other (no letter twice);
    /// `None` when more than `far`. Only the band of the table is filled where a way of that length can be.
    fn distance(&mut self, one: &[char], other: &[char], far: usize, effort: &Effort) -> Option<usize> {
        let beyond = far + 1;
        for row in [&mut self.before, &mut self.last, &mut self.this] {
            row.clear();
            row.resize(other.len() + 1, beyond);
        }
        for (at, cell) in self.last.iter_mut().enumerate().take(beyond) {
            *cell = at;
        }
        for (i, letter) in one.iter().enumerate() {
            let (from, to) = (i.saturating_sub(far), (i + far + 1).min(other.len()));
            if !effort.spend(to.saturating_sub(from)) {
                return None;
            }
            self.this.fill(beyond);
            if let Some(first) = self.this.first_mut().filter(|_| i < far) {
                *first = i + 1;
            }
            let mut least = if i < far { i + 1 } else { beyond };
            for j in from..to {
                let of = |row: &[usize], at: usize| row.get(at).copied().unwrap_or(beyond);
                let theirs = other.get(j);
                let replaced = of(&self.last, j) + usize::from(theirs != Some(letter));
                let mut distance = replaced.min(of(&self.last, j + 1) + 1).min(of(&self.this, j) + 1);
                let swapped = i > 0 && j > 0 && one.get(i - 1) == theirs && other.get(j - 1) == Some(letter);
                if swapped {
                    distance = distance.min(of(&self.before, j - 1) + 1);
                }
                let distance = distance.min(beyond);
                if let Some(cell) = self.this.get_mut(j + 1) {
                    *cell = distance;
                }
                least = least.min(distance);
            }
            if least > far {
                return None;
            }
            std::mem::swap(&mut self.before, &mut self.last);
            std::mem::swap(&mut self.last, &mut self.this);
        }
        self.last.last().copied().filter(|distance| *distance <= far)
    }
}

/// The candidate that is nearest to a word, if it is near enough.
///
/// At most a third of the letters may differ (one, in a word of three letters or fewer). Two swapped
/// neighbours count as one difference, upper and lower case as none. Among equally near candidates the
/// first in the order of the alphabet wins.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    Effort::default().nearest(word, candidates)
}

/// The candidates that are as near as the nearest one may be, the nearest first, at most `most`.
pub fn near<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>, most: usize) -> Vec<&'a str> {
    Effort::default().near(word, candidates, most)
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

    /// The whole table, as the definition has it.
    fn by_definition(one: &[char], other: &[char]) -> usize {
        let mut table = vec![vec![0; other.len() + 1]; one.len() + 1];
        for i in 0..=one.len() {
            for j in 0..=other.len() {
                table[i][j] = if i == 0 || j == 0 {
                    i + j
                } else {
                    let replaced = table[i - 1][j - 1] + usize::from(one[i - 1] != other[j - 1]);
                    let plain = replaced.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1);
                    let swaps = i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1];
                    if swaps { plain.min(table[i - 2][j - 2] + 1) } else { plain }
                };
            }
        }
        table[one.len()][other.len()]
    }

    #[test]
    fn the_band_holds_every_distance_that_is_not_too_far() {
        let mut random = bayplan_model::testing::Random(1);
        let mut word = |most: usize| -> Vec<char> {
            (0..1 + random.below(most)).map(|_| ['a', 'b', 'c'][random.below(3)]).collect()
        };
        let (effort, mut rows) = (Effort::default(), Rows::default());
        for _ in 0..3_000 {
            let (one, other) = (word(9), word(9));
            let wanted = by_definition(&one, &other);
            for far in 1..9 {
                let found = rows.distance(&one, &other, far, &effort);
                assert_eq!(found, Some(wanted).filter(|wanted| *wanted <= far), "{one:?} {other:?} {far}");
            }
        }
    }

    #[test]
    fn suggestions_end_with_the_effort() {
        let names: Vec<String> = (0..2_000).map(|at| format!("{at:04}{}", "x".repeat(94))).collect();
        let effort = Effort::default();
        let found = names.iter().filter(|name| {
            effort
                .nearest(
                    &name.replace('x', "y").replacen("yyyy", "xxxx", 20),
                    names.iter().map(String::as_str),
                )
                .is_some()
        });
        assert!(found.count() < names.len());
        assert_eq!(effort.spent(), Effort::MOST);
        assert_eq!(effort.nearest("fliter", ["filter"]), None);
    }
}
