//! Values of flags of `run`: durations, TLS versions and cipher suites, as Go writes them. Also the
//! flags of kube-scheduler that `run` refuses, each with the reason.

use crate::framework::features::GatesOf;
use crate::model::KubernetesVersion;
use anyhow::bail;
use std::collections::BTreeMap;

/// The values of all flags as they were given, and the defaults of others, by the identifiers of clap. It takes no
/// argument of its own. In a struct of flags it must be the first field, because later fields take their values away.
#[derive(Clone, Default, Debug)]
pub(super) struct Given(BTreeMap<String, String>);

impl Given {
    /// The flags that `A` describes, by name, with their values; a flag without a value has the empty text.
    pub(super) fn all<A: clap::Args>(&self) -> BTreeMap<String, String> {
        let command = A::augment_args(clap::Command::new("flags"));
        let value =
            |argument: &clap::Arg| self.0.get(argument.get_id().as_str()).cloned().unwrap_or_default();
        let flag = |argument: &clap::Arg| Some((argument.get_long()?.to_owned(), value(argument)));
        command.get_arguments().filter_map(flag).collect()
    }
}

impl clap::FromArgMatches for Given {
    fn from_arg_matches(matches: &clap::ArgMatches) -> Result<Self, clap::Error> {
        let value = |id: &clap::Id| {
            let values = matches.try_get_raw(id.as_str()).ok()??;
            let values: Vec<String> = values.map(|value| value.to_string_lossy().into_owned()).collect();
            Some((id.to_string(), values.join(",")))
        };
        Ok(Self(matches.ids().filter_map(value).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &clap::ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for Given {
    fn augment_args(command: clap::Command) -> clap::Command {
        command
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        command
    }
}

/// Flags of kube-scheduler that are refused, each with the reason.
const REFUSED: &[(&str, &str)] = &[
    ("allow-metric-labels", "metrics and their labels are fixed"),
    ("allow-metric-labels-manifest", "metrics and their labels are fixed"),
    ("disabled-metrics", "all metrics are served; drop them in the scrape configuration"),
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
    ("tls-curve-preferences", "the TLS library chooses the key exchange"),
    ("tls-sni-cert-key", "the port has one certificate; use `--tls-cert-file`"),
];

const NO_PROXY: &str =
    "user names from an authenticating proxy are not supported; use a token or a client certificate";

/// The minor version of a flag `[kube=]1.36`, of which the last value counts.
fn minor(flag: &str, given: &[String]) -> anyhow::Result<Option<u32>> {
    let Some(text) = given.last().map(|text| text.trim()) else { return Ok(None) };
    let version = match text.split_once('=') {
        Some(("kube", version)) => version,
        Some((component, _)) => bail!("`--{flag}` has the component `{component}`; the only one is `kube`"),
        None => text,
    };
    let mut parts = version.split('.');
    let numbers =
        (parts.next().and_then(|one| one.parse().ok()), parts.next().and_then(|two| two.parse().ok()));
    match (numbers, parts.next()) {
        ((Some(1u32), Some(minor)), None) => Ok(Some(minor)),
        ((Some(_), Some(_)), Some(_)) => bail!("`--{flag}`: patch version not allowed, got: {version}"),
        _ => bail!("`--{flag}` has `{version}`, which is not a version such as `1.36`"),
    }
}

/// The minor version: 37 of 1.37.
fn minor_of(version: KubernetesVersion) -> u32 {
    36 + version as u32
}

/// Whose gates count, in place of those of `binary`. Source: `component-base/compatibility/registry.go`.
pub(super) fn gates_of(
    binary: KubernetesVersion,
    emulated: &[String],
    min_compatibility: &[String],
) -> anyhow::Result<GatesOf> {
    let newest = minor_of(binary);
    let asked = minor("emulated-version", emulated)?.unwrap_or(newest);
    if !(newest.saturating_sub(3)..=newest).contains(&asked) {
        bail!("emulation version 1.{asked} is not between [1.{}, {binary}]", newest.saturating_sub(3));
    }
    let known = KubernetesVersion::ALL.into_iter().find(|version| minor_of(*version) == asked);
    let Some(known) = known else {
        bail!(
            "`--emulated-version`: the feature gates of Kubernetes 1.{asked} are not known here; write `1.36` or `1.37`"
        );
    };
    let least = minor("min-compatibility-version", min_compatibility)?;
    if let Some(least) = least
        && !(newest.saturating_sub(3)..=asked).contains(&least)
    {
        bail!("minCompatibilityVersion 1.{least} is not between [1.{}, 1.{asked}]", newest.saturating_sub(3));
    }
    let among_newest = least == Some(minor_of(KubernetesVersion::default()));
    Ok(GatesOf { binary, emulated: known, among_newest })
}

/// Whether metrics are served that the version hides: upstream takes the minor version before it, whatever is emulated.
/// Source: `component-base/metrics/api/v1/config.go`.
pub(super) fn shows_hidden_metrics(binary: KubernetesVersion, of: Option<&str>) -> anyhow::Result<bool> {
    let Some(of) = of.filter(|of| !of.is_empty()) else { return Ok(false) };
    let before = format!("1.{}", minor_of(binary) - 1);
    if of != before {
        bail!(
            "metrics.showHiddenMetricsForVersion: Invalid value: {of:?}: must be omitted or have the value '{before}'; \
             only the previous minor version is allowed"
        );
    }
    Ok(true)
}

/// Parses the only value of a flag for something that is always off.
pub(super) fn only_false(text: &str) -> Result<bool, String> {
    if text == "false" { Ok(false) } else { Err("profiling is not supported; write `=false`".into()) }
}

/// The message for an argument that clap does not know, if it is a flag of kube-scheduler.
pub(super) fn refusal(argument: &str) -> Option<String> {
    let name = argument.strip_prefix("--")?.split('=').next()?;
    let (_, why) = REFUSED.iter().find(|(flag, _)| *flag == name)?;
    Some(format!("`--{name}` of kube-scheduler is not supported: {why}"))
}

/// Parses Go's name of the minimum TLS version; whether it is 1.3.
pub(super) fn tls_version(name: &str) -> Result<bool, String> {
    match name {
        "VersionTLS12" => Ok(false),
        "VersionTLS13" => Ok(true),
        "VersionTLS10" | "VersionTLS11" => {
            Err("TLS 1.0 and 1.1 are not supported; write VersionTLS12".to_owned())
        }
        _ => Err("possible values: VersionTLS12, VersionTLS13".to_owned()),
    }
}

/// Parses the name of a cipher suite: the IANA name, as Go writes it.
pub(super) fn cipher_suite(name: &str) -> Result<String, String> {
    let known = crate::cluster::port::tls::cipher_suites();
    // Go omits the hash in two names.
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
        "it is not supported; all supported suites have forward secrecy and authenticated encryption: {}",
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
            "`--tls-sni-cert-key` of kube-scheduler is not supported: the port has one certificate; use `--tls-cert-file`"
        );
        assert!(refusal("--no-such-flag").is_none() && refusal("-x").is_none());
    }

    #[test]
    fn hidden_metrics_are_those_of_the_version_before() {
        use KubernetesVersion::{V1_36, V1_37};
        let asked = |binary, of| shows_hidden_metrics(binary, of).map_err(|error| error.to_string());
        assert_eq!((asked(V1_37, None), asked(V1_37, Some(""))), (Ok(false), Ok(false)));
        assert_eq!((asked(V1_37, Some("1.36")), asked(V1_36, Some("1.35"))), (Ok(true), Ok(true)));
        // As kube-scheduler 1.37.2 and 1.36.3 said it.
        let refused = |value: &str, before: &str| {
            Err(format!(
                "metrics.showHiddenMetricsForVersion: Invalid value: \"{value}\": must be omitted or have the value \
                 '{before}'; only the previous minor version is allowed"
            ))
        };
        for value in ["1.30", "1.37", "1.35", "v1.36", "1.36.3", "36"] {
            assert_eq!(asked(V1_37, Some(value)), refused(value, "1.36"));
        }
        assert_eq!(asked(V1_36, Some("1.36")), refused("1.36", "1.35"));
    }

    #[test]
    fn suites_and_versions_have_the_names_of_go() {
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
