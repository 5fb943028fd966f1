//! Flags of kube-scheduler that `run` does not take, each with the reason; and what the names mean in those of its
//! flags that name something (TLS versions and cipher suites).

/// Flags of kube-scheduler 1.36 that are refused, with the reason.
const REFUSED: &[(&str, &str)] = &[
    ("allow-metric-labels", "metrics and their labels are fixed"),
    ("allow-metric-labels-manifest", "metrics and their labels are fixed"),
    ("disabled-metrics", "metrics are fixed; drop them where they are scraped"),
    ("show-hidden-metrics-for-version", "no metric is hidden"),
    ("emulated-version", "decisions are those of one version; `bayplan version` names it"),
    ("min-compatibility-version", "decisions are those of one version; `bayplan version` names it"),
    ("http2-max-streams-per-connection", "the secure port speaks HTTP/1.1"),
    ("log-json-info-buffer-size", "log lines are not buffered"),
    ("log-text-info-buffer-size", "log lines are not buffered"),
    ("log-json-split-stream", "all log lines go to standard error"),
    ("log-text-split-stream", "all log lines go to standard error"),
    ("requestheader-allowed-names", NO_PROXY),
    ("requestheader-client-ca-file", NO_PROXY),
    ("requestheader-extra-headers-prefix", NO_PROXY),
    ("requestheader-group-headers", NO_PROXY),
    ("requestheader-uid-headers", NO_PROXY),
    ("requestheader-username-headers", NO_PROXY),
    ("tls-curve-preferences", "the key exchanges of the TLS library are used"),
    ("tls-sni-cert-key", "one certificate is shown; use `--tls-cert-file`"),
];

const NO_PROXY: &str =
    "names that an authenticating proxy sends along are not taken; use a token or a client certificate";

/// What to say of an argument that clap does not know: the reason, if it is a flag of kube-scheduler.
pub(super) fn refusal(argument: &str) -> Option<String> {
    let name = argument.strip_prefix("--")?.split('=').next()?;
    let (_, why) = REFUSED.iter().find(|(flag, _)| *flag == name)?;
    Some(format!("`--{name}` of kube-scheduler is not supported: {why}"))
}

/// The lowest TLS version that is spoken, by Go's name; whether that is 1.3.
pub(super) fn tls_version(name: &str) -> Result<bool, String> {
    match name {
        "VersionTLS12" => Ok(false),
        "VersionTLS13" => Ok(true),
        "VersionTLS10" | "VersionTLS11" => {
            Err("TLS 1.0 and 1.1 are never spoken; write VersionTLS12".to_owned())
        }
        _ => Err("possible values: VersionTLS12, VersionTLS13".to_owned()),
    }
}

/// Whether a cipher suite can be offered, by its IANA name as Go writes it.
pub(super) fn cipher_suite(name: &str) -> Result<String, String> {
    let known = crate::cluster::serve::cipher_suites();
    // Go leaves the hash out of two names.
    let full = match name {
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305" | "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305" => {
            format!("{name}_SHA256")
        }
        _ => name.to_owned(),
    };
    if known.contains(&full) {
        return Ok(full);
    }
    Err(format!(
        "it is not offered, as no suite without forward secrecy and authenticated encryption is; possible values: {}",
        known.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_flags_say_why() {
        let text = refusal("--tls-sni-cert-key=a,b").unwrap();
        assert_eq!(
            text,
            "`--tls-sni-cert-key` of kube-scheduler is not supported: one certificate is shown; use `--tls-cert-file`"
        );
        assert!(refusal("--no-such-flag").is_none() && refusal("-x").is_none());
    }

    #[test]
    fn suites_and_versions_have_gos_names() {
        assert!(cipher_suite("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256").is_ok());
        assert_eq!(
            cipher_suite("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305").unwrap(),
            "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"
        );
        assert!(cipher_suite("TLS_RSA_WITH_RC4_128_SHA").is_err());
        assert_eq!(tls_version("VersionTLS13"), Ok(true));
        assert!(tls_version("VersionTLS11").is_err() && tls_version("1.3").is_err());
    }
}
