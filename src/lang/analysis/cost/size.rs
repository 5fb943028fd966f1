//! [`Size`]: the size of the cluster, and of its objects, that policies are compiled for.

use crate::language::fields::{CountedPart, PARTS};
use std::fmt;
use std::str::FromStr;

/// The size of the cluster that policies are compiled for. The bound in steps holds for clusters and objects up to it;
/// larger ones are decided in the same way, and may take longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// How many nodes.
    pub nodes: u32,
    /// How many pods, pending and placed.
    pub pods: u32,
    /// How many parts an object has, in the order of [`PARTS`].
    parts: [u32; PARTS.len()],
}

impl Size {
    /// A cluster of so many nodes and pods, whose objects have as many parts as [`PARTS`] says.
    pub const fn of(nodes: u32, pods: u32) -> Self {
        let mut parts = [0; PARTS.len()];
        let mut at = 0;
        while at < parts.len() {
            parts[at] = PARTS[at].number;
            at += 1;
        }
        Self { nodes, pods, parts }
    }

    /// How many of these parts an object has.
    pub fn of_object(&self, part: CountedPart) -> u32 {
        let at = PARTS.iter().position(|row| row.part == part);
        at.and_then(|at| self.parts.get(at)).copied().unwrap_or_default()
    }

    /// This size with another number of one part.
    pub fn with(mut self, part: CountedPart, number: u32) -> Self {
        let at = PARTS.iter().position(|row| row.part == part);
        if let Some(known) = at.and_then(|at| self.parts.get_mut(at)) {
            *known = number;
        }
        self
    }

    /// The names and numbers of the parts of objects.
    pub fn parts(&self) -> impl Iterator<Item = (&'static str, u32)> {
        PARTS.iter().map(|row| row.name).zip(self.parts)
    }
}

impl Default for Size {
    fn default() -> Self {
        Self::of(5_000, 100_000)
    }
}

/// As `--size` takes it: nodes, pods, and the parts that differ from the default.
impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nodes={},pods={}", self.nodes, self.pods)?;
        let mut changed =
            self.parts().zip(&PARTS).filter(|((_, number), row)| *number != row.number).map(|(part, _)| part);
        changed.try_for_each(|(name, number)| write!(f, ",{name}={number}"))
    }
}

impl FromStr for Size {
    type Err = String;

    /// `nodes=5000,pods=100000,labels=30`, in any order; what is left out is as by default.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut size = Size::default();
        for part in text.split(',') {
            let (name, number) = part.split_once('=').ok_or("expected `nodes=NUMBER,pods=NUMBER`")?;
            let number: u32 = number
                .parse()
                .ok()
                .filter(|number| *number > 0)
                .ok_or_else(|| format!("`{number}` is not a number of {name} from 1 to 4294967295"))?;
            let of_object = PARTS.iter().zip(&mut size.parts).find(|(row, _)| row.name == name);
            match (name, of_object) {
                ("nodes", _) => size.nodes = number,
                ("pods", _) => size.pods = number,
                (_, Some((_, known))) => *known = number,
                (other, None) => {
                    let parts: Vec<String> = PARTS.iter().map(|row| format!("`{}`", row.name)).collect();
                    return Err(format!("`{other}` is none of `nodes`, `pods`, {}", parts.join(", ")));
                }
            }
        }
        Ok(size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        assert_eq!("nodes=10".parse(), Ok(Size::of(10, 100_000)));
        assert_eq!("pods=7,nodes=3".parse(), Ok(Size::of(3, 7)));
        for wrong in ["", "10", "nodes=0", "nodes=x", "racks=3"] {
            assert!(wrong.parse::<Size>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn parts_of_objects_are_read_and_written() {
        let size: Result<Size, _> = "labels=30,terms=9".parse();
        assert_eq!(size.as_ref().map(|size| size.of_object(CountedPart::Labels)), Ok(30));
        assert_eq!(size.as_ref().map(|size| size.of_object(CountedPart::Terms)), Ok(9));
        assert_eq!(
            size.as_ref().map(Size::to_string),
            Ok("nodes=5000,pods=100000,labels=30,terms=9".to_owned())
        );
        assert_eq!(size.clone().and_then(|size| size.to_string().parse()), size);
    }
}
