//! Fields: all of them as one page, and one path (`node.free.cpu`) in the manner of `kubectl explain`.

use super::page::{Page, sentence};
use super::topics::Found;
use bayplan_diag::suggest::nearest;
use bayplan_lang::language::fields::{Eviction, FieldDef, ObjectType, PARTS, api, field, fields_of};
use bayplan_lang::language::functions::ty_text;
use bayplan_lang::types::{ApiType, Ty, Type};

/// Objects in the order of the page, with the words that name them.
const OBJECTS: [(ObjectType, &str); 16] = [
    (ObjectType::Pod, "A pod: `pod`, the elements of `pods`, `node.pods` and groups."),
    (ObjectType::Node, "A node: `node`, the elements of `nodes`, `pod.node`."),
    (ObjectType::Namespace, "The Namespace of the pod: `ns`."),
    (
        ObjectType::LookedUp,
        "An object that a policy looks up: `lookup(…)`, the elements of `objects(…)`, `x.owner(…)`. Its other fields are \
         those of its kind: `spec`, `status` and so on.",
    ),
    (ObjectType::Container, "A container: the elements of `pod.containers`."),
    (ObjectType::Taint, "A taint: the elements of `node.taints`."),
    (ObjectType::Toleration, "A toleration: the elements of `pod.tolerations`."),
    (ObjectType::Owner, "The controller of a pod: `pod.owner`."),
    (ObjectType::Gpu, "A GPU of a node: the elements of `node.gpus`."),
    (ObjectType::GpuRequest, "What a pod requests of GPUs: `pod.gpu`."),
    (ObjectType::Device, "A device that a node reaches: the elements of `node.devices`."),
    (ObjectType::Claim, "A claim of devices of a pod: the elements of `pod.claims`."),
    (ObjectType::ClaimRequest, "A request of a claim: the elements of `requests` of a claim."),
    (ObjectType::Load, "What a node used over the window of a source: `NAME[node.name]`."),
    (ObjectType::CpuUsage, "What a node used of its CPU: `NAME[node.name].cpu`."),
    (ObjectType::MemoryUsage, "What a node used of its memory: `NAME[node.name].memory`."),
];

/// Every field with a short name, and where the others are.
pub(super) fn page() -> Page {
    let mut page = Page::new("Fields");
    page.text(
        "What a policy may read, by short names. A type with a question mark may be absent \
         (section 4 of the guide). The third column names the change of the cluster that moves the \
         field: pods that a rule refused are re-evaluated when it happens.",
    );
    for (object, what) in OBJECTS {
        page.section_at(format!("`{}`", object.name()), object.name().replace(' ', "-")).text(what);
        page.table(&["field", "type", "changes with", "meaning"], fields_of(object).map(row));
        if let Some(roots) = roots(object) {
            page.text(format!("Everything else of the Kubernetes API is below {roots}."));
        }
    }
    page.section("Sizes of objects").text(
        "The bound in steps (`BP0121`) holds for clusters of 5,000 nodes and 100,000 pods, and for objects with at most \
         these parts. `--size nodes=500,labels=60` declares other numbers. An object with more parts is decided in \
         the same way; only the time that it takes is not bounded.",
    );
    let sizes =
        PARTS.iter().map(|row| vec![format!("`{}`", row.name), row.number.to_string(), row.doc.to_owned()]);
    page.table(&["name", "at most", "what is counted"], sizes);
    page
}

fn row(field: &FieldDef) -> Vec<String> {
    vec![
        format!("`{}`", field.name),
        format!("`{}`", ty_text(&field.ty)),
        field.changes_with().to_owned(),
        field.doc.to_owned(),
    ]
}

/// `spec`, `status` and `metadata` of an object, where it has them.
fn roots(object: ObjectType) -> Option<String> {
    let roots: Vec<String> = api::roots(object).map(|root| format!("`{}.{root}`", object.name())).collect();
    let (last, first) = roots.split_last()?;
    Some(format!("{} and {last}", first.join(", ")))
}

