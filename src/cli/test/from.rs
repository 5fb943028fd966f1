//! `test --from POD`: writes a case from a pod of a live cluster or of a file, with the fewest objects that give its verdict,
//! without names, and runs it.

use super::super::snapshot::{Subject, anonymized, collect, reduced};
use super::{Args, run};
use crate::cli::output::yaml;
use crate::cli::progress::Progress;
use crate::cli::setup;
use crate::cli::{ExitStatus, Output};
use crate::explain::reduce::{Decided, Outcome};
use anyhow::Context;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// The pod of which a case is written, and where it is.
#[derive(clap::Args, Clone, Debug, Default)]
pub(super) struct FromPod {
    /// Write a case from this pod, `NAME` or `NAMESPACE/NAME`, into the folder that is named: the fewest objects that give
    /// its verdict, without names.
    #[arg(long = "from", value_name = "POD", help_heading = "Cases from a cluster")]
    pub pod: Option<String>,
    /// A cluster file or a snapshot that has the pod; without it, the live cluster. The flag may be repeated.
    #[arg(long, value_name = "FILE", requires = "pod", help_heading = "Cases from a cluster")]
    cluster: Vec<PathBuf>,
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    connection: crate::cli::live::Connection,
    /// Policies under test; without them, those of the cluster, which are written beside the case.
    #[arg(long, value_name = "PATH", requires = "pod", help_heading = "Cases from a cluster")]
    policies: Vec<PathBuf>,
    /// A KubeSchedulerConfiguration; without it, that of the cluster.
    #[arg(long, value_name = "FILE", requires = "pod", help_heading = "Cases from a cluster")]
    config: Option<PathBuf>,
}

impl FromPod {
    /// Refuses flags of a live cluster, which tests of files do not read.
    pub(super) fn refuse_connection(&self) -> anyhow::Result<()> {
        #[cfg(feature = "cluster")]
        if self.connection.is_given() {
            anyhow::bail!("flags of a live cluster are for `--from POD`: a test file names its own cluster");
        }
        Ok(())
    }
}

/// Writes the case.
pub(super) fn write(args: &Args, pod: &str, out: &mut Output) -> anyhow::Result<ExitStatus> {
    let folder = folder(args)?;
    let from = setup::From {
        cluster: args.from.cluster.clone(),
        #[cfg(feature = "cluster")]
        connection: args.from.connection.clone(),
        policies: args.from.policies.clone(),
        config: args.from.config.clone(),
        kinds: args.kinds.clone(),
        declared: args.declared,
        decides_as: args.decides_as,
        ..setup::From::default()
    };
    if !cfg!(feature = "cluster") && from.cluster.is_empty() {
        anyhow::bail!("`--from` needs a cluster: give its files with `--cluster FILE`");
    }
    let progress = Progress::start(out, None);
    let setup = match setup::load(&from, &setup::Origin::FilesOrRules, out)? {
        Ok(setup) => setup,
        Err(policies) => {
            setup::complain(&policies, out)?;
            return Ok(ExitStatus::Failure);
        }
    };
    let mut content = collect::content(&from, &setup, &progress, out)?;
    let subject = reduced(&mut content, pod, &setup, &progress, out)?;
    let subject = anonymized(&mut content, Some(subject), &setup, &progress, out)?;
    let subject = subject.context("the pod is gone")?;
    let decided = collect::decided(&content, &subject.pod, &setup, &progress)?;
    drop(progress);
    let name = subject.pod.rsplit('/').next().unwrap_or("pod").to_owned();
    let files = Files::new(&folder, &name);
    let own = own_pod(&mut content.objects, &subject).context("the pod is gone")?;
    let test = Test { content: &content, subject: &subject, decided: &decided, from: &from, files: &files };
    let text = test.text(&own)?;
    if !from.policies.is_empty() {
        // Those of the case are the ones that were named.
        content.saved.policies.clear();
    }
    let mut cluster = Vec::new();
    content.saved.write(&content.objects, &mut cluster)?;
    files.write(&text, &cluster)?;
    check(args, &files, out)
}

/// The folder that is named, or this one.
fn folder(args: &Args) -> anyhow::Result<PathBuf> {
    match args.paths.as_slice() {
        [] => Ok(PathBuf::new()),
        // `./x.test.yaml` is printed as `x.test.yaml`.
        [one] if *one == Path::new(".") => Ok(PathBuf::new()),
        [one] if one.is_dir() => Ok(one.clone()),
        [one] => anyhow::bail!("{} is not a folder: `--from` writes the case into a folder", one.display()),
        _ => anyhow::bail!("`--from` writes one case: name one folder"),
    }
}

/// The files of a case.
struct Files {
    test: PathBuf,
    cluster: PathBuf,
}

impl Files {
    /// Files of the folder that do not exist yet.
    fn new(folder: &Path, pod: &str) -> Self {
        let of = |number: usize| {
            let name = if number == 1 { format!("from-{pod}") } else { format!("from-{pod}-{number}") };
            let file = |ending: &str| folder.join(format!("{name}{ending}"));
            Self { test: file(".test.yaml"), cluster: file(".json") }
        };
        let free = |files: &Self| !files.test.exists() && !files.cluster.exists();
        (1..).map(of).find(free).unwrap_or_else(|| of(1))
    }

    /// Writes both, or neither.
    fn write(&self, test: &str, cluster: &[u8]) -> anyhow::Result<()> {
        let write = |path: &Path, bytes: &[u8]| {
            std::fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
        };
        let written = write(&self.cluster, cluster).and_then(|()| write(&self.test, test.as_bytes()));
        if written.is_err() {
            self.remove();
        }
        written
    }

