import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readAlertRules } from '../support/alert-rules.ts';
import { requestToken } from '../support/http.ts';
import { isInstalled } from '../support/installed.ts';
import { readPage } from '../support/page-snippets.ts';
import {
  type ServiceWithEverything,
  startServiceWithEverything,
  TOKEN_REQUEST,
} from '../support/service-with-everything.ts';
import { until } from '../support/until.ts';

/** What follows the alerts is about leaks and failovers. */
const [ALERTS = ''] = readPage('docs/runbook.md').split('\n## After a leak\n');
const [, ...SECTIONS] = ALERTS.split(/^### /m);
/** What the page looks for in the audit log, before the first alert. */
const [, AUDIT_COMMANDS = []] = [...(ALERTS.split('\n## ')[0] ?? '').matchAll(/^```sh\n.*?^```$/gms)].map(([block]) =>
  commandsOf(block),
);
const COMMANDS = [
  ...AUDIT_COMMANDS.map((command) => ({ alert: 'The audit log', command })),
  ...SECTIONS.flatMap((section) => commandsOf(section).map((command) => ({ alert: titleOf(section), command }))),
];
const SOURCES = globSync('{adapters,application,config,domain}/**/*.ts').map((path) => readFileSync(path, 'utf8'));

/** The functions that the page defines first, which its commands call. */
const FUNCTIONS = [...ALERTS.matchAll(/^\w+\(\) \{.*\}$/gm)].join('\n');

function titleOf(section: string): string {
  return section.slice(0, section.indexOf('\n'));
}

function commandsOf(section: string): readonly string[] {
  return [...section.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, block = '']) =>
    block
      .trim()
      .split('\n')
      .map((line) => line.replace(/ +# .*$/, '')),
  );
}

/** The values of a member that a command looks for in the log: of `"event":"(key_revoked|key_(un)?known)"`, three. */
function valuesOf(member: string, command: string): readonly string[] {
  return [...command.matchAll(new RegExp(`"${member}":"([a-z_|()?]+)"`, 'g'))].flatMap(([, pattern = '']) =>
    pattern
      .replaceAll('(un)?', '~')
      .replace(/[()]/g, '')
      .split('|')
      .flatMap((value) => (value.includes('~') ? [value.replace('~', ''), value.replace('~', 'un')] : [value])),
  );
}

describe('docs/runbook.md', () => {
  it('has a section for each alert, in the same order', () => {
    expect(SECTIONS.map(titleOf)).toEqual(readAlertRules().map(({ alert }) => alert));
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
    let service: ServiceWithEverything;
    let folder: string;
    let log: string;
    beforeAll(async () => {
      service = await startServiceWithEverything();
      for (const secret of [TOKEN_REQUEST.client_secret, 'wrong']) {
        await requestToken(service.url, { ...TOKEN_REQUEST, client_secret: secret });
      }
      await until(() => service.program.stdout().includes('"reason":"secret_wrong"'), 'both requests are logged');
      folder = mkdtempSync(join(tmpdir(), 'runbook-'));
      log = join(folder, 'service.log');
      writeFileSync(log, service.program.stdout());
    });
    afterAll(async () => {
      rmSync(folder, { recursive: true });
      await service[Symbol.asyncDispose]();
    });

    const tools = ['curl', 'psql', 'bash'];
    if (!tools.every((tool) => isInstalled(tool))) return;

    it.each(COMMANDS)('$alert: $command', ({ command }) => {
      const environment = { MANAGEMENT: service.managementUrl, LOG: log, DATABASE_URL: service.database.url };
      const { PATH } = process.env;
      const ran = spawnSync('bash', ['--norc', '-c', `${FUNCTIONS}\nset -o pipefail; ${command}`], {
        env: { PATH, ...environment },
        encoding: 'utf8',
      });
      expect(ran.stderr).toBe('');
      // A service in good order has logged no fault, and so grep finds nothing: 1.
      if (/^(?:events|count) |^grep .*\$LOG/.test(command)) expect([0, 1]).toContain(ran.status);
      else expect({ status: ran.status, printed: ran.stdout !== '' }).toEqual({ status: 0, printed: true });
    });

    it('find an event of a key in AUDIT_FILE, if the service has one', () => {
      const audit = join(folder, 'audit.log');
      writeFileSync(audit, (readFileSync(log, 'utf8').match(/^\{"log":"audit",.*$/gm) ?? []).join('\n'));
      const command = AUDIT_COMMANDS.find((one) => one.includes('key_signing')) ?? '';
      const environment = { PATH: process.env['PATH'], LOG: '/dev/null', AUDIT_FILE: audit };
      const ran = spawnSync('bash', ['--norc', '-c', `${FUNCTIONS}\n${command}`], {
        env: environment,
        encoding: 'utf8',
      });
      expect(ran.stdout).toContain('"event":"key_signing"');
    });

    it('find the reason, the address and the client of a refusal in the log', () => {
      for (const member of ['reason', 'remote_address', 'client_id', 'route', 'status', 'duration_ms']) {
        expect(readFileSync(log, 'utf8')).toContain(`"${member}":`);
      }
    });
  });
});
