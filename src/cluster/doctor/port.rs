//! What the secure port of a replica says to everybody: which checks of `/readyz` fail. The question goes through the
//! API server, or to an address that the user gives; without credentials, since nothing proves whose certificate it has.

use super::facts::{PortAnswer, pod_name};
use crate::api::client::{Api, ApiError, Page, page};
use k8s_openapi::api::core::v1::Pod;

/// The page, with the result of each check.
const PAGE: &str = "/readyz?verbose";

/// Asks a replica through the API server.
pub(super) async fn of_pod(api: &Api, pod: &Pod) -> PortAnswer {
    let of = format!("pod {}", pod_name(pod));
    let (namespace, name) = (pod.metadata.namespace.as_deref(), pod.metadata.name.as_deref());
    let (Some(namespace), Some(name)) = (namespace, name) else {
        return PortAnswer { of, failing: Err("the pod has no name".to_owned()) };
    };
    let ports = pod.spec.iter().flat_map(|spec| &spec.containers).flat_map(|of| of.ports.iter().flatten());
    let port = ports
        .into_iter()
        .find(|of| of.name.as_deref() == Some("https"))
        .map_or(10_259, |of| of.container_port);
    let path = format!("/api/v1/namespaces/{namespace}/pods/https:{name}:{port}/proxy{PAGE}");
    PortAnswer { of, failing: failing(api.page(&path).await) }
}

/// Asks the port at an address such as `https://127.0.0.1:10259`.
pub(super) async fn at(address: &str) -> PortAnswer {
    let of = address.to_owned();
    let uri = match address.parse::<http::Uri>() {
        Ok(uri) if uri.scheme().is_some() && uri.host().is_some() => uri,
        _ => {
            return PortAnswer {
                of,
                failing: Err("it is not a URL such as https://127.0.0.1:10259".to_owned()),
            };
        }
    };
    let mut config = kube::Config::new(uri);
    config.accept_invalid_certs = true;
    config.default_retry = false;
    let answer = match kube::Client::try_from(config) {
        Ok(client) => page(&client, PAGE).await,
        Err(error) => Err(ApiError::NotSent(error.to_string())),
    };
    PortAnswer { of, failing: failing(answer) }
}

/// The names of the checks that fail: `[-]watch-age failed: reason withheld`.
fn failing(answer: Result<Page, ApiError>) -> Result<Vec<String>, String> {
    let page = answer.map_err(|error| error.to_string())?;
    let line = |line: &str| Some(line.strip_prefix("[-]")?.split_whitespace().next()?.to_owned());
    let found: Vec<String> = page.text.lines().filter_map(line).collect();
    let checks = page.text.lines().any(|line| line.starts_with("[+]") || line.starts_with("[-]"));
    match checks {
        true => Ok(found),
        false => {
            let said = serde_json::from_str::<kube::core::Status>(&page.text).map(|status| status.message);
            Err(said
                .ok()
                .filter(|said| !said.is_empty())
                .unwrap_or_else(|| format!("it answered {}", page.code)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_names_what_fails() {
        let of = |code: u16, text: &str| failing(Ok(Page { code, date: None, text: text.to_owned() }));
        assert_eq!(of(200, "[+]watch-age ok\nreadyz check passed\n"), Ok(Vec::new()));
        let withheld = "[+]rights ok\n[-]watch-age failed: reason withheld\nreadyz check failed\n";
        assert_eq!(of(500, withheld), Ok(vec!["watch-age".to_owned()]));
        assert_eq!(
            of(
                403,
                r#"{"kind": "Status", "status": "Failure", "message": "no", "reason": "Forbidden", "code": 403}"#
            ),
            Err("no".to_owned())
        );
        assert_eq!(of(502, "bad gateway"), Err("it answered 502".to_owned()));
    }
}
