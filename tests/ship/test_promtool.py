"""Prometheus' own tool about the alerts and the dashboard: expressions are right, and each alert fires when it must."""
import json

import yaml

from control_plane import run
from test_monitoring import ALERTS, DASHBOARD, MONITORING


def test_alerts_fire_when_they_must_and_else_not():
    run("promtool", "check", "rules", "--lint=all", "--lint-fatal", ALERTS)
    print(run("promtool", "test", "rules", MONITORING / "alerts_test.yaml"))


def test_every_expression_of_the_dashboard_is_right(tmp_path):
    rules = []
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel.get("targets", []):
            expression = target["expr"]
            for variable, value in (("$__rate_interval", "5m"), ("$namespace", ".*"), ("$job", ".*")):
                expression = expression.replace(variable, value)
            assert "$" not in expression, expression
            rules.append({"record": f"panel:{panel['id']}{target['refId']}", "expr": expression})
    assert len(rules) > 20
    file = tmp_path / "dashboard.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    run("promtool", "check", "rules", file)
