//! Finds kubeconfig and context as kubectl does: `--kubeconfig`, else the files of `KUBECONFIG`,
//! else `~/.kube/config`. Used by `client`, for commands; `run` gets its kubeconfig by flag.

use super::client::{ConnectError, deepest};
use bayplan_diag::suggest::nearest;
use kube::config::{KubeConfigOptions, Kubeconfig};
use std::path::{Path, PathBuf};

/// A kubeconfig.
#[derive(Debug)]
pub(crate) struct LoadedKubeconfig {
    config: Kubeconfig,
    /// The files, for messages.
    path: String,
    paths: Vec<PathBuf>,
}

/// Reads one file.
pub(crate) fn read(path: &Path) -> Result<LoadedKubeconfig, ConnectError> {
    merged(&[path.to_owned()])
}

/// The kubeconfig that kubectl uses without `--kubeconfig`. `None` if there is none.
pub(crate) fn find() -> Result<Option<LoadedKubeconfig>, ConnectError> {
    let (paths, of_variable) = places();
    let there: Vec<PathBuf> = paths.iter().filter(|path| path.exists()).cloned().collect();
    match (there.is_empty(), of_variable) {
        (true, true) => Err(ConnectError::NoneExists(listed(&paths))),
        (true, false) => Ok(None),
        // As kubectl does, it skips missing files if another one exists.
        (false, _) => merged(&there).map(Some),
    }
}

/// The files that kubectl reads, and whether `KUBECONFIG` names them.
fn places() -> (Vec<PathBuf>, bool) {
    let variable = std::env::var_os("KUBECONFIG").unwrap_or_default();
    let named: Vec<PathBuf> =
        std::env::split_paths(&variable).filter(|path| !path.as_os_str().is_empty()).collect();
    if !named.is_empty() {
        return (named, true);
    }
    (std::env::home_dir().map(|home| home.join(".kube/config")).into_iter().collect(), false)
}

fn listed(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

fn merged(paths: &[PathBuf]) -> Result<LoadedKubeconfig, ConnectError> {
    let mut config = Kubeconfig::default();
    for path in paths {
        let refuse = |error: kube::config::KubeconfigError| ConnectError::Kubeconfig {
            path: path.display().to_string(),
            why: deepest(&error),
        };
        config = Kubeconfig::read_from(path).and_then(|next| config.merge(next)).map_err(refuse)?;
    }
    Ok(LoadedKubeconfig { config, path: listed(paths), paths: paths.to_vec() })
}

impl LoadedKubeconfig {
    /// The files that a connection of a context depends on: the kubeconfig and the files that it
    /// names for this context.
    pub(crate) fn files(&self, context: Option<&str>) -> Vec<PathBuf> {
        let wanted = context.or(self.config.current_context.as_deref()).unwrap_or_default();
        let context = self.config.contexts.iter().find(|it| it.name == wanted);
        let context = context.and_then(|it| it.context.as_ref());
        let cluster = self.config.clusters.iter().find(|it| context.is_some_and(|of| of.cluster == it.name));
        let user = self
            .config
            .auth_infos
            .iter()
            .find(|it| context.is_some_and(|of| of.user.as_deref() == Some(it.name.as_str())));
        let user = user.and_then(|it| it.auth_info.as_ref());
        let authority = cluster.and_then(|it| it.cluster.as_ref()?.certificate_authority.as_ref());
        let named = user.map(|it| [&it.token_file, &it.client_certificate, &it.client_key]);
        let named = named.into_iter().flatten().filter_map(|path| path.as_ref()).chain(authority);
        self.paths.iter().cloned().chain(named.map(PathBuf::from)).collect()
    }

    /// The connection of a context, or of the current context.
    pub(crate) async fn connection(self, context: Option<&str>) -> Result<kube::Config, ConnectError> {
        self.check(context)?;
        let options =
            KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
        let path = self.path;
        kube::Config::from_custom_kubeconfig(self.config, &options)
            .await
            .map_err(|error| ConnectError::Kubeconfig { path, why: deepest(&error) })
    }

    /// Checks that the context exists; the error suggests a similar name or lists all names.
    fn check(&self, context: Option<&str>) -> Result<(), ConnectError> {
        let names: Vec<&str> = self.config.contexts.iter().map(|context| context.name.as_str()).collect();
        let current = self.config.current_context.as_deref().filter(|name| !name.is_empty());
        let path = self.path.clone();
        let known = || {
            if names.is_empty() { "it has none".to_owned() } else { format!("it has {}", names.join(", ")) }
        };
        let Some(wanted) = context.or(current) else {
            return Err(ConnectError::NoCurrentContext { path, known: known() });
        };
        if names.contains(&wanted) {
            return Ok(());
        }
        let hint = match nearest(wanted, names.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => known(),
        };
        Err(ConnectError::NoSuchContext { path, context: wanted.to_owned(), hint })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "apiVersion: v1\nkind: Config\ncurrent-context: dev\n\
        clusters: [{name: d, cluster: {server: 'https://dev:6443'}}, {name: p, cluster: {server: 'https://prod:6443'}}]\n\
        contexts:\n- {name: dev, context: {cluster: d, namespace: shop}}\n- {name: prod, context: {cluster: p}}\n";

    fn found(text: &str) -> LoadedKubeconfig {
        LoadedKubeconfig {
            config: Kubeconfig::from_yaml(text).unwrap(),
            path: "a".into(),
            paths: vec!["a".into()],
        }
    }

    #[tokio::test]
    async fn a_context_is_found_by_its_name() {
        let config = found(TWO).connection(None).await.unwrap();
        assert_eq!((config.cluster_url.host(), config.default_namespace.as_str()), (Some("dev"), "shop"));
        let config = found(TWO).connection(Some("prod")).await.unwrap();
        assert_eq!((config.cluster_url.host(), config.default_namespace.as_str()), (Some("prod"), "default"));
    }

    #[test]
    fn the_files_of_a_context_are_known() {
        let text = TWO.replace("cluster: d, ", "cluster: d, user: me, ").replace(
            "clusters:",
            "users: [{name: me, user: {tokenFile: t, client-certificate: c, client-key: k}}]\nclusters:",
        );
        let text = text.replace("'https://dev:6443'", "'https://dev:6443', certificate-authority: ca");
        let names = |context| found(&text).files(context);
        assert_eq!(names(None), ["a", "t", "c", "k", "ca"].map(PathBuf::from));
        assert_eq!(names(Some("prod")), ["a"].map(PathBuf::from));
    }

    #[tokio::test]
    async fn an_unknown_context_gets_a_suggestion_or_the_list() {
        let error = found(TWO).connection(Some("prd")).await.unwrap_err().to_string();
        assert_eq!(error, "the kubeconfig `a` has no context `prd`; did you mean `prod`?");
        let error = found(TWO).connection(Some("elsewhere")).await.unwrap_err().to_string();
        assert_eq!(error, "the kubeconfig `a` has no context `elsewhere`; it has dev, prod");
        let text = TWO.replace("current-context: dev\n", "");
        let error = found(&text).connection(None).await.unwrap_err().to_string();
        assert_eq!(
            error,
            "the kubeconfig `a` has no current context; choose one with `--context`: it has dev, prod"
        );
    }
}