/// What a path ends in.
enum Target {
    Object(ObjectType),
    Field(&'static FieldDef),
    Api { of: ApiType, ty: Type },
    Value(Type),
}

/// The page of one path, such as `node.free.cpu` or `pod.spec.containers`.
pub(super) fn look_up(path: &str) -> Found {
    let mut parts = path.split(['.', '[']).map(|part| part.trim_matches(['"', ']', '\'']));
    let first = parts.next().unwrap_or("");
    let names = || OBJECTS.iter().map(|(object, _)| object.name());
    let Some((object, _)) = OBJECTS.iter().find(|(object, _)| object.name() == first) else {
        return Found::Unknown { near: nearest(first, names()).map(str::to_owned) };
    };
    let mut target = Target::Object(*object);
    let mut walked = first.to_owned();
    for part in parts {
        let next = match step(&target, part) {
            Ok(next) => next,
            Err(near) => return Found::Unknown { near: near.map(|name| format!("{walked}.{name}")) },
        };
        walked = format!("{walked}.{part}");
        target = next;
    }
    Found::Page(describe(path, &target))
}

/// The field `name` of what a path has reached so far; else the nearest name.
fn step(target: &Target, name: &str) -> Result<Target, Option<String>> {
    let near = |names: Vec<String>| Err(nearest(name, names.iter().map(String::as_str)).map(str::to_owned));
    match target {
        Target::Object(object) => of_object(*object, name),
        Target::Field(field) => match inner(&field.ty) {
            Ty::Object(object) => of_object(*object, name),
            Ty::Resources => Ok(Target::Value(unit_of(name))),
            Ty::Map(_, Ty::String) => Ok(Target::Value(Type::String.optional())),
            _ => Err(None),
        },
        Target::Api { of, .. } => match api::field(*of, name) {
            Some((ty, _)) => Ok(of_type(ty)),
            None => near(api::fields(*of).iter().map(|field| field.name.to_owned()).collect()),
        },
        Target::Value(_) => Err(None),
    }
}

/// The unit of a resource, by its name.
fn unit_of(resource: &str) -> Type {
    match resource {
        "cpu" => Type::Cpu,
        "memory" | "ephemeral-storage" => Type::Bytes,
        name if name.starts_with("hugepages-") => Type::Bytes,
        _ => Type::Count,
    }
}

fn of_object(object: ObjectType, name: &str) -> Result<Target, Option<String>> {
    if let Some(id) = field(object, name) {
        return Ok(Target::Field(id.def()));
    }
    if let Some((ty, _)) = api::root(object, name) {
        return Ok(of_type(ty));
    }
    let names = fields_of(object).map(|field| field.name).chain(api::roots(object));
    Err(nearest(name, names).map(str::to_owned))
}

fn of_type(ty: Type) -> Target {
    let mut bare = &ty;
    loop {
        bare = match bare {
            Type::Optional(of) | Type::List(of) => of,
            Type::Api(of) => return Target::Api { of: *of, ty: ty.clone() },
            _ => return Target::Value(ty),
        };
    }
}

/// What a list holds and what may be absent, without the list and the question mark.
fn inner(ty: &'static Ty) -> &'static Ty {
    match ty {
        Ty::Optional(of) | Ty::List(of) => inner(of),
        other => other,
    }
}

fn describe(path: &str, target: &Target) -> Page {
    match target {
        Target::Object(object) => {
            let mut page = Page::new(object.name());
            if let Some((_, what)) = OBJECTS.iter().find(|(of, _)| of == object) {
                page.text(*what);
            }
            page.table(&["field", "type", "meaning"], fields_of(*object).map(short));
            if let Some(roots) = roots(*object) {
                page.text(format!("Everything else of the Kubernetes API is below {roots}."));
            }
            page
        }
        Target::Field(field) => of_field(path, field),
        Target::Api { of, ty } => {
            let mut page = Page::new(format!("{path}: {ty}"));
            page.text("A structure of the Kubernetes API, with the API's own field names.");
            page.table(
                &["field", "type"],
                api::fields(*of)
                    .iter()
                    .map(|field| vec![format!("`{}`", field.name), format!("`{}`", field.ty)]),
            );
            page
        }
        Target::Value(ty) => {
            let mut page = Page::new(format!("{path}: {ty}"));
            if ty.is_optional() {
                page.text("It may be absent: test it with `has(…)`, or give a default with `??`.");
            } else {
                page.text("It always has a value; an amount that is not named is 0.");
            }
            page
        }
    }
}

fn short(field: &FieldDef) -> Vec<String> {
    vec![format!("`{}`", field.name), format!("`{}`", ty_text(&field.ty)), field.doc.to_owned()]
}

fn of_field(path: &str, field: &'static FieldDef) -> Page {
    let mut page = Page::new(format!("{path}: {}", ty_text(&field.ty)));
    page.text(sentence(field.doc));
    let absent = matches!(field.ty, Ty::Optional(_));
    let mut rows = vec![
        ("in the API", field.source.to_owned()),
        ("may be absent", if absent { "yes" } else { "no" }.to_owned()),
        ("changes with", field.changes_with().to_owned()),
        ("evicting pods", eviction(field.eviction).to_owned()),
    ];
    if let Some((low, high)) = field.range {
        let high = if high == i64::MAX { "64 bits".to_owned() } else { high.to_string() };
        rows.insert(2, ("range", format!("{low} to {high}")));
    }
    if let Some(unit) = field.unit() {
        rows.insert(2, ("unit", unit.to_owned()));
    }
    page.table(&["", ""], rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]));
    match inner(&field.ty) {
        Ty::Object(object) => {
            page.section(format!("Fields of `{}`", object.name()));
            page.table(&["field", "type", "meaning"], fields_of(*object).map(short));
        }
        Ty::Resources => {
            page.text(format!(
                "`{path}.cpu`, `{path}.memory` and `{path}[\"nvidia.com/gpu\"]` are amounts with a \
                 unit; a resource that is not named is 0, and `has({path}[\"…\"])` asks whether it is."
            ));
        }
        Ty::Map(_, Ty::String) => {
            page.text(format!("`{path}[\"key\"]` is `string?`: it may be absent."));
        }
        _ => {}
    }
    page
}

