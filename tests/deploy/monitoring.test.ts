import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { ALL_REASONS } from '../../adapters/http/server/http-refusal.ts';
import { readAlertRules } from '../support/alert-rules.ts';
import { readDashboard, withVariables } from '../support/dashboard.ts';
import { METRICS_OF_CONNECTIONS, METRICS_OF_POSTGRES } from '../support/documented-metrics.ts';
import { freePort } from '../support/free-port.ts';
import { requestToken, send } from '../support/http.ts';
import { isInstalled } from '../support/installed.ts';
import { readPage } from '../support/page-snippets.ts';
import { Prometheus } from '../support/prometheus.ts';
import { groupingLabelsIn, metricsIn } from '../support/promql.ts';
import { readSamples, type Sample } from '../support/read-samples.ts';
import { GOOD_CLIENT, GOOD_SECRET, type ServiceUnderTest, startServiceUnderTest } from '../support/running-service.ts';
import type { ServiceProcess } from '../support/service-process.ts';
import {
  type ServiceWithEverything,
  startServiceWithEverything,
  TOKEN_REQUEST,
} from '../support/service-with-everything.ts';
import { OPERATOR_TOKEN, startServiceForOperator } from '../support/status.ts';
import { describeLog, describeMetrics } from '../support/telemetry.ts';
import { createTestDatabase } from '../support/test-database.ts';
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
/** What a service in good order does not have. */
const EMPTY_IN_GOOD_ORDER = ['Token requests C'];

/** The samples by the name that a query uses. */
async function samplesByName({
  managementUrl,
}: Pick<ServiceProcess, 'managementUrl'>): Promise<ReadonlyMap<string, readonly Sample[]>> {
  return Map.groupBy(readSamples((await send(managementUrl, '/metrics')).text), ({ name }) => name);
}

/** A token, a refusal, and what is refused before a route is found. */
async function sendRequests({ url }: ServiceProcess, form: Readonly<Record<string, string>>): Promise<void> {
  expect((await requestToken(url, form)).status).toBe(200);
  expect((await requestToken(url, { ...form, client_secret: 'wrong' })).status).toBe(401);
  await send(url, '/nowhere');
}

const folder = mkdtempSync(join(tmpdir(), 'monitoring-'));
const AUDIT = join(folder, 'audit.log');
/** What all tests of this file ask, the last of which stops it. */
let service: ServiceWithEverything;
beforeAll(async () => {
  service = await startServiceWithEverything({ MANAGEMENT_TOKEN: OPERATOR_TOKEN, AUDIT_FILE: AUDIT });
}, 120_000);
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

