//! The bays alone as SVG, for a document or a comment: nodes in bays by zone, pods as tiles, what waits below.
//!
//! The page draws the same on a canvas (`ui/src/bays`).

use crate::BayPlan;
use crate::file::escaped;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The label by which nodes are grouped.
const ZONE: &str = "topology.kubernetes.io/zone";

/// The width of a node, the height of its tiles and of its name, in units of the picture.
const NODE: (usize, usize, usize) = (148, 26, 16);

/// The space between nodes.
const GAP: usize = 10;

/// The smallest width of a tile.
const TILE: i128 = 3;

/// How many nodes are in a row.
const COLUMNS: usize = 6;

/// How many pods on the quay are drawn.
const QUAY: usize = 40;

/// The longest name, in characters.
const NAME: usize = 20;

/// How many colours there are; further applications have hatching, too.
const COLOURS: usize = 6;

/// Colours that people who see no red or no green tell apart, and the hatching over them.
const HEAD: &str = r##"<style>
text{font:12px ui-sans-serif,system-ui,sans-serif;fill:#1c2733}
.page{fill:#fff}.node{fill:#f3f5f7;stroke:#aab4bf}.quiet{fill:#5b6876}.bay{font-weight:600}.tile{stroke:#fff;stroke-width:1}
.c0{fill:#3f7cac}.c1{fill:#d98c21}.c2{fill:#3d9970}.c3{fill:#b5658f}.c4{fill:#7a6bb3}.c5{fill:#93a02f}
.waits{fill:#f3f5f7;stroke:#a86400;stroke-dasharray:4 2}
@media(prefers-color-scheme:dark){text{fill:#e4e9ee}.page{fill:#12181f}.node{fill:#1d2630;stroke:#4a5764}.quiet{fill:#9aa7b4}
.tile{stroke:#12181f}.waits{fill:#1d2630;stroke:#e0a030}}
</style><defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<path d="M0 0V6" stroke="#fff" stroke-width="2" stroke-opacity=".6"/></pattern></defs>
"##;

/// The picture.
pub fn svg(plan: &BayPlan) -> String {
    let drawing = Drawing::of(plan);
    let mut body = String::new();
    let mut y = 14;
    for (bay, nodes) in drawing.bays() {
        if !bay.is_empty() {
            text(&mut body, (0, y + 4), "bay", &bay);
            y += 16;
        }
        for (at, node) in nodes.iter().enumerate() {
            let place = ((at % COLUMNS) * (NODE.0 + GAP), y + at / COLUMNS * (NODE.1 + NODE.2 + GAP));
            drawing.node(&mut body, place, *node);
        }
        y += nodes.len().div_ceil(COLUMNS) * (NODE.1 + NODE.2 + GAP) + GAP;
    }
    y = drawing.quay(&mut body, y);
    let across = plan.nodes.name.len().clamp(1, COLUMNS).max(3) * (NODE.0 + GAP) - GAP;
    let (width, height) = (across + 24, y + 12);
    let words = format!("{} nodes, {} pods", plan.nodes.name.len(), plan.pods.name.len());
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"-12 -4 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"img\"><title>{words}</title>\n{HEAD}<rect class=\"page\" x=\"-12\" y=\"-4\" \
         width=\"{width}\" height=\"{height}\"/>\n{body}</svg>\n"
    )
}

/// A document with what is looked up in it.
struct Drawing<'a> {
    plan: &'a BayPlan,
    /// The pods of each node.
    pods: Vec<Vec<usize>>,
    /// Colours of applications, the one with the most pods first.
    colours: BTreeMap<i64, usize>,
}

impl<'a> Drawing<'a> {
    fn of(plan: &'a BayPlan) -> Self {
        let mut pods = vec![Vec::new(); plan.nodes.name.len()];
        let mut counts: BTreeMap<i64, usize> = BTreeMap::new();
        for (pod, node) in plan.pods.node.iter().enumerate() {
            if let Some(on) = usize::try_from(*node).ok().and_then(|node| pods.get_mut(node)) {
                on.push(pod);
            }
            *counts.entry(of(&plan.pods.application, pod)).or_default() += 1;
        }
        let mut order: Vec<(i64, usize)> = counts.into_iter().collect();
        order.sort_by_key(|(application, pods)| (std::cmp::Reverse(*pods), *application));
        let colours = order.into_iter().enumerate().map(|(at, (application, _))| (application, at)).collect();
        Self { plan, pods, colours }
    }

    fn string(&self, at: i64) -> &'a str {
        usize::try_from(at).ok().and_then(|at| self.plan.strings.get(at)).map_or("", String::as_str)
    }

    /// Rows of nodes by zone, where there are several.
    fn bays(&self) -> BTreeMap<String, Vec<usize>> {
        let zones = self.plan.nodes.labels.iter().find(|label| label.key == ZONE);
        let mut bays: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for node in 0..self.plan.nodes.name.len() {
            let zone = zones.map_or("", |zones| self.string(of(&zones.value, node)));
            bays.entry(zone.to_owned()).or_default().push(node);
        }
        if bays.len() == 1 {
            return bays.into_values().map(|nodes| (String::new(), nodes)).collect();
        }
        bays
    }

    fn node(&self, body: &mut String, (x, y): (usize, usize), node: usize) {
        let (width, height, head) = NODE;
        let plan = self.plan;
        let name = plan.nodes.name.get(node).map_or("", String::as_str);
        text(body, (x, y + 12), "", &short(name));
        let trouble = self.string(of(&plan.nodes.trouble, node));
        if !trouble.is_empty() {
            let _ = write!(
                body,
                "<text class=\"quiet\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
                x + width,
                y + 12,
                escaped(trouble)
            );
        }
        let _ = write!(
            body,
            "<rect class=\"node\" x=\"{x}\" y=\"{}\" width=\"{width}\" height=\"{height}\" rx=\"2\"/>",
            y + head
        );
        let scarcest = usize::try_from(of(&plan.nodes.scarcest, node)).ok();
        let all = scarcest.and_then(|at| plan.nodes.allocatable.get(at)).map_or(0, |all| of(all, node));
        let mut taken: i128 = 0;
        for pod in self.pods.get(node).into_iter().flatten() {
            let request = scarcest.map_or(0, |at| self.request(*pod, at));
            let across = |amount: i128| amount * width as i128 / i128::from(all.max(1));
            let from = across(taken).min(width as i128);
            taken += i128::from(request);
            let to = across(taken).min(width as i128);
            // A pod with a small share, or none, can still be seen.
            let from = from.min(width as i128 - TILE);
            let place = (x as i128 + from, y + head);
            self.tile(body, place, ((to - from).max(TILE), height), *pod);
        }
    }

    fn request(&self, pod: usize, resource: usize) -> i64 {
        let shape = usize::try_from(of(&self.plan.pods.requests, pod)).ok();
        shape.and_then(|shape| self.plan.requests.get(shape)).map_or(0, |amounts| of(amounts, resource))
    }

    fn tile(&self, body: &mut String, (x, y): (i128, usize), (width, height): (i128, usize), pod: usize) {
        let colour = self.colours.get(&of(&self.plan.pods.application, pod)).copied().unwrap_or(0);
        let name = self.full_name(pod);
        let at = format!("x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"");
        let class = colour % COLOURS;
        let _ = write!(body, "<g><title>{}</title><rect class=\"tile c{class}\" {at}/>", escaped(&name));
        if colour >= COLOURS {
            let _ = write!(body, "<rect fill=\"url(#hatch)\" {at}/>");
        }
        body.push_str("</g>\n");
    }

    fn full_name(&self, pod: usize) -> String {
        let namespace = self.string(of(&self.plan.pods.namespace, pod));
        format!("{namespace}/{}", self.plan.pods.name.get(pod).map_or("", String::as_str))
    }

    /// Pods that have no node and are ours to place. Returns where the picture ends.
    fn quay(&self, body: &mut String, mut y: usize) -> usize {
        let waits = |pod: &usize| {
            let state = self.string(of(&self.plan.pods.state, *pod));
            matches!(state, "waits" | "failed" | "gated" | "atPermit")
        };
        let pods: Vec<usize> = (0..self.plan.pods.name.len()).filter(waits).collect();
        if pods.is_empty() {
            return y;
        }
        let head =
            if pods.len() == 1 { "1 pod waits".to_owned() } else { format!("{} pods wait", pods.len()) };
        text(body, (0, y + 4), "bay", &head);
        y += 14;
        for (at, pod) in pods.iter().take(QUAY).enumerate() {
            let (x, y) = ((at % COLUMNS) * (NODE.0 + GAP), y + at / COLUMNS * (NODE.1 + GAP));
            let _ = write!(
                body,
                "<rect class=\"waits\" x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" rx=\"2\"/>",
                NODE.0, NODE.1
            );
            text(body, (x + 6, y + 17), "", &short(self.plan.pods.name.get(*pod).map_or("", String::as_str)));
        }
        y += pods.len().min(QUAY).div_ceil(COLUMNS) * (NODE.1 + GAP);
        if let Some(rest) = pods.len().checked_sub(QUAY).filter(|rest| *rest > 0) {
            text(body, (0, y + 8), "quiet", &format!("and {rest} more"));
            y += 16;
        }
        y
    }
}

/// A number of a column; -1 where there is none.
fn of(column: &[i64], row: usize) -> i64 {
    column.get(row).copied().unwrap_or(-1)
}

fn text(body: &mut String, (x, y): (usize, usize), class: &str, words: &str) {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    let _ = writeln!(body, "<text{class} x=\"{x}\" y=\"{y}\">{}</text>", escaped(words));
}

/// A long name without its middle.
fn short(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= NAME {
        return name.to_owned();
    }
    let (start, end) =
        (letters.iter().take(NAME / 2), letters.iter().skip(letters.len() - (NAME - NAME / 2 - 1)));
    start.chain(&['…']).chain(end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_text() {
        let mut plan = BayPlan::default();
        plan.nodes.name.push("</text><script>alert(1)</script>".to_owned());
        let picture = svg(&plan);
        assert!(!picture.contains("<script"), "{picture}");
    }

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(short("gpu-1"), "gpu-1");
        assert_eq!(short("ip-10-0-131-77.eu-central-1.compute.internal"), "ip-10-0-13….internal");
    }
}
