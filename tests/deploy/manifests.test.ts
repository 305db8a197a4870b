import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PROGRAM } from '../packages/archive.ts';
import { SETTING_NAMES } from '../support/all-settings.ts';
import { DeployedProxy, missingFor, PROXIES } from '../support/deployed-proxy.ts';
import { isInstalled, where } from '../support/installed.ts';
import { followProgram } from '../support/program.ts';
import { freeBackend } from '../support/replica.ts';
import { until } from '../support/until.ts';

const CHART = 'deploy/helm/ccauth';
const PLAIN = 'deploy/kubernetes';
const KUBERNETES = '1.34.0';

const MANIFESTS = readFileSync(join(PLAIN, 'ccauth.yaml'), 'utf8');
const ALL_VALUES = ['--values', join(PLAIN, 'values.yaml')];

/** Versions whose schemas kubernetes-validate, a package for Python, has: the oldest that is supported, and a new one. */
const VALIDATED = ['1.34', '1.37'];

/** What the validator says about these files, or nothing. The resources of the Prometheus Operator have no schema there. */
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
    expect(names).toEqual(expect.arrayContaining(['BASE_URL', 'DATABASE_URL_FILE', 'MANAGEMENT_TOKEN_FILE']));
    expect(names.filter((name) => !SETTING_NAMES.includes(name))).toEqual([]);
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

const HAS_HELM = spawnSync('helm', ['version']).status === 0;
if (!HAS_HELM) process.stderr.write('The chart is not rendered, because helm is not installed.\n');

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
    [['settings.CLIENT_REPOSITORY=memory'], 'files.CLIENTS_FILE: is required'],
    [['settings.KEY_DIRECTORY=memory'], 'settings.KEY_DIRECTORY: must be postgres with more than one replica'],
    [['settings.DATABASE_URL=x'], 'settings.DATABASE_URL: cannot be set: it has a password'],
    [['settings.PORT=80'], 'settings.PORT: cannot be set'],
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

  it('says first which Secret is missing', () => {
    const values = ['image.repository=a', 'image.tag=v1', 'baseUrl=http://a'].flatMap((value) => ['--set', value]);
    expect(render(...values).problem).toContain(
      'files.DATABASE_URL_FILE: is required with PostgreSQL, as {secret: NAME',
    );
  });

  it('needs no database with the clients of a file', () => {
    const { manifests, problem } = render(
      ...['image.repository=a', 'image.tag=v1', 'baseUrl=http://a', 'replicas=1'].flatMap((value) => ['--set', value]),
      ...['settings.CLIENT_REPOSITORY=memory', 'settings.KEY_DIRECTORY=memory'].flatMap((value) => ['--set', value]),
      ...['files.CLIENTS_FILE.configMap=clients', 'files.CLIENTS_FILE.key=c.json'].flatMap((value) => ['--set', value]),
    );
    expect(problem).toBe('');
    expect(settingsOf(manifests).get('CLIENTS_FILE')).toBe('/etc/ccauth/clients-file/c.json');
    expect(manifests).not.toMatch(/kind: Job|port: 5432/);
  });

  it('waits as long as the settings say, and writes numbers as they are', () => {
    const settings = { KEY_PUBLICATION_SECONDS: 600, KEY_ROTATION_SECONDS: 31536000, SHUTDOWN_DRAIN_MS: '60000' };
    const { manifests } = render(...ALL_VALUES, '--set-json', `settings=${JSON.stringify(settings)}`);
    expect(settingsOf(manifests).get('KEY_ROTATION_SECONDS')).toBe('31536000');
    expect(manifests).toContain('failureThreshold: 360');
    expect(manifests).toContain('terminationGracePeriodSeconds: 70');
  });
});

