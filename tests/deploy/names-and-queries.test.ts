import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ALL_REASONS } from '../../adapters/http/server/http-refusal.ts';
import { readAlertRules } from '../support/alert-rules.ts';
import { readDashboard, withVariables } from '../support/dashboard.ts';
import { METRICS_OF_CONNECTIONS, METRICS_OF_POSTGRES } from '../support/documented-metrics.ts';
import { requestToken, send } from '../support/http.ts';
import { isInstalled } from '../support/installed.ts';
import { Prometheus } from '../support/prometheus.ts';
import { groupingLabelsIn, metricsIn } from '../support/promql.ts';
import { readSamples, type Sample } from '../support/read-samples.ts';
import { DEMO_TOKEN_REQUEST } from '../support/replica.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import {
  type ServiceWithEverything,
  startServiceWithEverything,
  TOKEN_REQUEST,
} from '../support/service-with-everything.ts';
import { until } from '../support/until.ts';

const JOB = 'authorization-service';
const DASHBOARD = readDashboard();
const TARGETS = DASHBOARD.panels.flatMap(({ title, targets = [] }) => targets.map((target) => ({ title, ...target })));
const RULES = readAlertRules();

/** Where each query stands, and the query. */
const QUERIES: readonly (readonly [string, string])[] = [
  ...TARGETS.map(({ title, refId, expr }) => [`${title} ${refId}`, expr] as const),
  ...RULES.map(({ alert, expr }) => [alert, expr] as const),
];

/** What Prometheus adds to each sample, and what queries add themselves. */
const LABELS_OF_PROMETHEUS = ['job', 'instance'];
/** What only private_key_jwt and federated_jwt have. */
const METRICS_OF_METHODS = [
  'auth_used_assertions',
  'auth_used_assertions_max',
  'auth_assertion_keys',
  'auth_assertion_verifications_overflow',
  'auth_assertion_verifications_unanswered',
  'auth_assertion_verifications_unanswered_max',
  'auth_issuer_key_sets',
];
const METRICS_OF_TRACING = ['auth_trace_spans_lost_total'];
/** What a service in good order does not have. */
const EMPTY_IN_GOOD_ORDER = ['Token requests C'];

/** The samples by the name that a query uses. */
async function samplesByName({ managementUrl }: ServiceProcess): Promise<ReadonlyMap<string, readonly Sample[]>> {
  return Map.groupBy(readSamples((await send(managementUrl, '/metrics')).text), ({ name }) => name);
}

describe('the dashboard and the alert rules, beside a running service', () => {
  let service: ServiceWithEverything;
  let defaults: ServiceProcess;
  let samples: ReadonlyMap<string, readonly Sample[]>;

  /** A token, a refusal, and what is refused before a route is found. */
  async function sendRequests({ url }: ServiceProcess, form: Readonly<Record<string, string>>): Promise<void> {
    expect((await requestToken(url, form)).status).toBe(200);
    expect((await requestToken(url, { ...form, client_secret: 'wrong' })).status).toBe(401);
    await send(url, '/nowhere');
  }

  beforeAll(async () => {
    [service, defaults] = await Promise.all([startServiceWithEverything(), startServiceProcess()]);
    await sendRequests(service, TOKEN_REQUEST);
    samples = await samplesByName(service);
  });
  afterAll(async () => {
    await service[Symbol.asyncDispose]();
    await defaults.program[Symbol.asyncDispose]();
  });

  it.each(QUERIES)('%s: each metric exists, with the labels and values of its selector', (_where, query) => {
    for (const { name, labels } of metricsIn(query)) {
      if (METRICS_OF_CONNECTIONS.includes(name)) continue;
      const exposed = samples.get(name) ?? [];
      expect({ name, exists: exposed.length > 0 }).toEqual({ name, exists: true });
      for (const [label, { operator, value }] of labels) {
        if (LABELS_OF_PROMETHEUS.includes(label)) continue;
        const values = exposed.map((sample) => sample.labels[label]);
        expect({ name, label, values }).not.toEqual({ name, label, values: values.map(() => undefined) });
        if (operator.startsWith('!')) continue;
        if (label === 'reason') expect(Object.keys(ALL_REASONS)).toContain(value);
        // A service in good order answers no 5xx.
        else if (!value.startsWith('5')) {
          const matching = values.filter((text) => new RegExp(`^(?:${value})$`).test(text ?? ''));
          expect({ name, label, value, matches: matching.length > 0 }).toEqual({ name, label, value, matches: true });
        }
      }
    }
  });

  it.each(QUERIES)('%s: groups by labels that its metrics have', (_where, query) => {
    const known = metricsIn(query).flatMap(({ name }) => Object.keys(samples.get(name)?.[0]?.labels ?? {}));
    const labels = [...known, ...LABELS_OF_PROMETHEUS];
    expect(groupingLabelsIn(query).filter((label) => label !== 'le' && !labels.includes(label))).toEqual([]);
  });

  it.each(TARGETS)('$title $refId: its legend has labels that the query keeps', ({ expr, legendFormat }) => {
    const grouped = /\bby \(/.test(expr) ? groupingLabelsIn(expr) : LABELS_OF_PROMETHEUS;
    const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label);
    expect(shown.filter((label) => !grouped.includes(label))).toEqual([]);
  });

  it('use only metrics of every service, of PostgreSQL, of one method or of tracing', async () => {
    const always = await samplesByName(defaults);
    await sendRequests(defaults, DEMO_TOKEN_REQUEST);
    const others = [...METRICS_OF_POSTGRES, ...METRICS_OF_METHODS, ...METRICS_OF_TRACING, ...METRICS_OF_CONNECTIONS];
    const rest = QUERIES.flatMap(([, query]) =>
      metricsIn(query).map(({ name }) => name.replace(/_(bucket|count)$/, '')),
    )
      .filter((name) => !others.includes(name))
      .filter((name) => !always.has(name) && !name.startsWith('auth_request'));
    expect(rest).toEqual([]);
  });

  if (!isInstalled('prometheus')) return;

  it('are answered by a real Prometheus: every query is accepted, and has values where something was measured', async () => {
    const target = new URL(service.managementUrl).host;
    await using prometheus = await Prometheus.start({ job: JOB, targets: [target] });
    let empty: readonly string[] = [];
    await until(async () => {
      await sendRequests(service, TOKEN_REQUEST);
      const answers = await Promise.all(
        TARGETS.map(async ({ title, refId, expr }) => ({
          where: `${title} ${refId}`,
          values: await prometheus.query(withVariables(expr, JOB, 20)),
        })),
      );
      empty = answers.flatMap(({ where, values }) => (values.length === 0 ? [where] : []));
      return empty.every((where) => EMPTY_IN_GOOD_ORDER.includes(where));
    }, `these queries have values: ${empty}`);
    const rules = await prometheus.rules();
    expect(rules.map(({ name }) => name).toSorted()).toEqual(RULES.map(({ alert }) => alert).toSorted());
    expect(new Set(rules.map(({ health }) => health))).toEqual(new Set(['ok']));
    expect(await prometheus.query('ALERTS{severity=~"critical|warning",alertstate="firing"}')).toEqual([]);
  });
});
