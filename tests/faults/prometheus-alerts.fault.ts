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

/** The critical alerts that fire, each once. */
const criticalAlerts = (eval_time: string, names: readonly string[]) => ({
  expr: 'count by (alertname) (ALERTS{severity="critical",alertstate="firing"})',
  eval_time,
  exp_samples: names.map((alertname) => ({ labels: `{alertname="${alertname}"}`, value: 1 })),
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

/** What is about several replicas of the job of Prometheus. */
const OUTAGES = [
  {
    name: 'AuthDown: one replica does not answer, then none does',
    interval: '1m',
    input_series: inputSeries({
      'up{job="authorization-service",instance="a:1"}': '1x3 0x19',
      'up{job="authorization-service",instance="b:1"}': '1x13 0x9',
      'up{job="another-service",instance="c:1"}': '0x13',
    }),
    promql_expr_test: [
      firing('AuthReplicaUnavailable', '8m', {}),
      firing('AuthReplicaUnavailable', '11m', { 'authorization-service': 1 }),
      firing('AuthDown', '13m', {}),
      firing('AuthDown', '16m', { 'authorization-service': 1 }),
    ],
  },
  {
    name: 'AuthDown: Prometheus does not know the service any more',
    interval: '1m',
    input_series: inputSeries({ 'up{job="another-service",instance="c:1"}': '1x13' }),
    promql_expr_test: [firing('AuthDown', '2m', { 'authorization-service': 1 })],
  },
  {
    name: 'AuthNotReady: two replicas without their database for ten minutes fire one critical alert, and none when it is back',
    interval: '1m',
    input_series: ['a:1', 'b:1'].flatMap((instance) =>
      inputSeries({
        [`up{job="authorization-service",instance="${instance}"}`]: '1x40',
        [`auth_ready{job="authorization-service",instance="${instance}"}`]: '1x5 0x9 1x20',
        [`auth_check_severity{job="authorization-service",instance="${instance}",check="client repository"}`]:
          '0x5 2x9 0x20',
        [`auth_check_severity{job="authorization-service",instance="${instance}",check="used assertions"}`]:
          '0x5 1x9 0x20',
        [`auth_requests_total{job="authorization-service",instance="${instance}",status="200",reason="none"}`]:
          '0+60x5 300x9 300+60x20',
        [`auth_requests_total{job="authorization-service",instance="${instance}",status="503",reason="dependency_unavailable"}`]:
          '0x5 0+60x9 540x20',
      }),
    ),
    promql_expr_test: [
      ...['5m', '17m', '18m', '20m', '25m'].map((eval_time) => criticalAlerts(eval_time, [])),
      ...['8m', '11m', '14m'].map((eval_time) => criticalAlerts(eval_time, ['AuthNotReady'])),
    ],
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
    const tests = Map.groupBy<string, RuleTest>([...CASES, ...OUTAGES], ({ interval }) => interval);
    for (const alike of tests.values()) expect(await runRuleTests(alike)).toContain('SUCCESS');
  });
});
