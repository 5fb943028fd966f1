//! Values as text for people: with units, and as reasons hold them.

use super::cel::{Cel, CelType, PreRelease, Semver};
use super::value::{Value, named_resources};
use super::{ObjectType, Type};
use bayplan_model::{ApiObject, Effect, Symbol, Time};

/// The value as a reason shows it: texts without quotes, absent values as `none`.
pub(crate) fn plain_text(value: &Value<'_>, ty: &Type) -> String {
    match value {
        Value::Absent => String::from("none"),
        Value::String(text) => text.as_str().to_owned(),
        other => quantity(other, ty).unwrap_or_else(|| other.to_string()),
    }
}

/// An amount with the unit of its type, also in lists and maps; `None` for other values. A duration of CEL is shown as one
/// of the policy language.
pub fn quantity(value: &Value<'_>, ty: &Type) -> Option<String> {
    let shown = |value: &Value<'_>, ty| quantity(value, ty).unwrap_or_else(|| value.to_string());
    match (value, ty.present()) {
        (Value::Cel(Cel::Duration(nanoseconds)), _) if nanoseconds % 1_000 == 0 => {
            Some(show_duration(nanoseconds / 1_000))
        }
        (Value::List(items), Type::List(of) | Type::Set(of)) if is_amount(of) => {
            let items: Vec<String> = items.iter().map(|item| shown(item, of)).collect();
            Some(format!("[{}]", items.join(", ")))
        }
        (Value::Map(entries), Type::Map(_, of)) if is_amount(of) => {
            let entries: Vec<String> =
                entries.iter().map(|(key, value)| format!("{key}: {}", shown(value, of))).collect();
            Some(format!("{{{}}}", entries.join(", ")))
        }
        (Value::Int(number), Type::Cpu) => Some(show_cpu(*number)),
        (Value::Int(number), Type::Bytes) => Some(show_bytes(*number)),
        (Value::Int(number), Type::Duration) => Some(show_duration(*number)),
        (Value::Usage(of), Type::Object(resource @ (ObjectType::CpuUsage | ObjectType::MemoryUsage))) => {
            let show = if *resource == ObjectType::CpuUsage { show_cpu } else { show_bytes };
            let [latest, mean, std, max] = [of.latest, of.mean, of.std, of.max].map(show);
            Some(format!("latest {latest}, mean {mean}, std {std}, max {max}"))
        }
        (Value::Resources(resources), _) => {
            let shown: Vec<String> = named_resources(resources)
                .iter()
                .map(|(name, amount)| format!("{name}: {}", resource(name, *amount)))
                .collect();
            Some(format!("{{{}}}", shown.join(", ")))
        }
        _ => None,
    }
}

/// Whether values of a type are shown with units, or hold some that are.
fn is_amount(ty: &Type) -> bool {
    match ty.present() {
        Type::Cpu | Type::Bytes | Type::Duration | Type::Cel(CelType::Duration) => true,
        Type::List(of) | Type::Set(of) | Type::Map(_, of) => is_amount(of),
        _ => false,
    }
}

/// An amount of a resource with the unit of the resource.
pub fn resource(name: &Symbol, amount: i64) -> String {
    match name.as_str() {
        "cpu" => show_cpu(amount),
        "memory" | "ephemeral-storage" => show_bytes(amount),
        other if other.starts_with("hugepages-") => show_bytes(amount),
        _ => amount.to_string(),
    }
}

impl std::fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

/// As explanations show it: texts in quotes, absent values as `absent`.
impl std::fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Absent => f.write_str("absent"),
            Value::Null => f.write_str("null"),
            Value::Bool(truth) => write!(f, "{truth}"),
            Value::Int(number) => write!(f, "{number}"),
            Value::Uint(number) => write!(f, "{number}u"),
            Value::Float(number) => write!(f, "{number:?}"),
            Value::Time(time) => f.write_str(&time.to_rfc3339_exactly()),
            Value::String(text) => write!(f, "{:?}", text.as_str()),
            Value::Blob(bytes) => write!(f, "{} bytes", bytes.len()),
            Value::List(items) => show_list(f, items),
            Value::Record(fields) => {
                f.write_str("{")?;
                for (at, value) in fields.iter().enumerate() {
                    write!(f, "{}{value}", if at > 0 { ", " } else { "" })?;
                }
                f.write_str("}")
            }
            Value::Pod(pod) => write!(f, "pod {}/{}", pod.namespace, pod.name),
            Value::Node(node) => write!(f, "node #{}", node.row()),
            Value::Namespace(namespace) => write!(f, "namespace {}", namespace.name),
            Value::LookedUp(object) => {
                let (kind, of) = (object.kind_name().kind(), object.metadata());
                match of.namespace.is_empty() {
                    true => write!(f, "{kind} {}", of.name),
                    false => write!(f, "{kind} {}/{}", of.namespace, of.name),
                }
            }
            Value::Container(container) => write!(f, "container {}", container.name),
            Value::Taint(taint) => write!(f, "{}={}:{:?}", taint.key, taint.value, taint.effect),
            Value::Toleration(of) => {
                let effect = of.effect.map_or("", Effect::name);
                write!(f, "{} {} {:?}:{effect}", of.key, of.operator.name(), of.value.as_str())
            }
            Value::Owner(owner) => write!(f, "{} {}", owner.kind, owner.name),
            Value::Device(of) => {
                let (driver, pool, name) = of.id();
                write!(f, "device {driver}/{pool}/{name}")
            }
            Value::Load(of) => {
                let (cpu, memory) = (show_cpu(of.cpu.mean), show_bytes(of.memory.mean));
                write!(f, "cpu {cpu}, memory {memory}, {} samples", of.samples)
            }
            Value::Usage(of) => {
                write!(f, "latest {}, mean {}, std {}, max {}", of.latest, of.mean, of.std, of.max)
            }
            Value::Json(json) => write!(f, "{json}"),
            Value::Optional(Some(value)) => write!(f, "optional.of({value})"),
            Value::Optional(None) => f.write_str("optional.none()"),
            Value::TypeName(name) => write!(f, "{name}"),
            Value::Quantity(amount) => write!(f, "{amount}"),
            Value::Cel(of) => write!(f, "{of}"),
            Value::Map(_) | Value::Labels(_) | Value::Annotations(_) | Value::Resources(_) => {
                f.write_str("{")?;
                for (at, (key, value)) in self.entries().unwrap_or_default().iter().enumerate() {
                    write!(f, "{}{key}: {value}", if at > 0 { ", " } else { "" })?;
                }
                f.write_str("}")
            }
        }
    }
}

