//! `mode`: rules that decide, and rules that only count what they would have done.

use super::run::{Run, framework_of};
use bayplan::model::PodInfo;
use bayplan::scheduler::{Input, QueuePlace};
use bayplan::testing::{node, pod};
use std::sync::Arc;

/// A scheduler with two nodes, of which `big` wins: it has more room, and nothing else counts.
fn two_nodes(policy: &str) -> Run {
    let mut run = Run::on(node("big").label("team", "a").cpu("4"), framework_of(policy));
    run.step(Input::Upserted(node("small").label("team", "b").cpu("2").object()));
    run
}

fn placed(run: &Run, name: &str) -> Option<String> {
    let snapshot = run.scheduler.snapshot();
    let entry = snapshot.pod(&pod(name).build().key)?;
    Some(snapshot.node(entry.placed?.0)?.name().to_string())
}

/// A score that decides, so that ties do not.
const BIG: &str = "score big normalize max { give node.allocatable.cpu }";

#[test]
fn a_filter_that_counts_moves_pods_or_lets_them_wait() {
    let mut run = two_nodes(&format!(
        r#"policy teams {{
          {BIG}
          filter own {{
            mode audit
            require node.labels["team"] == pod.labels["team"] else "node(s) of another team"
          }}
          filter none {{ mode warn
            reject "no node is good" when pod.labels["team"] == "c" }}
          filter off {{ mode off
            reject "off" when pod.priority < 100 }}
        }}"#
    ));
    for (name, team) in [("a", "a"), ("b", "b"), ("c", "c")] {
        run.add(pod(name).label("team", team).cpu("100m"));
    }
    assert_eq!(run.bound, ["a", "b", "c"]);
    assert_eq!(placed(&run, "b").as_deref(), Some("big"), "the filter does not decide");
    assert_eq!(
        run.would,
        [
            "a teams/own same",
            "a teams/none same",
            "b teams/own moves",
            "b teams/none same",
            "c teams/own waits",
            "c teams/none waits",
        ]
    );
    let told: Vec<_> = run.notes.iter().filter(|note| note.starts_with("PolicyWouldRefuse")).collect();
    assert_eq!(told, ["PolicyWouldRefuse: teams/none: no node is good"], "audit tells nobody");
    let counts: Vec<_> = run.scheduler.rule_would().collect();
    assert_eq!(counts.iter().map(|(.., count)| count).sum::<u64>(), 6);
}

#[test]
fn scores_that_count_say_whether_another_node_would_have_won() {
    let mut run = two_nodes(&format!(
        r#"policy ranks {{
          {BIG}
          score small weight 1 {{ mode audit
            give 100 when node.name == "small" }}
          score smaller weight 9 {{ mode audit
            give 100 when node.name == "small" }}
          prefer mode audit 9 when node.name == "big"
        }}"#
    ));
    run.add(pod("p").cpu("100m"));
    assert_eq!(placed(&run, "p").as_deref(), Some("big"));
    // 100 against 50 and 100: the small node would have won with either.
    assert_eq!(run.would, ["p ranks/small moves", "p ranks/smaller moves", "p ranks/prefer-1 same"]);
}

#[test]
fn gates_prefilters_and_waits_that_count_let_the_pod_go_on() {
    let mut run = Run::of(
        r#"policy trial {
          mode warn
          group mates = p in pods where p.namespace == pod.namespace && p.labels["crew"] == pod.labels["crew"]
          gate "held" when pod.labels["hold"] == "yes"
          prefilter {
            reject "too dear" when pod.priority > 5
            only nodes ["other"] when pod.labels["pin"] == "yes" }
          reserve { reject "no mark" when pod.labels["mark"] == "no"
                    annotate pod {"example.com/x": "y"} }
          permit { wait 10s for mates until mates.count(m, m.placed) >= 2 else "no mate came" }
          after failure { release mates "failed" }
        }"#,
    );
    run.add(pod("a").label("crew", "x").label("hold", "yes").cpu("100m"));
    run.add(pod("b").label("crew", "x").priority(9).label("mark", "no").cpu("100m"));
    run.add(pod("c").label("pin", "yes").label("crew", "x").cpu("100m"));
    assert_eq!(run.bound, ["a", "b", "c"]);
    assert_eq!(
        run.would,
        [
            "a trial/gate waits",
            "a trial/prefilter same",
            "a trial/reserve same",
            "a trial/permit waits",
            "b trial/gate same",
            "b trial/prefilter waits",
            "b trial/reserve waits",
            "b trial/permit same",
            "c trial/gate same",
            "c trial/prefilter waits",
            "c trial/reserve same",
            "c trial/permit same",
        ]
    );
    let told = run.notes.iter().filter(|note| note.starts_with("PolicyWouldRefuse"));
    assert_eq!(told.count(), 5);
    let marked = run.scheduler.snapshot().pod(&pod("a").build().key).map(|entry| entry.pod.clone());
    assert!(marked.is_some_and(|pod: Arc<PodInfo>| pod.annotations.get("example.com/x").is_none()));
}

