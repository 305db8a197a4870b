import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { ALERTS_FILE, readAlertRules } from '../support/alert-rules.ts';
import { isInstalled } from '../support/installed.ts';
import { ALERT_CASES } from './alert-cases.ts';

const RULES = readAlertRules();
const hasPromtool = isInstalled('promtool');

interface RuleTest {
  readonly interval: string;
}

/** Runs tests with the same interval. JSON is YAML. */
async function runRuleTests(tests: readonly RuleTest[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'alerts-'));
  try {
    const file = join(folder, 'tests.yml');
    await writeFile(
      file,
      JSON.stringify({ rule_files: [resolve(ALERTS_FILE)], evaluation_interval: tests[0]?.interval, tests }),
    );
    return execFileSync('promtool', ['test', 'rules', file], { encoding: 'utf8', stdio: 'pipe' });
  } finally {
    await rm(folder, { recursive: true });
  }
}

const inputSeries = (series: Readonly<Record<string, string>>) =>
  Object.entries(series).map(([name, values]) => ({ series: name, values }));

/** How many alerts of this name fire for each service. */
const firing = (alert: string, eval_time: string, expected: Readonly<Record<string, number>>) => ({
  expr: `count by (job) (ALERTS{alertname="${alert}",alertstate="firing"})`,
  eval_time,
  exp_samples: Object.entries(expected).map(([job, value]) => ({ labels: `{job="${job}"}`, value })),
});

/** Nothing at all fires for a service in good order, whatever the alert is about. */
const nothingForGood = (eval_time: string) => ({
  expr: 'count by (alertname) (ALERTS{job="good",alertstate="firing"})',
  eval_time,
  exp_samples: [],
});

const CASES = Object.entries(ALERT_CASES).map(
  ([alert, { interval = '1m', series, firesAt, notYetAt, alerts = 1 }]) => ({
    name: alert,
    interval,
    input_series: inputSeries(series),
    promql_expr_test: [
      firing(alert, firesAt, { bad: alerts }),
      nothingForGood(firesAt),
      ...(notYetAt === undefined ? [] : [firing(alert, notYetAt, {})]),
    ],
  }),
);

/** AuthDown is about the job of Prometheus, not about what the service exposes. */
const DOWN = [
  {
    name: 'AuthDown: one replica does not answer',
    interval: '1m',
    input_series: inputSeries({
      'up{job="authorization-service",instance="a:1"}': '1x3 0x10',
      'up{job="authorization-service",instance="b:1"}': '1x13',
      'up{job="another-service",instance="c:1"}': '0x13',
    }),
    promql_expr_test: [
      firing('AuthDown', '2m', {}),
      {
        expr: 'ALERTS{alertname="AuthDown",alertstate="firing"}',
        eval_time: '6m',
        exp_samples: [
          {
            labels:
              'ALERTS{alertname="AuthDown",alertstate="firing",severity="critical",job="authorization-service",instance="a:1"}',
            value: 1,
          },
        ],
      },
    ],
  },
  {
    name: 'AuthDown: Prometheus does not know the service any more',
    interval: '1m',
    input_series: inputSeries({ 'up{job="another-service",instance="c:1"}': '1x13' }),
    promql_expr_test: [firing('AuthDown', '2m', { 'authorization-service': 1 })],
  },
];

describe('deploy/prometheus-alerts.yml', () => {
  it('has a case for each alert, and no other', () => {
    expect([...Object.keys(ALERT_CASES), 'AuthDown'].toSorted()).toEqual(RULES.map(({ alert }) => alert).toSorted());
  });

  it('gives each alert a severity, a summary and a link to its heading in the runbook', () => {
    for (const { alert, severity, summary, runbook_url } of RULES) {
      expect(['critical', 'warning', 'info']).toContain(severity);
      expect(summary).toMatch(/\.$/);
      expect(runbook_url).toBe(`docs/runbook.md#${alert.toLowerCase()}`);
    }
  });

  if (!hasPromtool) return;

  it('is accepted by promtool, without a duplicate rule', () => {
    expect(
      execFileSync('promtool', ['check', 'rules', '--lint=all', '--lint-fatal', ALERTS_FILE], { encoding: 'utf8' }),
    ).toContain(`SUCCESS: ${RULES.length} rules found`);
  });

  it('fires each alert for the service that has its problem, in time, and none for the one that has not', async () => {
    const tests = Map.groupBy<string, RuleTest>([...CASES, ...DOWN], ({ interval }) => interval);
    for (const alike of tests.values()) expect(await runRuleTests(alike)).toContain('SUCCESS');
  });
});
