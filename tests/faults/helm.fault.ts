import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { Ajv } from 'ajv';
import { OWN_PREFIXES } from '../../config/settings/settings.ts';
import { SETTING_NAMES } from '../support/all-settings.ts';
import { getAccessToken } from '../support/http.ts';
import { isInstalled, where } from '../support/installed.ts';
import { notTested } from '../support/not-tested.ts';
import { startServiceUnderTest } from '../support/running-service.ts';
import { createTestDatabase, PATIENT } from '../support/test-database.ts';

const CHART = 'deploy/helm/ccauth';
const PLAIN = 'deploy/kubernetes';
const KUBERNETES = '1.34.0';

const MANIFESTS = readFileSync(join(PLAIN, 'ccauth.yaml'), 'utf8');
const ALL_VALUES = ['--values', join(PLAIN, 'values.yaml')];

/**
 * Versions whose schemas kubernetes-validate, a package for Python, has: the oldest that is supported, and a new one.
 */
const VALIDATED = ['1.34', '1.37'];

/**
 * What the validator says about these files, or nothing. The resources of the Prometheus Operator have no schema there.
 */
function invalidIn(...files: readonly string[]): string {
  return VALIDATED.map((version) => {
    const { status, stdout, stderr } = spawnSync('kubernetes-validate', ['--strict', '-k', version, ...files], {
      encoding: 'utf8',
    });
    return status === 0 ? '' : `${version}: ${stdout}${stderr}`;
  }).join('');
}

/** What helm prints for these values, or its error. */
function render(...options: readonly string[]): { readonly manifests: string; readonly problem: string } {
  const args = ['template', 'release', CHART, '--kube-version', KUBERNETES, ...options];
  const { stdout, stderr } = spawnSync('helm', args, { encoding: 'utf8' });
  return { manifests: stdout, problem: stderr };
}

/**
 * What helm prints at the end of an installation. It does so only with a cluster, so that a copy of the chart has it in
 * a manifest.
 */