#[test]
fn a_rule_decides_in_a_policy_that_does_not() {
    let mut run = two_nodes(&format!(
        r#"policy teams {{
          mode audit
          {BIG}
          filter own {{ mode enforce
            require node.labels["team"] == pod.labels["team"] else "node(s) of another team" }}
          gate "held" when pod.labels["team"] == "b"
        }}"#
    ));
    run.add(pod("b").label("team", "b").cpu("100m"));
    run.add(pod("c").label("team", "c").cpu("100m"));
    assert_eq!(placed(&run, "b").as_deref(), Some("small"));
    assert_eq!(run.scheduler.queue_place(&pod("c").build().key), Some(QueuePlace::Unschedulable));
    assert_eq!(
        run.would,
        ["b teams/gate waits", "b teams/big same", "c teams/gate same", "c teams/big same"],
        "a pod that waits waits with the rules, too"
    );
}

#[test]
fn a_ledger_is_kept_in_every_mode() {
    for mode in ["enforce", "warn", "audit", "off"] {
        let policy = |mode: &str| {
            format!(
                r#"policy quota {{
                  mode {mode}
                  let team = pod.labels["team"] ?? ""
                  ledger used: int by team {{ add 1 }}
                  prefilter {{ reject "the team has one pod" when used[team] >= 1 }}
                }}"#
            )
        };
        let mut run = Run::of(&policy(mode));
        run.add(pod("a").label("team", "x").cpu("100m"));
        run.reload(&policy("enforce"), 2);
        run.add(pod("b").label("team", "x").cpu("100m"));
        assert_eq!(run.bound, ["a"], "{mode}");
    }
}