fn eviction(change: Eviction) -> &'static str {
    match change {
        Eviction::None => "does not change it",
        Eviction::Raises => "raises it",
        Eviction::Lowers => "lowers it",
        Eviction::Changes => "may change it",
    }
}

#[cfg(test)]
#[allow(clippy::panic)]
mod tests {
    use super::*;

    fn page_of(path: &str) -> Page {
        match look_up(path) {
            Found::Page(page) => page,
            other => panic!("{path}: {other:?}"),
        }
    }

    #[test]
    fn paths_lead_through_objects_lists_maps_and_the_api() {
        assert_eq!(page_of("node.free").title, "node.free: resources");
        assert_eq!(page_of("node.free.cpu").title, "node.free.cpu: cpu");
        assert_eq!(page_of("node.labels[\"rack\"]").title, "node.labels[\"rack\"]: string?");
        assert_eq!(page_of("node.pods.containers.image").title, "node.pods.containers.image: string");
        assert_eq!(page_of("pod.spec.hostNetwork").title, "pod.spec.hostNetwork: bool?");
        assert!(page_of("pod.spec.tolerations").plain(80).contains("tolerationSeconds"));
    }

    #[test]
    fn unknown_names_get_the_nearest_one() {
        let near = |path: &str| match look_up(path) {
            Found::Unknown { near } => near,
            other => panic!("{other:?}"),
        };
        assert_eq!(near("nod.free").as_deref(), Some("node"));
        assert_eq!(near("node.fre").as_deref(), Some("node.free"));
        assert_eq!(near("pod.spec.hostNetwrk").as_deref(), Some("pod.spec.hostNetwork"));
        assert_eq!(near("node.name.first"), None);
    }
}
