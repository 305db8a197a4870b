import { readFileSync } from 'node:fs';

export const ALERTS_FILE = 'deploy/prometheus-alerts.yml';

/** One rule of deploy/prometheus-alerts.yml. */
interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly severity: string;
  readonly summary: string;
  readonly runbook_url: string;
}

/**
 * The alert rules, in order. Reads the form that the file has, in which a longer expression is folded over several
 * lines.
 */
export function readAlertRules(): readonly AlertRule[] {
  const [, ...rules] = readFileSync(ALERTS_FILE, 'utf8').split(/^ {6}- alert: /m);
  return rules.map((text) => {
    const value = (name: string) => new RegExp(`^ +${name}: '?(.*?)'?$`, 'm').exec(text)?.[1] ?? '';
    const folded = /^ {8}expr: >-\n((?: {10}.*\n)+)/m.exec(text)?.[1];
    return {
      alert: text.slice(0, text.indexOf('\n')),
      expr: folded === undefined ? value('expr') : folded.replace(/\s+/g, ' ').trim(),
      severity: value('severity'),
      summary: value('summary'),
      runbook_url: value('runbook_url'),
    };
  });
}
