import { ALERTS, type AlertRule } from "./alerts.js";
import { expressionOf } from "./promql.js";

/** Prometheus' rules, as a file to load (`rule_files`). */
export function alertsFile(): string {
  return `# Made by \`pnpm alerts\` from scripts/alerts/alerts.ts.
groups:
  - name: retail-pos
    rules:
${ALERTS.map(ruleOf).join("\n")}`;
}

/** A text in double quotes is YAML if it is JSON. */
function ruleOf(rule: AlertRule): string {
  const expression = expressionOf(rule).replaceAll("\n", "\n          ");
  const value = rule.kind === "age" ? "{{ $value | humanizeDuration }}" : "{{ $value | humanizePercentage }}";
  return `      - alert: ${rule.name}
        expr: |
          ${expression}
        for: ${rule.forMinutes}m
        labels:
          severity: ${rule.severity}
        annotations:
          summary: ${JSON.stringify(sentence(rule.means))}
          description: ${JSON.stringify(`${sentence(subjectOf(rule))}: ${value}`)}
          runbook_url: ${runbookOf(rule)}
`;
}

/** Relative to the repository. */
export function runbookOf({ name }: AlertRule): string {
  return `docs/runbooks.md#${name.toLowerCase()}`;
}

function subjectOf(rule: AlertRule): string {
  if (rule.kind === "age") return `age of ${rule.words}`;
  const [part, whole] = rule.words;
  return `${part}, as a share of ${whole}`;
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