    fn remove(&self) {
        let _ = std::fs::remove_file(&self.cluster);
        let _ = std::fs::remove_file(&self.test);
    }
}

/// Takes the pod out of the objects.
fn own_pod(objects: &mut Vec<Value>, subject: &Subject) -> Option<Value> {
    let named = |object: &Value| {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str);
        let namespace = text("/metadata/namespace").unwrap_or("default");
        text("/kind") == Some("Pod")
            && text("/metadata/name").is_some_and(|name| format!("{namespace}/{name}") == subject.pod)
    };
    let at = objects.iter().position(named)?;
    Some(objects.remove(at))
}

/// What a case is written of.
struct Test<'a> {
    content: &'a collect::Content,
    subject: &'a Subject,
    decided: &'a Decided,
    from: &'a setup::From,
    files: &'a Files,
}

impl Test<'_> {
    fn text(&self, pod: &Value) -> anyhow::Result<String> {
        let cluster = self.files.cluster.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut file = Map::new();
        if !self.from.policies.is_empty() {
            let policies =
                self.from.policies.iter().map(|path| self.beside(path)).collect::<anyhow::Result<_>>()?;
            file.insert("policies".to_owned(), Value::Array(policies));
        }
        file.insert("cluster".to_owned(), json!(cluster));
        file.insert("now".to_owned(), json!(self.content.saved.taken));
        let case = json!({"name": self.name(), "pod": pod, "expect": self.expected()});
        file.insert("cases".to_owned(), json!([case]));
        let head =
            "# Written by `bayplan test --from`: the fewest objects that give this verdict, without names.\n";
        Ok(format!("{head}{}", yaml(&Value::Object(file))?))
    }

    /// The path of a file, from the folder of the case.
    fn beside(&self, path: &Path) -> anyhow::Result<Value> {
        let absolute = |path: &Path| {
            std::path::absolute(path)
                .and_then(std::fs::canonicalize)
                .with_context(|| format!("cannot find {}", path.display()))
        };
        let folder =
            absolute(self.files.test.parent().filter(|of| *of != Path::new("")).unwrap_or(Path::new(".")))?;
        let path = absolute(path)?;
        let shared = folder.components().zip(path.components()).take_while(|(one, two)| one == two).count();
        let up = folder.components().skip(shared).map(|_| std::path::Component::ParentDir);
        let relative: PathBuf = up.chain(path.components().skip(shared)).collect();
        Ok(json!(relative.display().to_string()))
    }

    fn name(&self) -> String {
        let pod = self.subject.pod.rsplit('/').next().unwrap_or_default();
        match &self.decided.verdict.outcome {
            Outcome::Placed { .. } => format!("{pod} is placed"),
            Outcome::Waits => format!("{pod} waits"),
            Outcome::Gated(by) => format!("{pod} is kept out of the queue by {by}"),
            Outcome::AtPermit(_) => format!("{pod} waits at permit"),
            Outcome::Fails(_) => format!("{pod} fails"),
        }
    }

    fn expected(&self) -> Value {
        let Decided { verdict, refused, best, .. } = self.decided;
        let mut expect = Map::new();
        match &verdict.outcome {
            Outcome::Placed { equal: true, .. } => drop(expect.insert("one of".to_owned(), json!(best))),
            Outcome::Placed { node, .. } => drop(expect.insert("node".to_owned(), json!(node))),
            Outcome::Waits | Outcome::Fails(_) => {
                drop(expect.insert("unschedulable".to_owned(), json!(true)))
            }
            Outcome::Gated(by) => drop(expect.insert("gated".to_owned(), json!(by))),
            Outcome::AtPermit(plugins) => {
                let by = plugins.first().map_or(json!(true), |plugin| json!(plugin));
                expect.insert("waits".to_owned(), by);
            }
        }
        if matches!(verdict.outcome, Outcome::Waits) && !refused.is_empty() {
            let refused: Map<String, Value> =
                refused.iter().map(|(node, rule)| (node.clone(), json!(rule))).collect();
            expect.insert("refused".to_owned(), Value::Object(refused));
        }
        if !verdict.evicted.is_empty() {
            let names: Vec<&str> =
                verdict.evicted.iter().map(|name| name.rsplit('/').next().unwrap_or(name)).collect();
            expect.insert("evicts".to_owned(), json!(names));
        }
        Value::Object(expect)
    }
}

/// Runs the case; one that does not pass is taken away again.
fn check(args: &Args, files: &Files, out: &mut Output) -> anyhow::Result<ExitStatus> {
    let mut conditions = super::Conditions::default();
    let outcome = run::file(args, &args.kinds, &files.test, None, &mut conditions, out)?;
    let passed = outcome.errors.is_empty() && outcome.cases.iter().all(super::Outcome::passed);
    if !passed {
        let got: Vec<String> = outcome
            .cases
            .iter()
            .flat_map(|case| &case.ended.mismatches)
            .map(|wrong| wrong.got.clone())
            .collect();
        files.remove();
        anyhow::bail!("the case does not give the verdict, so it was not kept: {}", got.join("; "));
    }
    if !out.quiet {
        let (test, cluster, program) = (files.test.display(), files.cluster.display(), out.program);
        writeln!(out.stderr(), "wrote {test} and {cluster}; the case passes")?;
        writeln!(out.stderr(), "Next: {program} test {}", setup::quoted(&test.to_string()))?;
    }
    Ok(ExitStatus::Success)
}
