//! `/flagz` and `/statusz`: the values of all flags, and version and age of the process, in the forms of Kubernetes'
//! components. Text is for people; JSON and YAML have a version, which the header `Accept` names.
//!
//! Source: KEP-4827 and KEP-4828, `apiserver/pkg/server/{flagz,statusz}`.

use http::StatusCode;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The component whose pages these are: the one in whose place this process runs.
const COMPONENT: &str = "kube-scheduler";
const WARNING: &str = "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility \
                       guarantees and is for debugging purposes only.";
/// The group of the structured forms.
const GROUP: &str = "config.k8s.io";
/// The versions of the structured forms.
const VERSIONS: [&str; 2] = ["v1alpha1", "v1beta1"];
/// The paths of `/statusz`, in order; `/flagz` is one of them while it is served.
const PATHS: [&str; 6] = ["/configz", "/flagz", "/healthz", "/livez", "/metrics", "/readyz"];

/// What the pages show.
#[derive(Clone, Debug)]
pub struct ZPages {
    /// The flags by name. `None`: `/flagz` is not served.
    pub flags: Option<BTreeMap<String, String>>,
    /// Whether `/statusz` is served.
    pub statusz: bool,
    /// The version of kube-scheduler whose decisions the process makes.
    pub emulates: &'static str,
    /// When the process began.
    pub started: Timestamp,
}

/// An answer.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Answer {
    /// The HTTP status.
    pub status: StatusCode,
    /// The header `Content-Type`.
    pub content_type: Cow<'static, str>,
    /// The header `Warning`: the version is deprecated.
    pub warning: Option<String>,
    /// The body.
    pub body: String,
}

/// The form of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Text,
    Json(&'static str),
    Yaml(&'static str),
}

impl ZPages {
    /// `/flagz`.
    pub(crate) fn flagz(&self, accept: &str) -> Answer {
        let flags = self.flags.clone().unwrap_or_default();
        let text = || {
            flags.iter().fold(header("flagz"), |mut text, (name, value)| {
                let _ = writeln!(text, "{name}={value}");
                text
            })
        };
        answer(accept, "Flagz", text, || json!({ "flags": flags }))
    }

    /// `/statusz`, at this time.
    pub(crate) fn statusz(&self, accept: &str, now: Timestamp) -> Answer {
        let up = now.duration_since(self.started).as_secs().max(0);
        let version = env!("CARGO_PKG_VERSION");
        let emulated = self.emulates;
        let paths: Vec<&str> =
            PATHS.into_iter().filter(|path| *path != "/flagz" || self.flags.is_some()).collect();
        let text = || {
            let started = self.started.to_zoned(TimeZone::UTC).strftime("%a %b %e %H:%M:%S %Z %Y");
            let (hours, minutes, seconds) = (up / 3600, up / 60 % 60, up % 60);
            format!(
                "{}\nStarted: {started}\nUp: {hours} hr {minutes:02} min {seconds:02} sec\n\
                 Binary version: {version} (Bayplan)\nEmulation version: {emulated}\nPaths: {}\n",
                header("statusz"),
                paths.join(" "),
            )
        };
        let object = || {
            let started = self.started.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
            json!({
                "startTime": started, "uptimeSeconds": up, "goVersion": "", "binaryVersion": version,
                "emulationVersion": emulated, "paths": paths,
            })
        };
        answer(accept, "Statusz", text, object)
    }
}

fn header(page: &str) -> String {
    format!("\n{COMPONENT} {page}\n{WARNING}\n")
}

fn answer(
    accept: &str,
    kind: &'static str,
    text: impl FnOnce() -> String,
    object: impl FnOnce() -> Value,
) -> Answer {
    let (media, version, yaml) = match negotiated(accept, kind) {
        Some(Form::Text) => {
            let content_type = "text/plain; charset=utf-8".into();
            return Answer { status: StatusCode::OK, content_type, warning: None, body: text() };
        }
        Some(Form::Json(version)) => ("application/json", version, false),
        Some(Form::Yaml(version)) => ("application/yaml", version, true),
        None => return not_acceptable(),
    };
    let mut whole = json!({
        "kind": kind, "apiVersion": format!("{GROUP}/{version}"), "metadata": {"name": COMPONENT},
    });
    if let (Some(whole), Value::Object(fields)) = (whole.as_object_mut(), object()) {
        whole.extend(fields);
    }
    let body = match yaml {
        true => serde_saphyr::to_string(&whole).unwrap_or_default(),
        false => format!("{whole}\n"),
    };
    let warning = (version == "v1alpha1").then(|| {
        let page = kind.to_lowercase();
        format!("299 - \"This version of the {page} endpoint is deprecated. Please use a newer version.\"")
    });
    let content_type = format!("{media};g={GROUP};v={version};as={kind}").into();
    Answer { status: StatusCode::OK, content_type, warning, body }
}

/// The answer to a caller who accepts none of our forms.
///
/// Source: `apiserver/pkg/endpoints/handlers/negotiation/errors.go`.
fn not_acceptable() -> Answer {
    let message =
        "only the following media types are accepted: application/json, application/yaml, text/plain";
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
        "reason": "NotAcceptable", "code": 406,
    });
    let (status, body) = (StatusCode::NOT_ACCEPTABLE, format!("{status:#}\n"));
    Answer { status, content_type: "application/json".into(), warning: None, body }
}