describe('the dashboard and the alert rules, beside a running service', () => {
  let defaults: ServiceUnderTest;
  let defaultPort: string;
  let samples: ReadonlyMap<string, readonly Sample[]>;

  beforeAll(async () => {
    defaultPort = String(await freePort());
    defaults = await startServiceUnderTest({ environment: { MANAGEMENT_PORT: defaultPort } });
    await sendRequests(service, TOKEN_REQUEST);
    samples = await samplesByName(service);
  });
  afterAll(() => defaults.stop());

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

  it('use only metrics of every service, of PostgreSQL or of one method', async () => {
    const always = await samplesByName({ managementUrl: `http://127.0.0.1:${defaultPort}` });
    const others = [...METRICS_OF_POSTGRES, ...METRICS_OF_METHODS, ...METRICS_OF_CONNECTIONS];
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

const RUNBOOK = readPage('docs/runbook.md');
/** The row of each alert. */
const ROWS = [...RUNBOOK.matchAll(/^\| <a id="(\w+)"><\/a>\*\*(\w+)\*\* \((\w+)\): .+ \| (`.*`) \| .* \|$/gm)].map(
  ([, anchor, alert = '', severity, looksAt = '']) => ({
    anchor,
    alert,
    severity,
    commands: [...looksAt.matchAll(/`([^`]+)`/g)].map(([, command = '']) => command.replaceAll('\\|', '|')),
  }),
);
/** What the page looks for in the audit log, before the first alert. */
const [FUNCTION_LINES = [], AUDIT_COMMANDS = []] = [...RUNBOOK.matchAll(/^```sh\n(.*?)^```$/gms)].map(
  ([, block = '']) =>
    block
      .trim()
      .split('\n')
      .map((line) => line.replace(/ +# .*$/, '')),
);
/** The commands of the table of what no alert sees. */
const [, UNSEEN = ''] = RUNBOOK.split('\n## What no alert sees\n');
const COMMANDS = [
  ...AUDIT_COMMANDS.map((command) => ({ alert: 'The audit log', command })),
  ...ROWS.flatMap(({ alert, commands }) => commands.map((command) => ({ alert, command }))),
  ...[...UNSEEN.matchAll(/`((?:count|events) [^`]*)` \|/gm)].map(([, command = '']) => ({
    alert: 'No alert',
    command: command.replaceAll('\\|', '|'),
  })),
];
const SOURCES = globSync('{adapters,application,config,domain}/**/*.ts').map((path) => readFileSync(path, 'utf8'));

/** The functions that the page defines first, which its commands call. */
const FUNCTIONS = FUNCTION_LINES.filter((line) => /^\w+\(\) \{.*\}$/.test(line)).join('\n');
/** What it defines for a clone: how to read the log, and how to call a program. */
const IN_A_CLONE = /^\| in a clone \| `(.*)` \|$/m.exec(RUNBOOK)?.[1]?.replace('service.log', '"$LOG"') ?? '';

/** The values of a field that a command looks for in the log: of `"event":"(key_revoked|key_(un)?known)"`, three. */
function valuesOf(field: string, command: string): readonly string[] {
  return [...command.matchAll(new RegExp(`"${field}":"([a-z_|()?]+)"`, 'g'))].flatMap(([, pattern = '']) =>
    pattern
      .replaceAll('(un)?', '~')
      .replace(/[()]/g, '')
      .split('|')
      .flatMap((value) => (value.includes('~') ? [value.replace('~', ''), value.replace('~', 'un')] : [value])),
  );
}

describe('docs/runbook.md', () => {
  it('has a row for each alert, with its severity, its anchor and at least two commands', () => {
    const rows = ROWS.map(({ alert, severity, anchor }) => `${alert} ${severity} ${anchor}`);
    const expected = RULES.map(({ alert, severity }) => `${alert} ${severity} ${alert.toLowerCase()}`);
    expect(rows.toSorted()).toEqual(expected.toSorted());
    expect(ROWS.filter(({ commands }) => commands.length < 2)).toEqual([]);
  });

  it('looks for events and reasons in the log that the service writes', () => {
    for (const { command } of COMMANDS) {
      // The name of such an event is put together.
      const asked = command.replace(/^events '(.*)'$/, '"event":"($1)"');
      const events = valuesOf('event', asked).map((event) => event.replace(/^clock_/, ''));
      for (const name of [...events, ...valuesOf('reason', command)]) {
        const isWritten = SOURCES.some((source) => source.includes(`'${name}'`) || source.includes(`  ${name}: '`));
        expect({ name, isWritten }).toEqual({ name, isWritten: true });
      }
    }
  });

  describe('its commands, beside a running service', () => {
    const log = join(folder, 'service.log');
    beforeAll(async () => {
      await sendRequests(service, TOKEN_REQUEST);
      await until(() => service.program.stdout().includes('"reason":"secret_wrong"'), 'both requests are logged');
      writeFileSync(log, service.program.stdout());
    });

    const tools = ['curl', 'psql', 'bash'];
    if (!tools.every((tool) => isInstalled(tool))) return;

    /** Several alerts have the same one. */
    const different = new Map(COMMANDS.map(({ alert, command }) => [command, { alert, command }]));
    it.each([...different.values()])('$alert: $command', ({ command }) => {
      const environment = {
        MANAGEMENT: service.managementUrl,
        LOG: log,
        AUDIT_FILE: AUDIT,
        DATABASE_URL: service.database.url,
      };
      const { PATH } = process.env;
      const ran = spawnSync('bash', ['--norc', '-c', `${IN_A_CLONE}\n${FUNCTIONS}\nset -o pipefail; ${command}`], {
        env: { PATH, ...environment },
        encoding: 'utf8',
      });
      expect(ran.stderr).toBe('');
      // A service in good order has logged no fault, and so grep finds nothing: 1.
      if (/^(?:events|count|lines|process\b|log \| grep)/.test(command)) expect([0, 1]).toContain(ran.status);
      else expect({ status: ran.status, printed: ran.stdout !== '' }).toEqual({ status: 0, printed: true });
    });

    it('find an event of a key in AUDIT_FILE, if the service has one', () => {
      const command = AUDIT_COMMANDS.find((one) => one.includes('key_signing')) ?? '';
      const environment = { PATH: process.env['PATH'], LOG: '/dev/null', AUDIT_FILE: AUDIT };
      const ran = spawnSync('bash', ['--norc', '-c', `${IN_A_CLONE}\n${FUNCTIONS}\n${command}`], {
        env: environment,
        encoding: 'utf8',
      });
      expect(ran.stdout).toContain('"event":"key_signing"');
    });

    it('show an idle transaction with an ALTER TABLE behind it, and the look-up that waits for both', async () => {
      await using database = await lockedTable();
      const { PATH } = process.env;
      const show = () => {
        const ran = spawnSync('bash', ['--norc', '-c', `${FUNCTIONS}\nlocks`], {
          env: { PATH, DATABASE_URL: database.url, PGOPTIONS: '-c search_path=' },
          encoding: 'utf8',
        });
        return ran.stdout + ran.stderr;
      };
      const [holder, alter, reader] = database.sessions;
      const row = (pid: number | undefined, waitsFor: string, query: string) =>
        new RegExp(`${pid} \\| .* \\| \\{${waitsFor}\\} .*${query}`);
      await until(async () => row(reader, String(alter), 'select client_id').test(show()), 'the look-up waits');
      expect(show()).toMatch(row(holder, '', 'select from clients'));
      expect(show()).toMatch(row(alter, String(holder), 'alter table'));
    });

    it('find the reason, the address and the client of a refusal in the log', () => {
      for (const field of ['reason', 'remote_address', 'client_id', 'route', 'status', 'duration_ms']) {
        expect(readFileSync(log, 'utf8')).toContain(`"${field}":`);
      }
    });
  });
});

/**
 * A database in which a transaction that does nothing holds up an ALTER TABLE, and this a look-up. With their sessions.
 */
async function lockedTable(): Promise<{ url: string; sessions: readonly number[] } & AsyncDisposable> {
  const database = await createTestDatabase();
  await database.query('create table clients (client_id text)');
  const clients = await Promise.all(
    Array.from({ length: 3 }, async () => {
      const client = new pg.Client({ connectionString: database.url });
      await client.connect();
      const { rows } = await client.query('select pg_backend_pid() as pid');
      return { client, pid: rows[0].pid as number };
    }),
  );
  const [holder, alter, reader] = clients.map(({ client }) => client);
  await holder?.query('begin');
  await holder?.query('select from clients');
  const altered = alter?.query('alter table clients add column email text');
  const waits = `select from pg_locks where not granted and relation = 'clients'::regclass`;
  await until(async () => (await database.query(waits)).length === 1, 'the ALTER TABLE waits');
  const read = reader?.query('select client_id from clients');
  return {
    url: database.url,
    sessions: clients.map(({ pid }) => pid),
    async [Symbol.asyncDispose]() {
      await holder?.query('rollback');
      await Promise.all([altered, read]);
      await Promise.all(clients.map(({ client }) => client.end()));
      await database.drop();
    },
  };
}

describe('deploy/grafana-dashboard.json', () => {
  const PANELS = DASHBOARD.panels.filter(({ type }) => type !== 'row');

  it('asks for the data source when it is imported, and names none of its own', () => {
    const [datasource, ...queried] = DASHBOARD.templating.list;
    expect(datasource).toMatchObject({ name: 'datasource', type: 'datasource', query: 'prometheus' });
    expect(queried.map(({ name }) => name)).toEqual(['job', 'instance']);
    for (const panel of PANELS)
      expect(panel.datasource).toEqual({ type: 'prometheus', uid: '$'.concat('{datasource}') });
  });

  it('explains every panel, and selects the job and the replicas in every query', () => {
    for (const { title, description, targets } of PANELS) {
      expect({ title, description }).toEqual({ title, description: expect.stringMatching(/\.$/) });
      for (const { expr } of targets ?? []) {
        const metrics = expr.match(/auth_\w+/g)?.length;
        expect({ expr, selected: expr.split('job="$job",instance=~"$instance"').length - 1 }).toEqual({
          expr,
          selected: metrics,
        });
      }
    }
  });

  it('has panels with ids of their own that do not overlap, on the 24 columns of Grafana', () => {
    expect(new Set(DASHBOARD.panels.map(({ id }) => id)).size).toBe(DASHBOARD.panels.length);
    const cells = DASHBOARD.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)} ${y + Math.floor(cell / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    for (const { gridPos } of DASHBOARD.panels) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
  });
});

/**
 * Compares with a list that operators and their scripts rely on. A change is a change of the interface: to accept one,
 * run this file with UPDATE_TELEMETRY=true.
 */
function expectList(name: string, lines: readonly string[]): void {
  const file = new URL(`telemetry/${name}.txt`, import.meta.url);
  if (process.env['UPDATE_TELEMETRY'] === 'true') writeFileSync(file, `${lines.join('\n')}\n`);
  expect(lines).toEqual(readFileSync(file, 'utf8').trimEnd().split('\n'));
}

describe('operators and their scripts find what they know', () => {
  it('in /metrics of a service with clients in memory', async () => {
    const { service: inMemory, url } = await startServiceForOperator();
    await using _service = inMemory;
    const form = { grant_type: 'client_credentials', client_id: GOOD_CLIENT.client_id, client_secret: GOOD_SECRET };
    await requestToken(inMemory.url, form);
    await requestToken(inMemory.url, { ...form, client_secret: 'wrong-secret' });
    expectList('metrics-in-memory', describeMetrics((await send(url, '/metrics')).text));
  });

  it('in /metrics and the log of a service with everything', async () => {
    const { managementUrl, program } = service;
    await sendRequests(service, TOKEN_REQUEST);
    const metrics = (await send(managementUrl, '/metrics')).text;
    expectList('metrics-of-everything', describeMetrics(metrics));
    process.kill(program.process.pid ?? 0, 'SIGHUP');
    await program.printed(/"event":"audit_file_reopened"/);
    program.process.kill('SIGTERM');
    await program.ended();
    // A busy machine may log more than that.
    const known = describeLog(program.stdout());
    expectList(
      'log',
      known.filter((line) => !/^(warn|error) (?!secret_cost_found)/.test(line)),
    );
    expectList('audit-lines', describeLog(readFileSync(AUDIT, 'utf8')));
  });
});
