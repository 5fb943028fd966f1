//! The limits of computed texts and lists: how large the result of a call is, and what is too
//! large.

use super::extent::Extent;
use super::steps::Steps;
use super::walk::Walk;
use super::{LEAST_KEPT, Large, MOST_KEPT_EACH, TooLarge, calls};
use crate::language::fields::ANNOTATION_SIZE;
use crate::language::functions::Grows;
use crate::language::limits::{MOST_BYTES, MOST_ELEMENTS};
use crate::typed::Expr;

impl Walk<'_> {
    /// How large the result of a call is; reported where it is too large.
    pub(super) fn grown(
        &mut self,
        expr: &Expr,
        grows: Grows,
        args: &[Expr],
        of: &[Extent],
        extent: Extent,
    ) -> Extent {
        let extent = match grows {
            Grows::Joins | Grows::Replaces | Grows::Escapes | Grows::Formats => {
                let number = |steps: &Steps| steps.at(self.size, &self.shares);
                let bytes = calls::bytes_made(grows, calls::replaced(self.policy, args), of, &number);
                Extent::made(u64::try_from(bytes).unwrap_or(u64::MAX))
            }
            // Parts of a text of the cluster are part of the cluster.
            Grows::Parts if of.first().is_some_and(|text| text.bytes() <= u64::from(ANNOTATION_SIZE)) => {
                return extent;
            }
            Grows::Takes(at) => {
                let most =
                    args.get(at).and_then(|arg| arg.range.ends()).map(|(_, most)| most.max(0.0) as u64);
                return most.map_or(extent.clone(), |most| self.cut(extent, most));
            }
            Grows::Never | Grows::Counts => return extent,
            Grows::Adds | Grows::Parts | Grows::Flattens => extent,
        };
        self.check_size(expr, &extent);
        extent
    }

    /// A text of so many letters, or a list of so many elements, at most.
    pub(super) fn cut(&self, extent: Extent, letters: u64) -> Extent {
        match extent {
            Extent::Text { most, share, made } => {
                let bytes = letters.saturating_mul(4);
                Extent::Text { most: most.min(bytes), share: share.min(bytes), made }
            }
            Extent::Many { count, of, key, nodes } => {
                let fewer = u128::from(letters) < count.at(self.size, &self.shares);
                let count = if fewer { Steps::new(u128::from(letters)) } else { count };
                Extent::Many { count, of, key, nodes }
            }
            Extent::Plain => Extent::Plain,
        }
    }

    /// Reports a computed text or list beyond its limit.
    pub(super) fn check_size(&mut self, expr: &Expr, extent: &Extent) {
        let (number, limit, what) = match extent {
            Extent::Text { most, .. } => (u128::from(*most), MOST_BYTES, Large::Text),
            Extent::Many { count, .. } => (count.at(self.size, &self.shares), MOST_ELEMENTS, Large::List),
            Extent::Plain => return,
        };
        self.limit(expr, number, limit, what);
    }

    /// Reports an expression that keeps more texts and places than the limit.
    pub(super) fn check_kept(&mut self, expr: &Expr, kept: &Steps) {
        let each = u128::from(self.size.nodes) + u128::from(self.size.pods);
        let limit = LEAST_KEPT.max(MOST_KEPT_EACH * each);
        self.limit(expr, kept.at(self.size, &self.shares), limit, Large::Kept);
    }

    pub(super) fn limit(&mut self, expr: &Expr, number: u128, limit: u128, what: Large) {
        if number > limit && !self.too_large.iter().any(|known| known.span == expr.span) {
            self.too_large.push(TooLarge { span: expr.span, number, limit, what });
        }
    }
}
