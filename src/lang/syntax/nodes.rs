//! The grammar's rules with their places, in the order of the text.
//!
//! Built from pest's pairs, read by `build` and `expr`.

use super::grammar::Rule;
use pest::Token;
use pest::iterators::Pairs;

/// The rules of a text; a rule precedes its parts.
#[derive(Debug, PartialEq)]
pub(super) struct Nodes<'t> {
    pub(super) text: &'t str,
    pub(super) entries: Vec<NodeEntry>,
}

/// A rule and the bytes that it took.
#[derive(Debug, PartialEq)]
pub(super) struct NodeEntry {
    pub(super) rule: Rule,
    pub(super) start: u32,
    pub(super) end: u32,
    /// The entry after its last part.
    pub(super) next: u32,
}

impl<'t> Nodes<'t> {
    /// What pest found in a text.
    pub(super) fn of(text: &'t str, pairs: Pairs<'_, Rule>) -> Self {
        let mut entries: Vec<NodeEntry> = Vec::new();
        let mut open = Vec::new();
        for token in pairs.tokens() {
            match token {
                Token::Start { rule, pos } => {
                    open.push(entries.len());
                    let start = pos.pos() as u32;
                    entries.push(NodeEntry { rule, start, end: start, next: 0 });
                }
                Token::End { pos, .. } => {
                    let next = entries.len() as u32;
                    if let Some(entry) = open.pop().and_then(|at| entries.get_mut(at)) {
                        entry.end = pos.pos() as u32;
                        entry.next = next;
                    }
                }
            }
        }
        Self { text, entries }
    }

    /// The outermost rule.
    pub(super) fn root(&self) -> Option<Node<'_>> {
        self.entries.first().map(|entry| Node { nodes: self, entry, at: 0 })
    }
}

/// A rule in its text.
#[derive(Clone, Copy)]
pub(super) struct Node<'n> {
    nodes: &'n Nodes<'n>,
    entry: &'n NodeEntry,
    at: u32,
}

impl<'n> Node<'n> {
    pub(super) fn rule(&self) -> Rule {
        self.entry.rule
    }

    pub(super) fn start(&self) -> usize {
        self.entry.start as usize
    }

    pub(super) fn end(&self) -> usize {
        self.entry.end as usize
    }

    pub(super) fn text(&self) -> &'n str {
        self.nodes.text.get(self.start()..self.end()).unwrap_or_default()
    }

    /// The rules directly inside.
    pub(super) fn parts(&self) -> NodeParts<'n> {
        NodeParts { nodes: self.nodes, at: self.at + 1, end: self.entry.next }
    }
}

/// The parts of a rule in the order of the text.
#[derive(Clone)]
pub(super) struct NodeParts<'n> {
    nodes: &'n Nodes<'n>,
    at: u32,
    end: u32,
}

impl<'n> Iterator for NodeParts<'n> {
    type Item = Node<'n>;

    fn next(&mut self) -> Option<Node<'n>> {
        if self.at >= self.end {
            return None;
        }
        let entry = self.nodes.entries.get(self.at as usize)?;
        let node = Node { nodes: self.nodes, entry, at: self.at };
        self.at = entry.next;
        Some(node)
    }
}