impl std::fmt::Display for Cel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Cel::Fault(fault) => write!(f, "error: {}", fault.message),
            Cel::Duration(nanoseconds) => {
                let (seconds, rest) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
                let sign = if *nanoseconds < 0 { "-" } else { "" };
                let fraction = format!("{:09}", rest.unsigned_abs());
                let fraction = fraction.trim_end_matches('0');
                let point = if fraction.is_empty() { "" } else { "." };
                write!(f, "{sign}{}{point}{fraction}s", seconds.unsigned_abs())
            }
            Cel::Instant(at) => {
                let whole = Time(at.seconds.saturating_mul(1_000_000)).to_rfc3339_exactly();
                let fraction = format!("{:09}", at.nanoseconds);
                let fraction = fraction.trim_end_matches('0');
                let point = if fraction.is_empty() { "" } else { "." };
                write!(f, "{}{point}{fraction}Z", whole.trim_end_matches('Z'))
            }
            Cel::Ip(address) => write!(f, "{address}"),
            Cel::Cidr(network) => write!(f, "{}/{}", network.address, network.prefix),
            Cel::Url(url) => f.write_str(&url.text),
            Cel::Semver(version) => version.fmt(f),
            Cel::Format(name) => f.write_str(name),
            Cel::Domains(domains) => {
                f.write_str("{")?;
                for (at, (name, of)) in domains.iter().enumerate() {
                    write!(f, "{}{name}: {of}", if at > 0 { ", " } else { "" })?;
                }
                f.write_str("}")
            }
        }
    }
}

impl std::fmt::Display for Semver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        for (at, identifier) in self.pre_release.iter().enumerate() {
            f.write_str(if at == 0 { "-" } else { "." })?;
            match identifier {
                PreRelease::Number(number) => write!(f, "{number}")?,
                PreRelease::Text(text) => f.write_str(text)?,
            }
        }
        for (at, identifier) in self.build.iter().enumerate() {
            write!(f, "{}{identifier}", if at == 0 { "+" } else { "." })?;
        }
        Ok(())
    }
}

fn show_list(f: &mut std::fmt::Formatter<'_>, items: &[Value<'_>]) -> std::fmt::Result {
    f.write_str("[")?;
    for (at, item) in items.iter().enumerate() {
        write!(f, "{}{item}", if at > 0 { ", " } else { "" })?;
    }
    f.write_str("]")
}

/// Millicores as a person writes them: `2cpu`, `500m`.
pub(crate) fn show_cpu(millicores: i64) -> String {
    if millicores % 1000 == 0 { format!("{}cpu", millicores / 1000) } else { format!("{millicores}m") }
}

/// Bytes as a person writes them: `4Gi`, `100B`.
pub(crate) fn show_bytes(bytes: i64) -> String {
    let suffixes = [("Ei", 60), ("Pi", 50), ("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10)];
    match suffixes.iter().find(|(_, bits)| bytes != 0 && bytes % (1 << bits) == 0) {
        Some((suffix, bits)) => format!("{}{suffix}", bytes / (1 << bits)),
        None => format!("{bytes}B"),
    }
}

/// Microseconds as a person writes them: `1h30min`, `500ms`.
pub(crate) fn show_duration(microseconds: i64) -> String {
    if microseconds == 0 {
        return String::from("0s");
    }
    let mut text = String::from(if microseconds < 0 { "-" } else { "" });
    let mut rest = microseconds.unsigned_abs();
    let lengths = [
        ("d", 86_400_000_000),
        ("h", 3_600_000_000),
        ("min", 60_000_000),
        ("s", 1_000_000),
        ("ms", 1_000),
        ("us", 1),
    ];
    for (suffix, length) in lengths {
        if rest >= length {
            text.push_str(&format!("{}{suffix}", rest / length));
            rest %= length;
        }
    }
    text
}