/// A media type of the header `Accept`.
struct Accepted<'a> {
    kind: &'a str,
    subkind: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
    quality: f64,
}

/// The form that the caller likes best.
///
/// Source: `apiserver/pkg/endpoints/handlers/negotiation/negotiate.go`.
fn negotiated(accept: &str, kind: &str) -> Option<Form> {
    if accept.trim().is_empty() {
        return Some(Form::Text);
    }
    let mut all: Vec<Accepted<'_>> = accept.split(',').filter_map(accepted).collect();
    all.sort_by(|one, other| {
        let exact = |it: &Accepted<'_>| (it.kind != "*", it.subkind != "*");
        other.quality.total_cmp(&one.quality).then_with(|| exact(other).cmp(&exact(one)))
    });
    all.iter().find_map(|accepted| {
        let is = |kind: &str, subkind: &str| {
            let same = |wanted: &str, offered: &str| wanted == "*" || wanted == offered;
            same(accepted.kind, kind) && same(accepted.subkind, subkind)
        };
        let converted = structured(&accepted.parameters, kind);
        match converted {
            Some(Some(version)) if is("application", "json") => Some(Form::Json(version)),
            Some(Some(version)) if is("application", "yaml") => Some(Form::Yaml(version)),
            None if is("text", "plain") => Some(Form::Text),
            _ => None,
        }
    })
}

fn accepted(text: &str) -> Option<Accepted<'_>> {
    let mut parts = text.split(';').map(str::trim);
    let media = parts.next()?;
    let (kind, subkind) = media.split_once('/').or_else(|| (media == "*").then_some(("*", "*")))?;
    let mut quality = 1.0;
    let mut parameters = Vec::new();
    for (name, value) in parts.filter_map(|part| part.split_once('=')) {
        match name.trim() {
            "q" => quality = value.trim().parse().unwrap_or(1.0),
            name => parameters.push((name, value.trim())),
        }
    }
    Some(Accepted { kind, subkind, parameters, quality })
}

