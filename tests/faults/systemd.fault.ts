import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SETTING_NAMES } from '../support/all-settings.ts';
import { isInstalled } from '../support/installed.ts';
import { followProgram } from '../support/program.ts';
import { freeBackend } from '../support/replica.ts';
import { until } from '../support/until.ts';

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
    expect(readFileSync('docs/operate.md', 'utf8')).toContain('17 s by default');
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
