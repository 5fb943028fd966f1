//! Items, statements of a policy and statements of blocks, in the order of the grammar.
//!
//! Called by `quick`; each is known by its first word.

use super::{Read, Reader};
use crate::lang::dsl::grammar::Rule;

impl Reader<'_> {
    /// `(use_ | typedef | def | except_item | policy)*`
    pub(super) fn items(&mut self) -> Read {
        while self.next().is_some() {
            match self.word() {
                "use" => self.rule(Rule::use_, |r| {
                    r.key(Rule::k_use, "use")?;
                    r.string()
                })?,
                "type" => self.typedef()?,
                "def" => self.def()?,
                "except" => self.except(Rule::except_item)?,
                _ => self.policy()?,
            }
        }
        Some(())
    }

    fn policy(&mut self) -> Read {
        self.rule(Rule::policy, |r| {
            r.key(Rule::k_policy, "policy")?;
            r.name()?;
            if r.says("version") {
                r.rule(Rule::version, |r| {
                    r.key(Rule::k_version, "version")?;
                    r.int()
                })?;
            }
            r.mark(Rule::lbrace, "{")?;
            while r.next()? != b'}' {
                r.statement()?;
                r.semicolons();
            }
            r.mark(Rule::rbrace, "}")
        })
    }

    fn semicolons(&mut self) {
        while self.next() == Some(b';') {
            self.leaf(Rule::semicolon, 1);
        }
    }

    /// A statement of a policy.
    fn statement(&mut self) -> Read {
        match self.word() {
            "applies" => self.rule(Rule::applies, |r| {
                r.key(Rule::k_applies, "applies")?;
                if !r.says("to") {
                    return r.when();
                }
                r.rule(Rule::all_pods, |r| {
                    r.key(Rule::k_to, "to")?;
                    r.key(Rule::k_all, "all")?;
                    r.key(Rule::k_pods, "pods")
                })?;
                r.when_said()
            }),
            "gate" => self.rule(Rule::gate, |r| {
                r.key(Rule::k_gate, "gate")?;
                r.reason()?;
                r.when()
            }),
            "queue" => self.queue(),
            "prefilter" => {
                self.block(Rule::prefilter, Rule::k_prefilter, "prefilter", &["let", "reject", "only"])
            }
            "filter" => self.rule(Rule::filter, |r| {
                r.key(Rule::k_filter, "filter")?;
                r.name()?;
                r.body(&["let", "require", "reject", "mode", "except"])
            }),
            "score" => self.score(),
            "prefer" => self.rule(Rule::prefer, |r| {
                r.key(Rule::k_prefer, "prefer")?;
                r.int_or_ident()?;
                r.when()
            }),
            "preempt" => self.block(
                Rule::preempt,
                Rule::k_preempt,
                "preempt",
                &["let", "victim", "protect", "never", "guard"],
            ),
            "ledger" => self.rule(Rule::ledger, |r| {
                r.key(Rule::k_ledger, "ledger")?;
                r.arg_parts()?;
                r.key(Rule::k_by, "by")?;
                r.expr()?;
                r.body(&["let", "add"])
            }),
            "memo" => self.rule(Rule::memo, |r| {
                r.key(Rule::k_memo, "memo")?;
                r.arg_parts()?;
                r.key(Rule::k_by, "by")?;
                r.expr()?;
                r.key(Rule::k_ttl, "ttl")?;
                r.expr()
            }),
            "permit" => self.block(
                Rule::permit,
                Rule::k_permit,
                "permit",
                &["let", "reject", "wait", "mode", "except"],
            ),
            "reserve" => self.block(Rule::reserve, Rule::k_reserve, "reserve", &["let", "reject", "write"]),
            "before" => self.rule(Rule::before, |r| {
                r.key(Rule::k_before, "before")?;
                r.key(Rule::k_bind, "bind")?;
                r.body(&["let", "write"])
            }),
            "after" => self.rule(Rule::after, |r| {
                r.key(Rule::k_after, "after")?;
                match r.says("bind") {
                    true => r.key(Rule::k_bind, "bind")?,
                    false => r.key(Rule::k_failure, "failure")?,
                }
                r.body(&["let", "write", "event", "remember", "release", "activate"])
            }),
            "let" => self.let_(),
            "def" => self.def(),
            "type" => self.typedef(),
            "param" => self.param(),
            "group" => self.rule(Rule::group, |r| {
                r.key(Rule::k_group, "group")?;
                r.ident()?;
                r.assign()?;
                r.ident()?;
                r.key(Rule::k_in, "in")?;
                r.key(Rule::k_pods, "pods")?;
                r.key(Rule::k_where, "where")?;
                r.expr()
            }),
            "source" => self.rule(Rule::source, |r| {
                r.key(Rule::k_source, "source")?;
                r.ident()?;
                r.assign()?;
                r.expr()
            }),
            "mode" => self.mode(),
            "except" => self.except(Rule::except_),
            _ => None,
        }
    }

    /// A block that begins with its word alone.
    fn block(&mut self, rule: Rule, first: Rule, word: &str, allowed: &[&str]) -> Read {
        self.rule(rule, |r| {
            r.key(first, word)?;
            r.body(allowed)
        })
    }

    /// `{ … }`; `write` stands for the three words that begin one.
    fn body(&mut self, allowed: &[&str]) -> Read {
        self.mark(Rule::lbrace, "{")?;
        while self.next()? != b'}' {
            let word = match self.word() {
                "annotate" | "label" | "patch" => "write",
                word => word,
            };
            if !allowed.contains(&word) {
                return None;
            }
            self.block_statement(word)?;
            self.semicolons();
        }
        self.mark(Rule::rbrace, "}")
    }

    fn block_statement(&mut self, word: &str) -> Read {
        match word {
            "let" => self.let_(),
            "mode" => self.mode(),
            "except" => self.except(Rule::except_),
            "require" => self.rule(Rule::require, |r| {
                r.key(Rule::k_require, "require")?;
                r.expr()?;
                if !r.says("else") {
                    return Some(());
                }
                r.key(Rule::k_else, "else")?;
                r.reason()
            }),
            "reject" => self.rule(Rule::reject, |r| {
                r.key(Rule::k_reject, "reject")?;
                r.reason()?;
                r.when_said()
            }),
            "only" => self.rule(Rule::only, |r| {
                r.key(Rule::k_only, "only")?;
                r.key(Rule::k_nodes, "nodes")?;
                r.expr()?;
                r.when_said()
            }),
            "give" => self.value(Rule::give, Rule::k_give, "give"),
            "add" => self.value(Rule::add, Rule::k_add, "add"),
            "victim" => self.chosen(Rule::victim, Rule::k_victim, "victim"),
            "protect" => self.chosen(Rule::protect, Rule::k_protect, "protect"),
            "never" => self.rule(Rule::never, |r| {
                r.key(Rule::k_never, "never")?;
                r.reason()?;
                r.when()
            }),
            "guard" => self.rule(Rule::guard, |r| {
                r.key(Rule::k_guard, "guard")?;
                r.expr()?;
                r.key(Rule::k_else, "else")?;
                r.reason()
            }),
            "wait" => self.rule(Rule::wait, |r| {
                r.key(Rule::k_wait, "wait")?;
                r.expr()?;
                if r.says("for") {
                    r.key(Rule::k_for, "for")?;
                    r.ident()?;
                }
                r.key(Rule::k_until, "until")?;
                r.expr()?;
                r.key(Rule::k_else, "else")?;
                r.reason()
            }),
            "write" => self.rule(Rule::write, |r| {
                match r.word() {
                    "annotate" => r.key(Rule::k_annotate, "annotate")?,
                    "label" => r.key(Rule::k_label, "label")?,
                    _ => r.key(Rule::k_patch, "patch")?,
                }
                r.ident()?;
                r.map()?;
                r.when_said()
            }),
            "event" => self.rule(Rule::event, |r| {
                r.key(Rule::k_event, "event")?;
                r.ident()?;
                match r.says("normal") {
                    true => r.key(Rule::normal, "normal")?,
                    false => r.key(Rule::warning, "warning")?,
                }
                r.string()?;
                r.template()?;
                r.when_said()
            }),
            "remember" => self.rule(Rule::remember, |r| {
                r.key(Rule::k_remember, "remember")?;
                r.ident()?;
                r.assign()?;
                r.expr()?;
                r.when_said()
            }),
            "release" => self.rule(Rule::release, |r| {
                r.key(Rule::k_release, "release")?;
                r.ident()?;
                r.reason()?;
                r.when_said()
            }),
            "activate" => self.rule(Rule::activate, |r| {
                r.key(Rule::k_activate, "activate")?;
                r.ident()?;
                r.when_said()
            }),
            _ => None,
        }
    }

    // ---- statements of more than one place

    /// `give E [when E]`
    fn value(&mut self, rule: Rule, first: Rule, word: &str) -> Read {
        self.rule(rule, |r| {
            r.key(first, word)?;
            r.expr()?;
            r.when_said()
        })
    }

    /// `victim v when E`
    fn chosen(&mut self, rule: Rule, first: Rule, word: &str) -> Read {
        self.rule(rule, |r| {
            r.key(first, word)?;
            r.ident()?;
            r.when()
        })
    }

    fn queue(&mut self) -> Read {
        self.rule(Rule::queue, |r| {
            r.key(Rule::k_queue, "queue")?;
            r.key(Rule::k_by, "by")?;
            r.sort_key()?;
            r.skip();
            let mut before = r.at;
            while r.next() == Some(b',') {
                r.leaf(Rule::comma, 1);
                r.sort_key()?;
                before = r.at;
            }
            r.at = before;
            Some(())
        })
    }

    fn sort_key(&mut self) -> Read {
        self.rule(Rule::key, |r| {
            match r.word() {
                "asc" => r.key(Rule::asc, "asc")?,
                "desc" => r.key(Rule::desc, "desc")?,
                _ => {}
            }
            r.expr()
        })
    }

    fn score(&mut self) -> Read {
        self.rule(Rule::score, |r| {
            r.key(Rule::k_score, "score")?;
            r.name()?;
            if r.says("weight") {
                r.rule(Rule::weight, |r| {
                    r.key(Rule::k_weight, "weight")?;
                    r.int_or_ident()
                })?;
            }
            if r.says("normalize") {
                r.rule(Rule::normalize, |r| {
                    r.key(Rule::k_normalize, "normalize")?;
                    r.skip();
                    match r.word() {
                        "none" => r.key(Rule::by_none, "none"),
                        "max" => r.key(Rule::by_max, "max"),
                        _ => r.key(Rule::by_minmax, "minmax"),
                    }
                })?;
            }
            if r.says("reversed") {
                r.key(Rule::reversed, "reversed")?;
            }
            r.body(&["let", "give", "mode", "except"])
        })
    }

    fn let_(&mut self) -> Read {
        self.rule(Rule::let_, |r| {
            r.key(Rule::k_let, "let")?;
            r.ident()?;
            r.declared()?;
            r.assign()?;
            r.expr()?;
            if !r.says("missing") {
                return Some(());
            }
            r.rule(Rule::missing, |r| {
                r.key(Rule::k_missing, "missing")?;
                r.skip();
                match r.word() {
                    "skip" => r.key(Rule::skip, "skip"),
                    "error" => r.key(Rule::error, "error"),
                    _ => {
                        r.key(Rule::k_reject, "reject")?;
                        r.reason()
                    }
                }
            })
        })
    }

    fn def(&mut self) -> Read {
        self.rule(Rule::def, |r| {
            r.key(Rule::k_def, "def")?;
            r.ident()?;
            r.mark(Rule::lparen, "(")?;
            if r.next() != Some(b')') {
                r.list(b')', false, Self::arg_decl)?;
            }
            r.mark(Rule::rparen, ")")?;
            r.declared()?;
            r.assign()?;
            r.expr()
        })
    }

    fn typedef(&mut self) -> Read {
        self.rule(Rule::typedef, |r| {
            r.key(Rule::k_type, "type")?;
            r.ident()?;
            r.assign()?;
            r.type_()
        })
    }

    fn param(&mut self) -> Read {
        self.rule(Rule::param, |r| {
            r.key(Rule::k_param, "param")?;
            r.ident()?;
            r.declared()?;
            if r.says("in") {
                r.key(Rule::k_in, "in")?;
                r.bound()?;
                r.mark(Rule::dotdot, "..")?;
                r.bound()?;
            }
            r.assign()?;
            r.expr()
        })
    }

    fn bound(&mut self) -> Read {
        self.rule(Rule::bound, |r| {
            if r.next() == Some(b'-') {
                r.leaf(Rule::minus, 1);
            }
            r.number()
        })
    }

    fn mode(&mut self) -> Read {
        self.rule(Rule::mode, |r| {
            r.key(Rule::k_mode, "mode")?;
            r.ident()?;
            if r.says("when") {
                r.when()?;
                if r.says("else") {
                    r.rule(Rule::otherwise, |r| {
                        r.key(Rule::k_else, "else")?;
                        r.ident()
                    })?;
                }
            }
            if !r.says("until") {
                return Some(());
            }
            r.key(Rule::k_until, "until")?;
            r.date()
        })
    }

    /// `except [RULE] until DATE because "…" [when E]`
    fn except(&mut self, rule: Rule) -> Read {
        self.rule(rule, |r| {
            r.key(Rule::k_except, "except")?;
            if rule == Rule::except_item {
                r.rule_name()?;
            }
            r.key(Rule::k_until, "until")?;
            r.date()?;
            r.key(Rule::k_because, "because")?;
            r.string()?;
            r.when_said()
        })
    }

    // ---- parts of statements

    fn when(&mut self) -> Read {
        self.rule(Rule::when, |r| {
            r.key(Rule::k_when, "when")?;
            r.expr()
        })
    }

    /// `when?`
    fn when_said(&mut self) -> Read {
        if self.says("when") { self.when() } else { Some(()) }
    }

    /// `(colon ~ type_)?`
    fn declared(&mut self) -> Read {
        if self.next() != Some(b':') {
            return Some(());
        }
        self.leaf(Rule::colon, 1);
        self.type_()
    }

    /// `NAME: T`
    fn arg_parts(&mut self) -> Read {
        self.ident()?;
        self.mark(Rule::colon, ":")?;
        self.type_()
    }

    fn int_or_ident(&mut self) -> Read {
        if self.next()?.is_ascii_digit() { self.int() } else { self.ident() }
    }

    fn reason(&mut self) -> Read {
        self.rule(Rule::reason, |r| {
            match r.word() {
                "resolvable" => r.key(Rule::resolvable, "resolvable")?,
                "unresolvable" => r.key(Rule::unresolvable, "unresolvable")?,
                _ => {}
            }
            r.template()?;
            if !r.says("with") {
                return Some(());
            }
            r.key(Rule::k_with, "with")?;
            r.mark(Rule::lbrace, "{")?;
            r.list(b'}', true, |r| {
                r.rule(Rule::detail, |r| {
                    match r.next()? {
                        b'"' | b'\'' => r.string()?,
                        b'r' | b'R' if r.quote_at(1) => r.string()?,
                        _ => r.ident()?,
                    }
                    r.mark(Rule::colon, ":")?;
                    r.expr()
                })
            })?;
            r.mark(Rule::rbrace, "}")
        })
    }
}