/// The version that the parameters `g`, `v` and `as` ask for: nothing if they ask for none, `Some(None)` if they ask
/// for something else.
fn structured(parameters: &[(&str, &str)], kind: &str) -> Option<Option<&'static str>> {
    let last = |name| parameters.iter().rev().find(|(it, _)| *it == name).map(|(_, value)| *value);
    let (group, version, object) = (last("g"), last("v"), last("as"));
    if group.is_none() && version.is_none() && object.is_none() {
        return None;
    }
    let is_ours = group == Some(GROUP) && object == Some(kind);
    Some(VERSIONS.into_iter().find(|known| is_ours && version == Some(*known)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages() -> ZPages {
        let flags = [("leader-elect-resource-name", "kube-scheduler"), ("v", "0")];
        let flags = flags.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let started = "2026-03-04T05:06:07Z".parse().unwrap();
        ZPages { flags: Some(flags.into_iter().collect()), statusz: true, emulates: "1.36", started }
    }

    /// The cases of upstream's TestSchedulerZPages, but for CBOR, whose gate is off by default.
    #[test]
    fn forms_are_negotiated_as_by_kubernetes() {
        let beta = Some(Form::Json("v1beta1"));
        for (accept, wanted) in [
            ("text/plain", Some(Form::Text)),
            ("application/json;v=v1beta1;g=config.k8s.io;as=Statusz", beta),
            ("", Some(Form::Text)),
            ("application/xml", None),
            ("application/json", None),
            ("application/json;v=v1beta1;g=config.k8s.io", None),
            ("*/*", Some(Form::Text)),
            ("application/json;v=foo;g=config.k8s.io;as=Statusz,*/*", Some(Form::Text)),
            ("application/yaml;v=v1beta1;g=config.k8s.io;as=Statusz", Some(Form::Yaml("v1beta1"))),
            (
                "application/json;g=config.k8s.io;v=v1alpha1;as=Statusz,application/json;g=config.k8s.io;v=v1beta1;as=Statusz",
                Some(Form::Json("v1alpha1")),
            ),
            ("text/plain;q=0.5, application/json;g=config.k8s.io;v=v1beta1;as=Statusz", beta),
            ("application/json;v=v1beta1;g=config.k8s.io;as=Flagz", None),
        ] {
            assert_eq!(negotiated(accept, "Statusz"), wanted, "{accept}");
        }
    }

    #[test]
    fn pages_have_the_texts_of_kubernetes() {
        let pages = pages();
        let now = "2026-03-04T08:07:10Z".parse().unwrap();
        let text = pages.statusz("", now).body;
        assert!(text.starts_with("\nkube-scheduler statusz\nWarning: This endpoint is not meant"), "{text}");
        for line in ["Started: Wed Mar  4 05:06:07 UTC 2026", "Up: 3 hr 01 min 03 sec"] {
            assert!(text.lines().any(|it| it == line), "{line}\nis not in\n{text}");
        }
        assert!(text.ends_with("Paths: /configz /flagz /healthz /livez /metrics /readyz\n"), "{text}");
        let old = pages.flagz("application/json;g=config.k8s.io;v=v1alpha1;as=Flagz");
        assert_eq!(old.content_type, "application/json;g=config.k8s.io;v=v1alpha1;as=Flagz");
        assert!(old.warning.unwrap().contains("flagz endpoint is deprecated"));
        assert_eq!(
            old.body,
            "{\"kind\":\"Flagz\",\"apiVersion\":\"config.k8s.io/v1alpha1\",\"metadata\":{\"name\":\"kube-scheduler\"},\
             \"flags\":{\"leader-elect-resource-name\":\"kube-scheduler\",\"v\":\"0\"}}\n"
        );
        assert!(pages.flagz("*/*").body.ends_with("\nleader-elect-resource-name=kube-scheduler\nv=0\n"));
        let refused = pages.flagz("application/xml");
        assert_eq!(refused.status, StatusCode::NOT_ACCEPTABLE);
        assert!(refused.body.contains("only the following media types are accepted"), "{}", refused.body);
        let yaml = pages.statusz("application/yaml;v=v1beta1;g=config.k8s.io;as=Statusz", now).body;
        let read: Value = serde_saphyr::from_str(&yaml).unwrap();
        assert_eq!((&read["kind"], &read["uptimeSeconds"]), (&json!("Statusz"), &json!(10_863)));
    }
}
