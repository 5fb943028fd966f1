//! [`Policy::for_each_expr`] and its mutable twin: they reach every expression of a policy, definitions included.

use super::{Body, Does, Expr, Missing, Policy, PrefilterStatement, ReasonPart, Target};

/// Calls `$f` for the expressions of a reason.
macro_rules! for_each_of_reason {
    ($reason:expr, $iter:ident, $f:ident) => {{
        for part in $reason.parts.$iter() {
            if let ReasonPart::Hole(hole) = part {
                $f(hole);
            }
        }
        $reason.details.$iter().for_each(|(_, value)| $f(value));
    }};
}

/// Calls `$f` for the expressions of a check.
macro_rules! for_each_of_check {
    ($check:expr, $iter:ident, $f:ident) => {{
        $check.condition.$iter().for_each(|condition| $f(condition));
        for_each_of_reason!($check.reason, $iter, $f);
    }};
}

/// Calls `$f` for the expressions of what an act does.
macro_rules! for_each_of_act {
    ($does:expr, $iter:ident, $f:ident $(, $mut:tt)?) => {
        match $does {
            Does::Release(_, reason) => for_each_of_reason!(reason, $iter, $f),
            Does::Activate(_) => {}
            Does::Remember(_, value) => $f(value),
            Does::Write(target, _, entries) => {
                if let Target::Object(object, _) = target {
                    $f(object);
                }
                entries.$iter().for_each(|entry| $f(&$($mut)? entry.value));
            }
            Does::Event(target, event) => {
                if let Target::Object(object, _) = target {
                    $f(object);
                }
                for_each_of_reason!(event.text, $iter, $f);
            }
        }
    };
}

/// Calls `$f` for every whole expression of `$policy`; `mut` and `iter_mut` for expressions to
/// change.
macro_rules! for_each_whole {
    ($policy:expr, $iter:ident, $f:ident $(, $mut:tt)?) => {{
        let policy = $policy;
        policy.unless.$iter().for_each(|condition| $f(condition));
        for of in policy.lets.$iter() {
            $f(&$($mut)? of.value);
            if let Some(Missing::Reject(reason)) = &$($mut)? of.missing {
                for_each_of_reason!(reason, $iter, $f);
            }
        }
        policy.defs.$iter().for_each(|def| $f(&$($mut)? def.body));
        for group in policy.groups.$iter() {
            for key in group.keys.$iter() {
                $f(&$($mut)? key.member);
                $f(&$($mut)? key.pod);
            }
            group.rest.$iter().for_each(|condition| $f(condition));
        }
        for ledger in policy.ledgers.$iter() {
            $f(&$($mut)? ledger.key);
            for add in ledger.adds.$iter() {
                $f(&$($mut)? add.value);
                add.when.$iter().for_each(|when| $f(when));
            }
        }
        for memo in policy.memos.$iter() {
            $f(&$($mut)? memo.key);
            $f(&$($mut)? memo.ttl);
        }
        for rule in policy.rules.$iter() {
            rule.head.guard.$iter().for_each(|leave| $f(&$($mut)? leave.holds));
            match &$($mut)? rule.body {
                Body::Applies(conditions) => conditions.$iter().for_each(|condition| $f(condition)),
                Body::Mode(condition) => $f(condition),
                // They are in the tables of the policy.
                Body::DecidesWhen(_) | Body::Except(_) | Body::Missing(_) | Body::Ledger(_) => {}
                Body::Preempt => {}
                Body::Gate(of) | Body::Never(of) | Body::EvictionGuard(of) => for_each_of_check!(of, $iter, $f),
                Body::Queue(of) => of.keys.$iter().for_each(|key| $f(&$($mut)? key.value)),
                Body::Prefilter(of) => for statement in of.statements.$iter() {
                    match statement {
                        PrefilterStatement::Check(of) => for_each_of_check!(of, $iter, $f),
                        PrefilterStatement::Only(of) => {
                            $f(&$($mut)? of.nodes);
                            of.when.$iter().for_each(|when| $f(when));
                        }
                    }
                },
                Body::Filter(of) => for of in of.checks.$iter() {
                    for_each_of_check!(of, $iter, $f);
                },
                Body::Victim(of) => $f(&$($mut)? of.condition),
                Body::Score(of) => for give in of.gives.$iter() {
                    give.when.$iter().for_each(|when| $f(when));
                    give.value.$iter().for_each(|value| $f(value));
                },
                Body::Reserve(of) => {
                    for of in of.checks.$iter() {
                        for_each_of_check!(of, $iter, $f);
                    }
                    for write in of.writes.$iter() {
                        write.when.$iter().for_each(|when| $f(when));
                        write.entries.$iter().for_each(|entry| $f(&$($mut)? entry.value));
                    }
                }
                Body::Permit(of) => {
                    for of in of.checks.$iter() {
                        for_each_of_check!(of, $iter, $f);
                    }
                    for wait in of.waits.$iter() {
                        $f(&$($mut)? wait.patience);
                        $f(&$($mut)? wait.until);
                        for_each_of_reason!(wait.reason, $iter, $f);
                    }
                }
                Body::Acts(of) => for act in of.acts.$iter() {
                    act.when.$iter().for_each(|when| $f(when));
                    for_each_of_act!(&$($mut)? act.does, $iter, $f $(, $mut)?);
                },
            }
        }
    }};
}

impl Policy {
    /// Calls `f` for every whole expression: of definitions, of statements, of reasons.
    pub fn for_each_expr<'p>(&'p self, f: &mut dyn FnMut(&'p Expr)) {
        for_each_whole!(self, iter, f);
    }

    /// [`Policy::for_each_expr`] for expressions to change.
    pub(crate) fn for_each_expr_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        for_each_whole!(self, iter_mut, f, mut);
    }
}
