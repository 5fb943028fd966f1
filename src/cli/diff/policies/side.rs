//! [`Side`]: the policies before or after a change: of files, or those that a live cluster has in service or had.

use crate::cli::Output;
use crate::cli::at_once::at_once;
use crate::cli::diff::Args;
use crate::cli::input::Policies;
use crate::cli::setup::{self, Setup};
use anyhow::bail;
use std::path::{Path, PathBuf};

/// The policies of a side, with or without mistakes.
struct Compiled {
    policies: Policies,
    /// What could not be read of a live cluster.
    notes: Vec<String>,
}

impl Compiled {
    /// Prints what is to be said; `None`: mistakes are among it.
    fn judged(self, out: &mut Output) -> anyhow::Result<Option<Policies>> {
        for missing in &self.notes {
            setup::note(out, missing);
        }
        Ok((!setup::complain(&self.policies, out)?).then_some(self.policies))
    }
}

/// The word for policies of the live cluster.
const LIVE: &str = "live";

/// Where policies are.
pub(super) enum Side {
    /// A file, or a folder.
    Path(PathBuf),
    /// In service: all of them, or one by name, in a revision of its history.
    #[cfg(feature = "cluster")]
    InService {
        /// The policy.
        policy: Option<String>,
        /// The revision, or its beginning; `None`: the one in service.
        revision: Option<String>,
    },
}

impl Side {
    /// What an argument means: `live`, `live:POLICY` and `live:POLICY@REVISION`, unless there is such a file.
    pub(super) fn of(path: &Path) -> anyhow::Result<Self> {
        let text = path.to_string_lossy();
        let rest = text.strip_prefix(LIVE).filter(|rest| rest.is_empty() || rest.starts_with(':'));
        let Some(rest) = rest.filter(|_| !path.exists()) else { return Ok(Self::Path(path.to_owned())) };
        #[cfg(feature = "cluster")]
        {
            let Some(named) = rest.strip_prefix(':') else {
                return Ok(Self::InService { policy: None, revision: None });
            };
            let (policy, revision) = match named.split_once('@') {
                Some((policy, revision)) => (policy, Some(revision.to_owned())),
                None => (named, None),
            };
            if policy.is_empty() || revision.as_ref().is_some_and(String::is_empty) {
                bail!("write `live`, `live:POLICY` or `live:POLICY@REVISION`, and not `{text}`");
            }
            Ok(Self::InService { policy: Some(policy.to_owned()), revision })
        }
        #[cfg(not(feature = "cluster"))]
        {
            let _ = rest;
            bail!("this program is built without live clusters: give files instead of `{text}`")
        }
    }

    /// Reads and compiles the policies; `None`: mistakes were printed.
    pub(super) fn read(&self, args: &Args, out: &mut Output) -> anyhow::Result<Option<Policies>> {
        self.compiled(args)?.judged(out)
    }

    /// Reads and compiles both sides at once; `None`: mistakes were printed.
    pub(super) fn read_both(
        [old, new]: [&Self; 2],
        args: &Args,
        out: &mut Output,
    ) -> anyhow::Result<Option<(Policies, Policies)>> {
        let mut compiled = at_once(&[old, new], 2, |side| side.compiled(args))?.into_iter();
        let (Some(old), Some(new)) = (compiled.next(), compiled.next()) else { return Ok(None) };
        let Some(old) = old?.judged(out)? else { return Ok(None) };
        Ok(new?.judged(out)?.map(|new| (old, new)))
    }

    /// Reads and compiles the policies.
    fn compiled(&self, args: &Args) -> anyhow::Result<Compiled> {
        let mut policies = Policies { size: args.from.size(), ..Policies::default() };
        policies.read_schemas(&args.from.kinds.schemas)?;
        let notes = match self {
            Self::Path(path) => {
                policies.read(std::slice::from_ref(path))?;
                Vec::new()
            }
            #[cfg(feature = "cluster")]
            Self::InService { policy, revision } => {
                live::add(&mut policies, args, (policy.as_deref(), revision.as_deref()))?
            }
        };
        policies.compile();
        Ok(Compiled { policies, notes })
    }

    /// The cluster under these policies, read anew; `None`: mistakes were printed.
    pub(super) fn with_cluster(&self, args: &Args, out: &mut Output) -> anyhow::Result<Option<Setup>> {
        let of_files = match self {
            Self::Path(path) => vec![path.clone()],
            #[cfg(feature = "cluster")]
            Self::InService { .. } => Vec::new(),
        };
        let from = setup::From { policies: of_files, only_these_policies: true, ..args.from.clone() };
        let Some(setup) = setup::read(&from, out)? else { return Ok(None) };
        match self {
            Self::Path(_) => Ok(Some(setup)),
            #[cfg(feature = "cluster")]
            Self::InService { .. } => match self.read(args, out)? {
                Some(policies) if policies.kinds().is_empty() => setup.under(policies, out),
                Some(_) => bail!(
                    "policies in service look up objects of other kinds: save their texts as files, and give these \
                     instead of `live`"
                ),
                None => Ok(None),
            },
        }
    }
}

#[cfg(feature = "cluster")]
mod live {
    use super::{Args, Policies};
    use crate::cli::live;
    use crate::cluster::policies::config_maps::namespace_of;
    use crate::cluster::policies::session::PolicySession;
    use crate::cluster::policies::verdict::Texts;
    use crate::diag::{Origin, suggest::nearest};
    use anyhow::bail;

    /// Adds the texts in service, or those of a revision of a policy. Returns what could not be read.
    pub(super) fn add(
        policies: &mut Policies,
        args: &Args,
        (policy, revision): (Option<&str>, Option<&str>),
    ) -> anyhow::Result<Vec<String>> {
        let namespaces = live::namespaces(&args.from.policy_namespaces);
        let session = PolicySession::open(&live::target(&args.from.connection), namespaces, policies.size)?;
        let mut texts: Vec<(String, Texts)> = Vec::new();
        for object in &session.found.objects {
            for served in &object.serving {
                if policy.is_some_and(|wanted| served.name != wanted) {
                    continue;
                }
                let of = match revision {
                    None => (*served.texts).clone(),
                    Some(revision) => {
                        let key = (namespace_of(&object.name).to_owned(), served.name.clone());
                        let history = session.found.history.get(&key).map(Vec::as_slice).unwrap_or_default();
                        let Some(found) = history.iter().find(|it| it.revision.starts_with(revision)) else {
                            bail!(
                                "`{}` has no revision `{revision}`; `bayplan policies show {}` lists them",
                                served.name,
                                served.name
                            );
                        };
                        // The texts of the newest revision are those of the object.
                        if found.texts.is_empty() { (*served.texts).clone() } else { found.texts.clone() }
                    }
                };
                if !texts.iter().any(|(name, known)| *name == object.name && *known == of) {
                    texts.push((object.name.clone(), of));
                }
            }
        }
        if let Some(wanted) = policy.filter(|_| texts.is_empty()) {
            let serving = session.found.objects.iter().flat_map(|object| &object.serving);
            let names: Vec<&str> = serving.map(|of| of.name.as_str()).collect();
            let near = nearest(wanted, names.iter().copied()).map(|near| format!("; did you mean `{near}`?"));
            bail!("no policy in service is called `{wanted}`{}", near.unwrap_or_default());
        }
        for (object, texts) in texts {
            for (key, text) in texts {
                let origin = Origin { object: object.clone(), key };
                let id = policies.sources.add_object(origin, text.as_str());
                policies.texts.push(id);
            }
        }
        Ok(session.found.missing)
    }
}