#[test]
fn rules_about_evictions_that_count_spare_or_evict() {
    let victims = |rule: &str| {
        let mut run = Run::on(
            node("n").cpu("1"),
            super::run::framework_with(
                &format!("policy trial {{ mode audit\n preempt {{ {rule} }} }}"),
                &["DefaultPreemption"],
            ),
        );
        run.add(pod("low").cpu("600m"));
        run.add(pod("other").cpu("300m").label("other", "yes"));
        run.add(pod("high").priority(10).cpu("600m"));
        let evicted: Vec<String> = run.deleted.clone();
        (run.would.last().cloned(), evicted)
    };
    let low = vec![String::from("low")];
    let would = |effect: &str| Some(format!("high trial/preempt {effect}"));
    assert_eq!(victims(r#"protect v when v.name == "low""#), (would("spares"), low.clone()));
    assert_eq!(victims(r#"protect v when v.name == "none""#), (would("same"), low.clone()));
    assert_eq!(victims(r#"never "no" when pod.priority > 5"#), (would("spares"), low.clone()));
    assert_eq!(victims(r#"guard node.pods.count() >= 2 else "few""#), (would("spares"), low.clone()));
    assert_eq!(victims(r#"victim v when v.name == "low""#), (would("same"), low));
}

#[test]
fn queue_by_orders_nothing_in_a_policy_that_does_not_decide() {
    let policy = "policy order { mode audit\n queue by desc pod.created\n filter f { require node.ready else \"no\" } }";
    let set = crate::support::policies::compile(policy);
    assert!(set.queue().is_none());
    let claims = bayplan::lang::analysis::claims::claims(&set.iter().next().unwrap().policy);
    assert!(claims.is_empty(), "{claims:?}");
}

#[test]
fn an_object_of_another_kind_is_read_by_rules_that_count() {
    let mut run = Run::of(
        r#"policy trial { mode audit
        gate "closed" when ns.labels["closed"] == "yes" }"#,
    );
    let closed = bayplan::testing::namespace("default").label("closed", "yes").object();
    run.step(Input::Upserted(closed));
    run.add(pod("a").cpu("100m"));
    assert_eq!(run.would, ["a trial/gate waits"]);
}

#[test]
fn a_policy_decides_for_some_pods_and_counts_for_the_others() {
    let policy = |share: &str| {
        format!(
            r#"policy canary {{
              mode enforce when ns.labels["canary"] == "yes" || sample(pod.labels["of"] ?? "", {share}) else warn
              let team = pod.labels["team"] ?? ""
              ledger used: int by team {{ add 1 }}
              gate "held" when pod.labels["hold"] == "yes"
              prefilter {{ reject "the team has one pod" when used[team] >= 1 }}
              filter never {{ mode audit
                reject "never" when pod.labels["hold"] == "yes" }}
            }}"#
        )
    };
    let mut run = Run::of(&policy("0%"));
    let canary = bayplan::testing::namespace("canary").label("canary", "yes").object();
    run.step(Input::Upserted(canary));
    run.add(pod("a").label("team", "x").cpu("100m"));
    run.add(pod("b").label("team", "x").cpu("100m"));
    // The ledger has the pods of all namespaces.
    run.add(pod("c").namespace("canary").label("team", "x").cpu("100m"));
    run.add(pod("d").label("hold", "yes").cpu("100m"));
    run.add(pod("e").namespace("canary").label("hold", "yes").cpu("100m"));
    assert_eq!(run.bound, ["a", "b", "d"]);
    assert_eq!(run.scheduler.queue_counts(), [0, 0, 1, 1]);
    let of = |name: &str| -> Vec<String> {
        run.would.iter().filter(|would| would.starts_with(name)).cloned().collect()
    };
    assert_eq!(of("a "), ["a canary/never same", "a canary/gate same", "a canary/prefilter same"]);
    assert_eq!(of("b "), ["b canary/never same", "b canary/gate same", "b canary/prefilter waits"]);
    assert_eq!(of("c "), ["c canary/never same"]);
    assert_eq!(of("d "), ["d canary/never waits", "d canary/gate waits", "d canary/prefilter same"]);
    let told = run.notes.iter().filter(|note| note.starts_with("PolicyWouldRefuse"));
    assert_eq!(told.count(), 2);

    // A label of the namespace that changes wakes the pod.
    run.step(Input::Upserted(bayplan::testing::namespace("canary").object()));
    run.pass(20);
    assert_eq!(run.bound[3..], ["e", "c"]);
}

#[test]
fn a_rule_decides_for_some_pods_and_counts_for_the_others() {
    let policy = r#"policy canary {
      let tried = ns.labels["canary"] == "yes"
      gate mode enforce when tried else warn "held" when pod.labels["hold"] == "yes"
      prefilter { mode enforce when tried else warn
        reject "too dear" when pod.priority > 5
        only nodes ["other"] when pod.labels["pin"] == "yes" }
      filter large { mode enforce when tried
        reject "large" when pod.labels["large"] == "yes"
        require node.name == "n" else "not n" }
      filter always { reject "always" when pod.labels["always"] == "yes" }
      permit { mode enforce when tried else audit
        reject "permit" when pod.labels["late"] == "yes" }
    }"#;
    let mut run = Run::of(policy);
    let canary = bayplan::testing::namespace("canary").label("canary", "yes").object();
    run.step(Input::Upserted(canary));
    let labels = [("a", "none"), ("b", "hold"), ("c", "pin"), ("d", "large"), ("e", "always"), ("f", "late")];
    for (name, label) in labels {
        run.add(pod(name).label(label, "yes").cpu("10m"));
        run.add(pod(&format!("{name}-tried")).namespace("canary").label(label, "yes").cpu("10m"));
    }
    assert_eq!(run.bound, ["a", "a-tried", "b", "c", "d", "f"]);
    let of = |name: &str| -> Vec<String> {
        let own = run.would.iter().filter_map(|would| would.strip_prefix(&format!("{name} canary/")));
        own.map(str::to_owned).collect()
    };
    assert_eq!(of("a"), ["gate same", "prefilter same", "large same", "permit same"]);
    assert_eq!(of("b"), ["gate waits", "prefilter same", "large same", "permit same"]);
    assert_eq!(of("c"), ["gate same", "prefilter waits", "large same", "permit same"]);
    assert_eq!(of("d"), ["gate same", "prefilter same", "large waits", "permit same"]);
    assert_eq!(of("e"), ["gate same", "prefilter same", "large same", "permit same"], "it waits already");
    assert_eq!(of("f"), ["gate same", "prefilter same", "large same", "permit waits"]);
    for (name, _) in labels {
        assert_eq!(of(&format!("{name}-tried")), [] as [&str; 0], "the rules decide for it");
    }
    let told = run.notes.iter().filter(|note| note.starts_with("PolicyWouldRefuse"));
    assert_eq!(told.count(), 2, "large and permit are in mode audit");

    // A label of the namespace that changes wakes the pods that the rules refused, and no other.
    run.step(Input::Upserted(bayplan::testing::namespace("canary").object()));
    run.pass(20);
    let mut woken = run.bound[6..].to_vec();
    woken.sort();
    assert_eq!(woken, ["b-tried", "c-tried", "d-tried", "f-tried"]);
}

#[test]
fn scores_decide_for_some_pods() {
    let mut run = two_nodes(&format!(
        r#"policy ranks {{
          {BIG}
          score small weight 9 {{ mode enforce when pod.labels["tried"] == "yes" else audit
            give 100 when node.name == "small" }}
          prefer mode enforce when pod.labels["tried"] == "no" else warn 9 when node.name == "small"
        }}"#
    ));
    for tried in ["yes", "no", "other"] {
        run.add(pod(tried).label("tried", tried).cpu("10m"));
    }
    let node = |name: &str| placed(&run, name).unwrap();
    assert_eq!([node("yes"), node("no"), node("other")], ["small", "small", "big"]);
    assert_eq!(
        run.would,
        [
            "yes ranks/prefer-1 same",
            "no ranks/small same",
            "other ranks/small moves",
            "other ranks/prefer-1 moves"
        ]
    );
}

/// Pods evicted for `high` in the namespaces `default` and `canary`, and what the rules would have done.
fn evicted_for(policy: &str, plugins: &[&str]) -> [(Vec<String>, Option<String>); 2] {
    ["default", "canary"].map(|namespace| {
        let framework = super::run::framework_with(policy, plugins);
        let mut run = Run::on(node("n").cpu("1"), framework);
        run.add(pod("low").cpu("600m"));
        run.add(pod("other").cpu("300m").priority(1));
        run.add(pod("high").namespace(namespace).priority(10).cpu("600m"));
        let would = run.would.iter().rfind(|would| would.starts_with("high ")).cloned();
        (run.deleted.clone(), would)
    })
}

#[test]
fn rules_about_evictions_decide_for_some_preemptors() {
    let mode = r#"mode enforce when pod.namespace == "canary" else audit"#;
    let none = || Vec::<String>::new();
    let low = || vec![String::from("low")];
    let would = |effect: &str| Some(format!("high trial/preempt {effect}"));
    for (rule, tried, counted) in [
        (r#"protect v when v.name == "low""#, none(), "spares"),
        (r#"never "no" when pod.priority > 5"#, none(), "spares"),
        (r#"guard node.pods.count() >= 2 else "few""#, none(), "spares"),
        (r#"victim v when v.name == "other""#, none(), "spares"),
        (r#"victim v when v.name == "low""#, low(), "same"),
    ] {
        let of_rule = format!("policy trial {{ preempt {{ {mode}\n {rule} }} }}");
        let of_policy = format!("policy trial {{ {mode}\n preempt {{ {rule} }} }}");
        for policy in [of_rule, of_policy] {
            let expected = [(low(), would(counted)), (tried.clone(), None)];
            assert_eq!(evicted_for(&policy, &["DefaultPreemption"]), expected, "{policy}");
        }
    }
}

#[test]
fn a_policy_stands_in_for_preemption_only_where_it_decides() {
    let mode = r#"mode enforce when pod.namespace == "canary" else audit"#;
    let rule = r#"victim v when v.name == "low""#;
    let low = || vec![String::from("low")];
    for policy in [
        format!("policy trial {{ preempt {{ {mode}\n {rule} }} }}"),
        format!("policy trial {{ {mode}\n preempt {{ {rule} }} }}"),
    ] {
        let [others, tried] = evicted_for(&policy, &[]);
        assert_eq!((others.0, tried), (Vec::new(), (low(), None)), "{policy}");
    }
}

/// A rule that decides differs from the same rule that counts by what `would` says: the decision with it and without it.
#[test]
fn what_a_rule_would_have_done_is_the_difference_of_two_decisions() {
    let mut seen = std::collections::BTreeMap::<(&str, &str), usize>::new();
    for seed in 0..400 {
        let mut random = bayplan::testing::Random(seed);
        let first = random.below(5);
        let some = (0..5).filter(|at| *at == first || random.one_in(2));
        let some: Vec<String> = some.map(|at| format!("\"n{at}\"")).collect();
        let names = some.join(", ");
        let when = random.of(&["", " when pod.priority > 2", " when pod.labels[\"team\"] == \"a\""]);
        let (rule, text) = match random.below(8) {
            0 => (
                "gate",
                format!("gate \"no\"{}", if when.is_empty() { " when pod.priority > 1" } else { when }),
            ),
            1 => (
                "prefilter",
                format!(
                    "prefilter {{ reject \"no\"{} }}",
                    if when.is_empty() { " when pod.priority > 1" } else { when }
                ),
            ),
            2 => ("prefilter", format!("prefilter {{ only nodes [{names}]{when} }}")),
            3 => (
                "prefilter",
                format!("prefilter {{ only nodes [{names}]{when}\n only nodes [\"n1\", \"n2\", \"n4\"] }}"),
            ),
            4 => ("f", format!("filter f {{ require !(node.name in [{names}]) else \"no\" }}")),
            5 => ("s", format!("score s {{ give clamp(int(node.labels[\"v\"]) ?? 0, 0, 100){when} }}")),
            6 => ("reserve", format!("reserve {{ reject \"no\" when node.name in [{names}] }}")),
            _ => ("permit", format!("permit {{ reject \"no\" when node.name in [{names}] }}")),
        };
        let mut weights: Vec<usize> = (0..5).collect();
        for at in (1..5).rev() {
            weights.swap(at, random.below(at + 1));
        }
        let values: Vec<usize> = (0..5).map(|_| 10 * random.below(4)).collect();
        let (priority, team) = (random.below(4) as i32, random.of(&["a", "b"]));
        // A second score, normalized over the nodes that are left.
        let normalized = match random.of(&["", "max", "minmax"]) {
            "" => String::new(),
            how => format!("score v normalize {how} {{ give clamp(int(node.labels[\"v\"]) ?? 0, 0, 100) }}"),
        };
        let decided = |mode: &str| {
            let text = format!(
                "policy base {{ score w {{ give clamp(int(node.labels[\"w\"]) ?? 0, 0, 100) }}\n {normalized} }}\npolicy p {{ mode {mode}\n applies to all pods\n {text} }}"
            );
            let node = |at: usize| {
                node(&format!("n{at}"))
                    .cpu("4")
                    .label("w", &(21 * weights[at]).to_string())
                    .label("v", &values[at].to_string())
            };
            let mut run = Run::on(node(0), framework_of(&text));
            (1..5).for_each(|at| run.step(Input::Upserted(node(at).object())));
            run.add(pod("q").priority(priority).label("team", team).cpu("1"));
            let would = run
                .would
                .iter()
                .find_map(|would| would.strip_prefix(&format!("q p/{rule} ")).map(str::to_owned));
            (placed(&run, "q").filter(|_| !run.bound.is_empty()), would)
        };
        let ((without, would), (with, _)) = (decided("audit"), decided("enforce"));
        let differs = match (&without, &with) {
            (Some(_), None) => "waits",
            (Some(one), Some(other)) if one != other => "moves",
            _ => "same",
        };
        // A plugin that cannot concern the pod is not asked.
        assert_eq!(would.as_deref().unwrap_or("same"), differs, "{text}: {without:?} and {with:?}");
        *seen.entry((rule, differs)).or_default() += 1;
    }
    for kind in ["gate", "prefilter", "f", "s", "reserve", "permit"] {
        assert!(seen.keys().filter(|(rule, _)| *rule == kind).count() > 1, "{kind}: {seen:?}");
    }
    assert!(
        seen.contains_key(&("prefilter", "moves")) && seen.contains_key(&("prefilter", "waits")),
        "{seen:?}"
    );
}