function notes(): string {
  const folder = mkdtempSync(join(tmpdir(), 'chart-'));
  try {
    cpSync(CHART, folder, { recursive: true });
    cpSync(join(CHART, 'templates/NOTES.txt'), join(folder, 'NOTES.txt'));
    writeFileSync(join(folder, 'templates/notes.yaml'), 'notes: {{ tpl (.Files.Get "NOTES.txt") . | toJson }}\n');
    const options = ['--kube-version', KUBERNETES, '--show-only', 'templates/notes.yaml'];
    const { stdout } = spawnSync('helm', ['template', 'ccauth', folder, ...ALL_VALUES, ...options], {
      encoding: 'utf8',
    });
    return JSON.parse(stdout.slice(stdout.indexOf('notes: ') + 7));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The settings that a container of these manifests gets. */
function settingsOf(manifests: string): ReadonlyMap<string, string> {
  const found = manifests.matchAll(/- name: ([A-Z][A-Z_]+)\n +value: "?([^"\n]*)"?/g);
  return new Map([...found].map(([, name = '', value = '']) => [name, value]));
}

describe('the manifests for Kubernetes', () => {
  it('have the alert rules of deploy/', () => {
    const rules = readFileSync('deploy/prometheus-alerts.yml', 'utf8');
    expect(readFileSync(join(CHART, 'prometheus-alerts.yml'), 'utf8')).toBe(rules);
    const indented = rules.slice(rules.indexOf('groups:')).trimEnd().replace(/^/gm, '  ');
    expect(readFileSync(join(PLAIN, 'monitoring.yaml'), 'utf8')).toContain(indented);
  });

  it('set only settings that exist', () => {
    const names = [...settingsOf(MANIFESTS).keys()];
    expect(names).toEqual(
      expect.arrayContaining(['BASE_URL', 'DATABASE_URL_FILE', 'KEY_SECRET_FILE', 'MANAGEMENT_TOKEN_FILE']),
    );
    expect(names.filter((name) => !SETTING_NAMES.includes(name))).toEqual([]);
  });

  it('have a schema of values that refuses the names and the URL that a pod would refuse', () => {
    const { definitions, properties } = JSON.parse(readFileSync(join(CHART, 'values.schema.json'), 'utf8'));
    const [ofNames, names] = definitions.variable.anyOf;
    expect(names.enum).toEqual(SETTING_NAMES);
    expect(ofNames.not.pattern).toBe(`^(${OWN_PREFIXES.map((prefix) => prefix.slice(0, -1)).join('|')})_`);
    const { settings, baseUrl: ofUrl } = properties;
    const isValid = new Ajv({ strict: false }).compile({ definitions, properties: { settings, baseUrl: ofUrl } });
    expect(isValid({ settings: { TOKEN_AUDIENCE: 'a', HTTPS_PROXY: 'http://a', NODE_OPTIONS: '' } })).toBe(true);
    expect(isValid({ settings: { TOKEN_LIFETIME: 5 } })).toBe(false);
    const validUrls = ['', 'https://a.example', 'http://a.example:8080/tenant-a'];
    const others = ['https://a.example/', 'https://u:p@a.example', 'https://a/b?c', 'https://a/b/', 'https://a b'];
    expect([...validUrls, ...others].filter((baseUrl) => isValid({ baseUrl }))).toEqual(validUrls);
  });

  it('have no secret, and probe the management port', () => {
    expect(MANIFESTS).not.toMatch(/postgresql:|kind: Secret/);
    const probes = [...MANIFESTS.matchAll(/(\w+)Probe:\n +httpGet: { path: (\S+), port: management }/g)];
    expect(Object.fromEntries(probes.map(([, name, path]) => [name, path]))).toEqual({
      startup: '/readyz',
      readiness: '/readyz/verification',
      liveness: '/livez',
    });
  });

  it('have fewer than 500 lines of templates', () => {
    const files = readdirSync(join(CHART, 'templates')).map((name) => join(CHART, 'templates', name));
    expect(files.map((file) => readFileSync(file, 'utf8').split('\n').length).reduce((a, b) => a + b)).toBeLessThan(
      500,
    );
  });
});

const hasValidator = isInstalled('kubernetes-validate');
if (hasValidator) {
  it('the manifests for Kubernetes are valid by its schemas', () => {
    expect(invalidIn(join(PLAIN, 'ccauth.yaml'), join(PLAIN, 'migrate.yaml'))).toBe('');
  });
}

/** A stand-in for kubectl: runs the program of a pod here, with the files of Secrets in a folder. */
const KUBECTL = `
const { spec } = JSON.parse(process.argv.find((arg) => arg.startsWith('--overrides=')).slice(12));
const [{ args, env, image, volumeMounts: [{ name, mountPath }] }] = spec.containers;
const { secret: { secretName } } = spec.volumes.find((volume) => volume.name === name);
if (!process.argv.includes('--image=' + image) || spec.securityContext.runAsUser !== 10001) throw new Error('another pod');
const files = (value) => value.replace(mountPath, process.env.SECRETS + '/' + secretName);
const settings = Object.fromEntries(env.map(({ name, value }) => [name, files(value)]));
const options = { env: { PATH: process.env.PATH, ...settings }, stdio: 'inherit' };
process.exitCode = require('node:child_process').spawnSync(process.execPath, ['config/program.ts', ...args], options).status;
`;

const HAS_HELM = spawnSync('helm', ['version']).status === 0;
if (!HAS_HELM) notTested('The chart is not rendered, because helm is not installed.');

where(HAS_HELM, describe)('the chart', () => {
  it('passes helm lint', () => {
    const lint = ['lint', '--strict', '--kube-version', KUBERNETES, CHART, ...ALL_VALUES];
    expect(spawnSync('helm', lint, { encoding: 'utf8' })).toMatchObject({ status: 0 });
  });

  it('renders the plain manifests that are in deploy/kubernetes', () => {
    const folder = mkdtempSync(join(tmpdir(), 'manifests-'));
    try {
      expect(spawnSync(join(PLAIN, 'render.sh'), [folder], { encoding: 'utf8' })).toMatchObject({ status: 0 });
      for (const name of readdirSync(folder))
        expect({ name, text: readFileSync(join(folder, name), 'utf8') }).toEqual({
          name,
          text: readFileSync(join(PLAIN, name), 'utf8'),
        });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it.each([
    [['image.repository='], 'image.repository: is required. No image is published'],
    [['image.tag='], 'image.tag: is required, or image.digest'],
    [['baseUrl='], 'baseUrl: is required: the URL under which clients reach the service'],
    [['baseUrl=auth.example.com'], "'auth.example.com' does not match pattern"],
    [['files.DATABASE_URL_FILE.secret=null'], "at '/files/DATABASE_URL_FILE/secret': got null, want string"],
    [['migration.databaseUrl=null'], 'migration.databaseUrl: is required, as {secret: NAME, key: url}'],
    [['migration.role='], 'migration.role: is required'],
    [['settings.TOKEN_AUDIENCE='], 'settings.TOKEN_AUDIENCE: is required: the URL of the API that clients call'],
    [['settings.CLIENT_REPOSITORY=memory'], 'files.CLIENTS_FILE: is required'],
    [['settings.KEY_DIRECTORY=memory'], 'settings.KEY_DIRECTORY: must be database with more than one replica'],
    [['settings.DATABASE_URL=x'], 'settings.DATABASE_URL: cannot be set: it has a password'],
    [['settings.PORT=80'], 'settings.PORT: cannot be set'],
    [['settings.TOKEN_LIFETIME=80'], 'TOKEN_LIFETIME'],
    [['baseUrl=https://auth.example.com/'], 'does not match pattern'],
    [['settings.AUDIT_FILE=/a'], 'settings.AUDIT_FILE: cannot be set: the file system is read-only'],
    [['settings.DATABASE_URL_FILE=/a'], 'settings.DATABASE_URL_FILE: is set in files too'],
    [['ingress.enabled=true'], 'ingress.host: is required'],
    [['replica=3'], "additional properties 'replica' not allowed"],
    [['pod.containers=x'], "invalid propertyName 'containers'"],
  ])('says what is wrong with %j', (values, problem) => {
    const rendered = render(...ALL_VALUES, ...values.flatMap((value) => ['--set', value]));
    expect(rendered.problem).toContain(problem);
    expect(rendered.manifests).toBe('');
  });

  it.each([
    [
      'everything that can be turned on',
      ['autoscaling.enabled=true', 'ingress.enabled=true', 'ingress.host=a.example'],
    ],
    [
      'rules for the network',
      ['networkPolicy.databaseTo[0].ipBlock.cidr=10.0.0.0/8', 'networkPolicy.egress[0].ports[0].port=443'],
    ],
    [
      'a digest, fields of pods and no rules',
      ['networkPolicy.enabled=false', 'pod.priorityClassName=high', `image.digest=sha256:${'a'.repeat(64)}`],
    ],
  ])('renders valid manifests with %s', (_what, values) => {
    const { manifests, problem } = render(
      ...ALL_VALUES,
      ...['monitoring.serviceMonitor=false', 'monitoring.prometheusRule=false', ...values].flatMap((value) => [
        '--set',
        value,
      ]),
    );
    expect(problem).toBe('');
    expect(manifests).toContain('kind: Deployment');
    if (!hasValidator) return;
    const folder = mkdtempSync(join(tmpdir(), 'manifests-'));
    try {
      writeFileSync(join(folder, 'all.yaml'), manifests);
      expect(invalidIn(join(folder, 'all.yaml'))).toBe('');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('says which Secret is missing, one after the other', () => {
    const values = ['image.repository=a', 'image.tag=v1', 'baseUrl=http://a', 'settings.TOKEN_AUDIENCE=https://b'];
    const withDatabase = [...values, 'files.DATABASE_URL_FILE.secret=a', 'files.DATABASE_URL_FILE.key=url'];
    for (const [given, problem] of [
      [values, 'files.DATABASE_URL_FILE: is required with PostgreSQL, as {secret: NAME'],
      [withDatabase, 'files.KEY_SECRET_FILE: is required if settings.KEY_DIRECTORY is database'],
    ] as const) {
      expect(render(...given.flatMap((value) => ['--set', value])).problem).toContain(problem);
    }
  });

  it('needs no database with the clients of a file', () => {
    const { manifests, problem } = render(
      ...[
        'image.repository=a',
        'image.tag=v1',
        'baseUrl=http://a',
        'replicas=1',
        'settings.TOKEN_AUDIENCE=http://b',
      ].flatMap((value) => ['--set', value]),
      ...['settings.CLIENT_REPOSITORY=memory', 'settings.KEY_DIRECTORY=memory'].flatMap((value) => ['--set', value]),
      ...['files.CLIENTS_FILE.configMap=clients', 'files.CLIENTS_FILE.key=c.json'].flatMap((value) => ['--set', value]),
    );
    expect(problem).toBe('');
    expect(settingsOf(manifests).get('CLIENTS_FILE')).toBe('/etc/ccauth/clients-file/c.json');
    expect(manifests).not.toMatch(/kind: Job|port: 5432/);
  });

  it('waits at the end as long as the settings say, and writes numbers as they are', () => {
    const settings = { KEY_ROTATION_SECONDS: 31536000, SHUTDOWN_DRAIN_MS: '60000', TOKEN_AUDIENCE: 'https://a' };
    const { manifests } = render(...ALL_VALUES, '--set-json', `settings=${JSON.stringify(settings)}`);
    expect(settingsOf(manifests).get('KEY_ROTATION_SECONDS')).toBe('31536000');
    expect(manifests).toContain('terminationGracePeriodSeconds: 70');
  });

  it.each([
    ['', '[migrate, --grant-to, "a"]'],
    ['true', '[migrate, --grant-to, "a", --role-for, admin-api]'],
    ['false', '[migrate, --grant-to, "a"]'],
  ])('gives the role of the service what the API needs where it is switched on: %j', (ADMIN_API, args) => {
    const settings = { TOKEN_AUDIENCE: 'https://a', ...(ADMIN_API && { ADMIN_API }) };
    const given = ['--set', 'migration.role=a', '--set-json', `settings=${JSON.stringify(settings)}`];
    expect(render(...ALL_VALUES, ...given).manifests).toContain(`args: ${args}\n`);
  });

  it('prints how the first client is added, with the Secret of the owner', async () => {
    const [line] = notes().match(/^ +kubectl .* run .*$/m) ?? [];
    const folder = mkdtempSync(join(tmpdir(), 'cluster-'));
    const database = await createTestDatabase();
    try {
      mkdirSync(join(folder, 'ccauth-owner'));
      writeFileSync(join(folder, 'ccauth-owner/url'), `${database.url}\n`);
      writeFileSync(join(folder, 'kubectl'), `#!${process.execPath}\n${KUBECTL}`, { mode: 0o755 });
      const run = (...command: readonly [string, ...string[]]) => {
        const [program, ...args] = command;
        const env = { PATH: `${folder}:${process.env['PATH']}`, SECRETS: folder, DATABASE_URL: database.url };
        return spawnSync(program, args, { encoding: 'utf8', env }).stdout;
      };
      run(process.execPath, 'config/program.ts', 'migrate');
      const [, secret = ''] = run('bash', '-c', line ?? '').match(/client_secret +(\w+)/) ?? [];
      const environment = { CLIENT_REPOSITORY: 'postgres', DATABASE_URL: database.url, ...PATIENT };
      await using service = await startServiceUnderTest({ environment });
      expect(await getAccessToken(service.url, 'billing', secret)).toMatch(/^eyJ/);
      await service.stop();
    } finally {
      await database.drop();
      rmSync(folder, { recursive: true });
    }
  });
});
