//! Remembers for a short time what the API server decided about callers of the secure port, by what
//! was authenticated: a certificate, a token, or nothing. `access` asks and fills it.

use aws_lc_rs::digest;
use rustc_hash::FxHashMap;
use rustls::pki_types::CertificateDer;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Maximum number of remembered answers of each kind. Refusals have room of their own, so that
/// unknown callers displace no answer of a known one.
const MOST: usize = 1_000;
/// How long a caller whose request was allowed counts as known.
const KNOWN_FOR: Duration = Duration::from_secs(3_600);

/// How long answers of the API server are cached.
#[derive(Clone, Copy, Debug)]
pub struct CacheTtl {
    /// That a request is allowed.
    pub allowed: Duration,
    /// That a request is refused.
    pub refused: Duration,
}

impl Default for CacheTtl {
    fn default() -> Self {
        Self { allowed: Duration::from_secs(10), refused: Duration::from_secs(10) }
    }
}

/// What was authenticated. A client can choose neither the variant nor the digest of another
/// caller's credentials.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Credentials {
    /// A client certificate that an authority signed, by the digest of its DER form.
    Certificate([u8; 32]),
    /// A bearer token, by its digest.
    Token([u8; 32]),
    /// Neither.
    Anonymous,
}

impl Credentials {
    /// Of a verified certificate.
    pub(crate) fn certificate(certificate: &CertificateDer<'_>) -> Self {
        Self::Certificate(sha256(certificate))
    }

    /// Of a bearer token.
    pub(crate) fn token(token: &str) -> Self {
        Self::Token(sha256(token.as_bytes()))
    }
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut value = [0; 32];
    value.copy_from_slice(digest::digest(&digest::SHA256, bytes).as_ref());
    value
}

/// A request, as far as the answer depends on it: who asks, and for which verb and path.
type Asked = (Credentials, String);

/// What the API server answered: nothing if the request is allowed, else the refusal.
pub(crate) type Answer<R> = Option<R>;

/// The remembered answers.
pub(crate) struct Answers<R> {
    ttl: CacheTtl,
    allowed: Remembered<()>,
    refused: Remembered<R>,
}

impl<R: Clone> Answers<R> {
    /// Nothing is remembered yet.
    pub(crate) fn new(ttl: CacheTtl) -> Self {
        let allowed = Remembered::new(ttl.allowed.max(KNOWN_FOR));
        Self { ttl, allowed, refused: Remembered::new(ttl.refused) }
    }

    /// The answer, unless it is too old.
    pub(crate) fn get(&self, asked: &Asked, now: Instant) -> Option<Answer<R>> {
        if self.allowed.get(asked, self.ttl.allowed, now).is_some() {
            return Some(None);
        }
        self.refused.get(asked, self.ttl.refused, now).cloned().map(Some)
    }

    /// Whether the same request was allowed not long ago.
    pub(crate) fn knows(&self, asked: &Asked, now: Instant) -> bool {
        self.allowed.get(asked, KNOWN_FOR, now).is_some()
    }

    /// Remembers an answer, in place of the one before.
    pub(crate) fn put(&mut self, asked: Asked, answer: Answer<R>, now: Instant) {
        match answer {
            None => {
                self.refused.entries.remove(&asked);
                self.allowed.put(asked, (), now);
            }
            Some(refusal) => {
                self.allowed.entries.remove(&asked);
                self.refused.put(asked, refusal, now);
            }
        }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.allowed.entries.len() + self.refused.entries.len()
    }
}

/// Answers of one kind; the oldest make room for new ones.
struct Remembered<T> {
    keep: Duration,
    entries: FxHashMap<Asked, (Instant, T)>,
    /// The entries by age. One whose instant differs from that of the entry was replaced.
    order: VecDeque<(Instant, Asked)>,
}

impl<T> Remembered<T> {
    fn new(keep: Duration) -> Self {
        Self { keep, entries: FxHashMap::default(), order: VecDeque::new() }
    }

    fn get(&self, asked: &Asked, ttl: Duration, now: Instant) -> Option<&T> {
        let (at, answer) = self.entries.get(asked)?;
        (now.saturating_duration_since(*at) < ttl).then_some(answer)
    }

    fn put(&mut self, asked: Asked, answer: T, now: Instant) {
        while let Some((at, oldest)) = self.order.front()
            && (self.order.len() >= MOST || now.saturating_duration_since(*at) >= self.keep)
        {
            if self.entries.get(oldest).is_some_and(|(since, _)| since == at) {
                self.entries.remove(oldest);
            }
            self.order.pop_front();
        }
        self.order.push_back((now, asked.clone()));
        self.entries.insert(asked, (now, answer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers() -> Answers<&'static str> {
        Answers::new(CacheTtl { allowed: Duration::from_secs(10), refused: Duration::from_secs(5) })
    }

    fn refusal() -> Answer<&'static str> {
        Some("Unauthorized")
    }

    #[test]
    fn no_credentials_borrow_the_answer_of_others() {
        let text = r#"{"groups":["system:authenticated"],"username":"reader"}"#;
        let certificate = CertificateDer::from(text.as_bytes().to_vec());
        let all = [
            Credentials::certificate(&certificate),
            Credentials::token(text),
            Credentials::token(&format!("{text} ")),
            Credentials::token(""),
            Credentials::Anonymous,
        ];
        for (at, one) in all.iter().enumerate() {
            assert!(!all[at + 1..].contains(one), "{one:?}");
        }
        assert_eq!(Credentials::token(text), Credentials::token(text));
        assert!(!format!("{all:?}").contains("reader"), "no raw token is kept");
    }

    #[test]
    fn answers_expire_and_belong_to_one_path() {
        let mut answers = answers();
        let now = Instant::now();
        let at = |seconds| now + Duration::from_secs(seconds);
        let asked = |path: &str| (Credentials::token("t"), path.to_owned());
        answers.put(asked("/metrics"), None, now);
        answers.put(asked("/configz"), refusal(), now);
        assert_eq!(answers.get(&asked("/metrics"), at(9)), Some(None));
        assert_eq!(answers.get(&asked("/configz"), at(4)), Some(refusal()));
        assert_eq!(answers.get(&asked("/metrics/resources"), now), None);
        assert_eq!(answers.get(&asked("/metrics"), at(10)), None);
        assert_eq!(answers.get(&asked("/configz"), at(5)), None);
        assert!(answers.knows(&asked("/metrics"), at(60)) && !answers.knows(&asked("/configz"), now));
        // The latest answer counts.
        answers.put(asked("/metrics"), refusal(), at(20));
        assert_eq!(answers.get(&asked("/metrics"), at(21)), Some(refusal()));
        assert!(!answers.knows(&asked("/metrics"), at(21)));
    }

    #[test]
    fn unknown_callers_displace_no_answer_of_a_known_one() {
        let mut answers = answers();
        let now = Instant::now();
        let known = (Credentials::token("known"), "/metrics".to_owned());
        answers.put(known.clone(), None, now);
        for at in 0..5 * MOST {
            answers.put((Credentials::token(&at.to_string()), "/metrics".to_owned()), refusal(), now);
        }
        assert_eq!(answers.get(&known, now), Some(None));
        assert!(answers.len() <= 2 * MOST && answers.refused.order.len() <= MOST);
        // What has expired is freed with the next answer.
        answers.put(known, refusal(), now + Duration::from_secs(6));
        assert_eq!(answers.len(), 1);
    }
}
