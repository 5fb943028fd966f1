"""Alerts and dashboard: their metrics exist, and alerts lead to pages. `test_promtool.py` evaluates them."""
import json
import re

import yaml

from chart import CHART, rendered
from control_plane import ROOT

MONITORING = ROOT / "tests/ship/monitoring"
ALERTS = CHART / "files/alerts.yaml"
DASHBOARD = CHART / "files/dashboard.json"


def known_metrics():
    """The names of samples on the pages of metrics."""
    found = set()
    for name, kind in re.findall(r"^\| `([a-z_]+)` \| (\w+) \|", (ROOT / "docs/metrics.md").read_text(), re.MULTILINE):
        found |= {f"{name}_{part}" for part in ("bucket", "sum", "count")} if kind == "histogram" else {name}
    assert len(found) > 60
    return found


def metrics_of(expression):
    without_strings = re.sub(r'"[^"]*"', "", expression)
    without_labels = re.sub(r"\{[^}]*\}|\b(by|without|on|ignoring) \([^)]*\)", "", without_strings)
    return {name for name in re.findall(r"[a-z]+(?:_[a-z]+)+\b(?! ?\()", without_labels)
            if name.startswith(("bayplan_", "scheduler_", "rest_", "process_", "kubernetes_", "leader_"))}


def alerts_of(path):
    return [rule for group in yaml.safe_load(path.read_text())["groups"] for rule in group["rules"]]


def test_every_alert_has_a_case_in_which_it_fires_and_one_in_which_it_does_not():
    seen = {}
    for case in yaml.safe_load((MONITORING / "alerts_test.yaml").read_text())["tests"]:
        for of in case["alert_rule_test"]:
            seen.setdefault(of["alertname"], set()).add(bool(of["exp_alerts"]))
    assert seen == {rule["alert"]: {True, False} for rule in alerts_of(ALERTS)}


def test_metrics_of_alerts_exist():
    known = known_metrics()
    for rule in alerts_of(ALERTS):
        named = metrics_of(rule["expr"])
        assert named and named <= known, (rule["alert"], named - known)


def headings(page):
    return re.findall(r"^#+ .*$", page.read_text(), re.MULTILINE)


def test_alerts_lead_to_pages_of_one_form():
    pages = {f"{rule['alert']}.md" for rule in alerts_of(ALERTS)}
    for rule in alerts_of(ALERTS):
        assert rule["annotations"]["runbook_url"] == f"docs/runbooks/{rule['alert']}.md"
        page = ROOT / "docs/runbooks" / f"{rule['alert']}.md"
        assert headings(page) == [f"# {rule['alert']}", "## First command", "## What to do"]
    assert {path.name for path in (ROOT / "docs/runbooks").iterdir()} == pages | {"README.md"}
    listed = re.findall(r"\(runbooks/([A-Za-z]+\.md)\)", (ROOT / "docs/install.md").read_text())
    assert sorted(listed) == sorted(pages)
    listed = re.findall(r"\]\(([A-Za-z]+\.md)\)", (ROOT / "docs/runbooks/README.md").read_text())
    assert sorted(listed) == sorted(pages)


def test_severities_are_three():
    severities = {rule["labels"]["severity"] for rule in alerts_of(ALERTS)}
    assert severities == {"critical", "warning", "info"}


def test_the_dashboard_has_four_rows_of_known_metrics():
    board = json.loads(DASHBOARD.read_text())
    assert [panel["title"] for panel in board["panels"] if panel["type"] == "row"] == [
        "Now", "Policies", "Speed", "Around us"]
    known = known_metrics()
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            named = metrics_of(target["expr"])
            assert named and named <= known, (panel["title"], named - known)
    panels = [panel["gridPos"] for panel in board["panels"]]
    assert all(at["x"] + at["w"] <= 24 for at in panels)
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


def test_the_chart_ships_both():
    objects = rendered("--set", "monitoring.prometheusRule.enabled=true,monitoring.dashboard.enabled=true")
    [rule] = [of for of in objects if of["kind"] == "PrometheusRule"]
    [shown] = [of for of in objects if of["metadata"]["name"] == "bayplan-dashboard"]
    shipped = [one for group in rule["spec"]["groups"] for one in group["rules"]]
    assert shipped == [one for one in alerts_of(ALERTS) if one["alert"] != "BayplanExtenderFails"]
    assert json.loads(shown["data"]["bayplan.json"]) == json.loads(DASHBOARD.read_text())
