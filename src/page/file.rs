//! The file: the built page with a document in it, compressed.

use crate::BayPlan;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::Write;

/// The page without a document; `make page` builds it from `ui`.
const PAGE: &str = include_str!("page.html");

/// Where the document goes.
const SLOT: &str = "<!--bayplan:document-->";

/// Where the text goes that is shown without scripts.
const TEXT: &str = "<!--bayplan:text-->";

/// How its content security policy begins, and the first part of it.
const POLICY: &str = "http-equiv=\"Content-Security-Policy\" content=\"";
const NOTHING: &str = "default-src 'none'";

/// A page that opens from a file and asks for nothing else. `text`: what the command prints, for a browser without scripts.
///
/// # Errors
/// If the document cannot be written as JSON.
pub fn html(plan: &BayPlan, text: &str) -> std::io::Result<String> {
    let packed = zlib(plan, Compression::best())?;
    // The text goes in last: it is not searched for places.
    let page = PAGE.replacen(SLOT, &base64(&packed), 1);
    Ok(page.replacen(TEXT, &escaped(text), 1))
}

/// A document for a page that is served: quickly, since it goes to a browser of this host.
///
/// # Errors
/// If the document cannot be written as JSON.
pub fn packed(plan: &BayPlan) -> std::io::Result<Vec<u8>> {
    zlib(plan, Compression::fast())
}

fn zlib(plan: &BayPlan, level: Compression) -> std::io::Result<Vec<u8>> {
    let mut packed = ZlibEncoder::new(Vec::new(), level);
    serde_json::to_writer(&mut packed, plan)?;
    packed.flush()?;
    packed.finish()
}

/// The page without a document, which asks the server that it comes from for documents; and its content security policy, which
/// the server sends with it.
pub fn served() -> (String, String) {
    let policy = PAGE.split_once(POLICY).and_then(|(_, rest)| rest.split_once('"')).map_or("", |(of, _)| of);
    let asks = policy.replacen(NOTHING, &format!("{NOTHING}; connect-src 'self'"), 1);
    let page = PAGE.replacen(policy, &asks, 1).replacen(SLOT, "served", 1).replacen(TEXT, "", 1);
    // An element of a page cannot forbid that the page is framed.
    (page, format!("{asks}; frame-ancestors 'none'"))
}

/// Text as text of a page.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            c if c.is_control() && c != '\n' => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// The letters of base64: nothing that ends an element of a page.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let at = |place: usize| u32::from(chunk.get(place).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for letter in 0..4 {
            let index = (bits >> (18 - 6 * letter) & 63) as usize;
            text.push(if letter > chunk.len() { '=' } else { char::from(LETTERS[index]) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn bytes_are_written_as_base64() {
        let cases = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
        ];
        for (bytes, text) in cases {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn the_page_has_one_place_for_the_document_and_one_for_the_text() {
        assert_eq!((PAGE.matches(SLOT).count(), PAGE.matches(TEXT).count()), (1, 1));
        let page = html(&BayPlan::default(), "<b>").unwrap();
        assert!(!page.contains(SLOT) && !page.contains(TEXT) && page.contains("&lt;b&gt;"));
    }

    #[test]
    fn a_served_page_may_ask_its_server_and_nobody_else() {
        let (page, policy) = served();
        assert!(
            policy.starts_with("default-src 'none'; connect-src 'self'; script-src 'sha256-"),
            "{policy}"
        );
        assert!(policy.ends_with("; frame-ancestors 'none'"), "{policy}");
        assert!(page.contains(policy.trim_end_matches("; frame-ancestors 'none'")));
        assert!(!page.contains(SLOT) && !page.contains(TEXT));
        assert!(!html(&BayPlan::default(), "").unwrap().contains("connect-src"), "a file asks for nothing");
    }

    #[test]
    fn names_are_text() {
        assert_eq!(escaped("<script>&\"'\u{1}\n"), "&lt;script&gt;&amp;&quot;&#39;\u{fffd}\n");
    }
}