describe('systemd', () => {
  const FOLDER = 'deploy/systemd';
  const UNITS = ['ccauth.service', 'ccauth-migrate.service'];
  /** Where the units expect the archive of a release. */
  const PROGRAM = '/opt/ccauth/ccauth';

  /** Prints each message that it gets, as systemd would: descriptors that come with it are closed. */
  const RECEIVER = `
import socket, sys
receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.bind(sys.argv[1])
print('listening', flush=True)
while True:
    print(receiver.recv(4096).decode().strip(), flush=True)
`;

  const textOf = (file: string) => readFileSync(join(FOLDER, file), 'utf8');
  const valuesOf = (text: string, name: string) =>
    [...text.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value);

  let folder: string;
  /** The program, as the units call it. */
  let program: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'systemd-'));
    program = join(folder, 'ccauth');
    writeFileSync(program, `#!/bin/sh\nexec ${process.execPath} ${resolve('config/program.ts')} "$@"\n`);
    chmodSync(program, 0o755);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  describe('the units for systemd', () => {
    it('set only settings that exist', () => {
      const names = UNITS.map(textOf)
        .flatMap((text) => valuesOf(text, '#?Environment'))
        .concat(textOf('ccauth.env').split('\n'))
        .flatMap((line) => [...line.matchAll(/(?:^| )([A-Z_]+)=/g)].map(([, name = '']) => name));
      const others = ['NODE_ENV', 'PATH', 'SERVICE_ROLE'];
      expect(names.length).toBeGreaterThan(8);
      expect(names.filter((name) => !SETTING_NAMES.includes(name) && !others.includes(name))).toEqual([]);
    });

    it('kill a service that does not stop only after it had its grace time, its drain time and two seconds', () => {
      expect(valuesOf(textOf('ccauth.service'), 'TimeoutStopSec')).toEqual(['25s']);
      expect(readFileSync('docs/operations.md', 'utf8')).toContain('17 s by default');
    });

    if (isInstalled('systemd-analyze')) {
      it('are accepted by systemd-analyze, and leave little exposed', () => {
        for (const unit of UNITS) writeFileSync(join(folder, unit), textOf(unit).replaceAll(PROGRAM, program));
        const files = UNITS.map((unit) => join(folder, unit));
        expect(execFileSync('systemd-analyze', ['verify', '--man=no', ...files], { encoding: 'utf8' })).toBe('');
        const options = ['security', '--offline=true', '--threshold=20', '--no-pager'];
        for (const file of files) execFileSync('systemd-analyze', [...options, file], { stdio: 'pipe' });
      });
    }

    if (isInstalled('systemd-notify') && isInstalled('python3')) {
      it('tell systemd that the service is started when it is ready, and leave it as the main process', async () => {
        const socket = join(folder, 'notify');
        await using receiver = followProgram(spawn('python3', ['-c', RECEIVER, socket]));
        await receiver.printed(/listening/);
        const { port, managementPort } = await freeBackend();
        const [line = ''] = valuesOf(textOf('ccauth.service'), 'ExecStart').map((value) =>
          value.replace(/^\/bin\/sh -c '(.*)'$/, '$1').replaceAll(PROGRAM, program),
        );
        await using service = followProgram(
          spawn('/bin/sh', ['-c', line], {
            env: {
              PATH: process.env['PATH'],
              NOTIFY_SOCKET: socket,
              CLIENT_REPOSITORY: 'memory',
              CLIENTS_FILE: resolve('config/demo/clients.json'),
              PORT: String(port),
              MANAGEMENT_PORT: String(managementPort),
              SHUTDOWN_GRACE_MS: '0',
            },
          }),
        );
        await until(() => receiver.stdout().includes('READY=1'), 'systemd is told');
        const ready = await fetch(`http://127.0.0.1:${managementPort}/readyz`);
        expect(ready.status).toBe(200);
        // Nothing is left of what waited, and nobody has to reap it.
        const children = () => execFileSync('ps', ['-A', '-o', 'ppid=,comm='], { encoding: 'utf8' }).split('\n');
        await until(
          () => children().every((row) => Number.parseInt(row, 10) !== service.process.pid),
          'the service has no child',
        );
        service.process.kill('SIGTERM');
        expect(await service.ended()).toBe(0);
      }, 60_000);
    }

    if (isInstalled('logrotate') && process.getuid?.() === 0) {
      it('rotate the audit file as its owner, and then signal the service', () => {
        const log = join(folder, 'log');
        const [audit, signalled] = [join(log, 'audit.log'), join(log, 'signalled')];
        execFileSync('install', ['-d', '-o', 'nobody', '-g', 'nogroup', '-m', '0750', log]);
        chmodSync(folder, 0o755);
        cpSync('config/demo/clients.json', audit);
        execFileSync('chown', ['nobody:nogroup', audit]);
        const configuration = join(folder, 'logrotate.conf');
        const text = textOf('ccauth.logrotate')
          .replace('/var/log/ccauth/audit.log', audit)
          .replace('su ccauth ccauth', 'su nobody nogroup')
          .replace('systemctl kill --kill-whom=main --signal=HUP ccauth.service', `id -un > ${signalled}`);
        writeFileSync(configuration, text, { mode: 0o644 });
        execFileSync('logrotate', ['--force', '--state', join(folder, 'state'), configuration], { stdio: 'pipe' });
        expect(execFileSync('ls', [log], { encoding: 'utf8' })).toMatch(/^audit\.log-\d{8}\nsignalled\n$/);
        expect(readFileSync(signalled, 'utf8').trim()).toBe('root');
      });
    }
  });
});

describe('the samples for proxies', () => {
  const BACKEND = { port: 8080, managementPort: 8081 };

  it.each(readdirSync('deploy/proxies'))(
    '%s marks the line for client addresses, unless another file has it',
    (name) => {
      const text = readFileSync(`deploy/proxies/${name}`, 'utf8');
      expect(/The line for client addresses|TRUSTED_PROXIES=/.test(text)).toBe(true);
    },
  );

  for (const name of Object.keys(PROXIES) as (keyof typeof PROXIES)[]) {
    const missing = missingFor(name);
    if (missing !== undefined) {
      process.stderr.write(`deploy/proxies/${name} is not checked, because ${missing}.\n`);
      continue;
    }
    it(`${name} is accepted by ${PROXIES[name].program}`, async () => {
      using proxy = await DeployedProxy.prepare(name, BACKEND);
      expect(() => proxy.check()).not.toThrow();
    });
  }
});

describe('the memory of the service', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };

  /** Where each way to run the service starts Node.js. The unit for systemd runs the program of the archive, Compose and Kubernetes the image. */
  const STARTS = {
    'npm start': scripts['start'],
    'npm run demo': scripts['demo'],
    'the image': /^ENTRYPOINT (.*)$/m.exec(readFileSync('Dockerfile', 'utf8'))?.[1],
    'the archive': PROGRAM,
  };

  /** Where a limit is, and what it looks like there. */
  const LIMITS = [
    ['deploy/helm/ccauth/values.yaml', /memory: (\d+)Mi/g],
    ['deploy/kubernetes/ccauth.yaml', /memory: (\d+)Mi/g],
    ['docker-compose.yml', /mem_limit: (\d+)m/g],
    ['deploy/compose/replicas.yml', /mem_limit: (\d+)m/g],
    ['deploy/systemd/ccauth.service', /^MemoryMax=(\d+)M/gm],
  ] as const;

  const found = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, value]) => value);

  it.each(Object.entries(STARTS))('is limited for young objects by %s', (_, start = '') => {
    expect(found(start, /--max-semi-space-size=(\d+)/g)).toEqual(['8']);
  });

  it.each(LIMITS)('is limited to what docs/operations.md says, by %s', (file, pattern) => {
    const [documented] = found(readFileSync('docs/operations.md', 'utf8'), /limit of (\d+) MiB/g);
    expect(documented).toBeDefined();
    expect(new Set(found(readFileSync(file, 'utf8'), pattern))).toEqual(new Set([documented]));
  });
});
