import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { BRING_BACK } from '../../../application/client-lookup.ts';
import { manageClients } from '../../../config/programs/clients-program.ts';
import { problemsOfAuditLine } from '../../support/audit-schema.ts';
import { CREATE_CLIENTS } from '../../support/clients-table.ts';
import { freshTables } from '../../support/details-tables.ts';
import { freePort } from '../../support/free-port.ts';
import { isInstalled, where } from '../../support/installed.ts';
import { runLine, runProgram } from '../../support/program.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';
import { clientsAtTerminal, clientsInProcess, clientsProgram, type Run, type RunClients } from './clients-program.ts';

describe('usage', () => {
  const COMMANDS = [
    'add',
    'list',
    'show',
    'update',
    'rotate',
    'disable',
    'enable',
    'remove',
    'import',
    'export',
    'hash',
  ];
  const withoutDatabase = clientsInProcess('');

  describe('npm run clients', () => {
    it('lists its commands and exit codes for --help', async () => {
      const run = await withoutDatabase(['--help']);
      expect(run).toMatchObject({ exitCode: 0, stderr: '' });
      for (const command of COMMANDS) expect(run.stdout).toMatch(new RegExp(`^  ${command} `, 'm'));
      expect(run.stdout).toContain('Exit codes: 0 done; 1 refused');
    });

    it('wraps its help at the width of the terminal that it is written to', async () => {
      const linesAt = async (columns: number) => {
        const stdout = Object.assign(new PassThrough(), { columns });
        const stderr = Object.assign(new PassThrough(), { fd: 2 });
        expect(await manageClients(['--help'], { stdin: Readable.from([]), stdout, stderr }, {})).toBe(0);
        return (await text(stdout.end())).split('\n').length;
      };
      expect(await linesAt(60)).toBeGreaterThan(await linesAt(200));
    });

    it.each(COMMANDS)('explains %s, with examples', async (command) => {
      const run = await withoutDatabase([command, '--help']);
      expect(run).toMatchObject({ exitCode: 0, stderr: '' });
      expect(run.stdout).toContain(`Usage: npm run clients -- ${command}`);
      expect(run.stdout).toMatch(new RegExp(`Examples:\n  .*clients -- ${command}`));
    });

    it.each([
      ['nothing', [], 'Usage: npm run clients -- [options] [command]'],
      ['an unknown command', ['frobnicate'], "error: unknown command 'frobnicate'\n"],
      ['a typo', ['ad'], "error: unknown command 'ad'\n(Did you mean add?)\n"],
      ['a typo in an inner command', ['secrets', 'ad'], '(Did you mean add?)'],
      ['a typo in an option', ['hash', '--cots', '4'], "error: unknown option '--cots'\n(Did you mean --cost?)"],
      ['a missing argument', ['show'], "error: missing required argument 'client-id'"],
      ['a missing option', ['add', 'x', '--scope', 'a'], "error: required option '--name <name>' not specified"],
      ['a secret as an option', ['rotate', 'x', '--secret=hunter2'], "error: unknown option '--secret'"],
      ['a secret as an argument', ['rotate', 'x', 'hunter2'], 'error: too many arguments'],
      ['a cost of 15', ['hash', '--cost', '15'], 'It must be a whole number from 4 to 14.'],
      ['a cost of 4.5', ['hash', '--cost', '4.5'], 'It must be a whole number from 4 to 14.'],
      [
        'no database',
        ['list'],
        'The database: set DATABASE_FILE (SQLite) or DATABASE_URL (PostgreSQL) in the environment\n',
      ],
    ])('refuses %s with exit code 2, and repeats no secret', async (_what, args, message) => {
      const run = await withoutDatabase(args);
      expect(run).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringContaining(message) });
      expect(run.stderr).not.toContain('hunter2');
    });

    it('refuses a DATABASE_URL of another database without showing it', async () => {
      const run = await clientsInProcess('mysql://someone:hunter2@127.0.0.1/x')(['list']);
      expect(run.exitCode).toBe(2);
      expect(run.stderr).not.toContain('hunter2');
    });
  });

  describe('npm run clients, on a database that cannot be used', () => {
    let database: TestDatabase;
    beforeAll(async () => {
      database = await createTestDatabase();
    }, 120_000);
    afterAll(() => database.drop());

    it('ends the program with exit code 3 if nothing listens, without showing the password', async () => {
      const clients = clientsProgram(`postgresql://somebody:hunter2@127.0.0.1:${await freePort()}/clients`);
      const run = await clients(['list', '--json']);
      expect(run).toMatchObject({ exitCode: 3, stdout: '' });
      expect(run.stderr).toMatch(
        /^The database cannot be used: .*ECONNREFUSED.*\nCLIENT_REPOSITORY=postgres npm run doctor.* says what to do\.\n$/,
      );
      expect(run.stderr).not.toContain('hunter2');
    });

    it('ends the program with exit code 3 if there is no table, which it does not create, or the role may only read it', async () => {
      const role = await database.createRole();
      const clients = clientsInProcess(role.url);
      const missing = 'The database cannot be used: table clients does not exist';
      for (const run of [clients, clientsInProcess(database.url)]) {
        expect(await run(['list'])).toMatchObject({
          exitCode: 3,
          stderr: `${missing}: run npm run migrate; if it was there before, ${BRING_BACK}\n`,
        });
      }
      await database.query('create table key_ring (sealed text)');
      expect(await clientsInProcess(database.url)(['add', 'a', '--name', 'A', '--scope', 'read'])).toMatchObject({
        exitCode: 3,
        stderr: expect.stringContaining(`${missing}, and key_ring does: ${BRING_BACK}`),
      });
      expect(await database.query("select to_regclass('clients') as found")).toEqual([{ found: null }]);
      await database.query(`drop table key_ring; ${CREATE_CLIENTS}`);
      await database.query(`grant select on clients to ${role.name}`);
      expect((await clients(['list'])).exitCode).toBe(0);
      const run = await clients(['add', 'x', '--name', 'X', '--scope', 'read', '--cost', '4']);
      expect(run).toMatchObject({ exitCode: 3, stdout: '' });
      expect(run.stderr).toBe(
        'The database cannot be used: permission denied for table clients (42501)\nUse a role with this right: npm run migrate -- --grant-to <role>, with --role-for clients or --role-for keys, gives a role what it needs.\n',
      );
      await database.query(`revoke all on clients from ${role.name}`);
    });

    it('needs only four privileges on the table', async () => {
      const role = await database.createRole();
      await database.query(`grant select, insert, update, delete on clients to ${role.name}`);
      const clients = clientsInProcess(role.url);
      const steps = [
        ['add', 'x', '--name', 'X', '--scope', 'read', '--cost', '4'],
        ['rotate', 'x', '--cost', '4'],
        ['disable', 'x'],
        ['enable', 'x'],
        ['remove', 'x'],
      ];
      for (const step of steps) expect(await clients(step)).toMatchObject({ exitCode: 0 });
      await database.query(`revoke all on clients from ${role.name}`);
    });

    it('exits with code 1 if standard output is closed before the whole output is written', async () => {
      const args = ['add', 'unread', '--name', 'X', '--scope', 'read', '--cost', '4'];
      await using program = runProgram('config/clients.ts', { DATABASE_URL: database.url }, args);
      program.process.stdout?.destroy();
      expect(await program.ended()).toBe(1);
      expect(program.stderr()).toContain('Standard output was closed before the whole output was written.\n');
    });
  });
});

describe('npm run clients at a terminal', () => {
  let database: TestDatabase;
  let clients: RunClients;

  beforeAll(async () => {
    database = await createTestDatabase();
    clients = clientsInProcess(database.url);
    await database.query(CREATE_CLIENTS);
  }, 120_000);
  afterAll(() => database.drop());
  beforeEach(async () => {
    await database.query('delete from clients');
    await clients(['add', 'billing', '--name', 'Billing', '--scope', 'read', '--cost', '4']);
  });

  async function storedSecret(): Promise<unknown> {
    return (await database.query("select client_secret from clients where client_id = 'billing'"))[0]?.[
      'client_secret'
    ];
  }

  async function responded(args: string, response: string, settings: Readonly<Record<string, string>> = {}) {
    const environment = { DATABASE_URL: database.url, ...settings };
    return clientsAtTerminal(args.split(' '), environment, async () => response);
  }

  it.each(['n\n', '\n', 'yesterday\n'])('removes nothing after the output %j', async (response) => {
    const { exitCode, stderr } = await responded('remove billing', response);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('Delete client billing with all its secrets and keys? [y/N] Nothing was changed.');
    expect(await storedSecret()).toBeDefined();
  });

  where(isInstalled('script'), it)('rotates after a yes, and says in one line that no record is kept', async () => {
    const before = await storedSecret();
    // `script` gives the program a pseudo-terminal.
    const command = `'${process.execPath}' config/clients.ts rotate billing --cost 4`;
    await using program = runLine(`script --quiet --return --command "${command}" /dev/null`, {
      DATABASE_URL: database.url,
    });
    await program.printed(/\[y\/N\] /);
    program.process.stdin?.write('y\n');
    expect(await program.ended()).toBe(0);
    const shown = program.stdout().replaceAll('\r', '');
    expect(shown).toMatch(/^Change [\w-]{36} \(client_changed\) is not recorded: AUDIT_FILE names a file/m);
    expect(shown).not.toContain('"log"');
    expect(await storedSecret()).not.toBe(before);
  });

  it('asks nothing with --yes, or where an old secret stays valid', async () => {
    const rotated = await responded('rotate billing --keep-old-for 1h --cost 4', '');
    expect(rotated.stderr).toContain('has a new secret');
    expect((await responded('remove billing --yes', '')).exitCode).toBe(0);
    expect(await storedSecret()).toBeUndefined();
  });

  it('shows the whole record where AUDIT_REQUIRED says that a change needs one', async () => {
    const { audit } = await responded('disable billing', '', { AUDIT_REQUIRED: 'true' });
    expect(audit).toMatchObject([{ event: 'client_changed' }]);
  });
});

describe('a session', () => {
  /**
   * What operators and scripts rely on. To accept a change, run this test with WRITE_RECORD=1 and read the difference.
   */
  const RECORDS = new URL('records/', import.meta.url);

  const RSA = {
    kty: 'RSA',
    n: '0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw',
    e: 'AQAB',
  };
  const EC = {
    kty: 'EC',
    crv: 'P-256',
    x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
    y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
  };
  const OKP = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' };
  const RSA_ID = 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs';
  const HASH = '$2b$04$VMWUWzUNa/nZZxJ5rsRcI.LhIVvrOkNQWgGsWm8/iTgPr1BP5aK5G';

  const FILES = {
    'rsa.json': { keys: [{ ...RSA, kid: 'k1' }] },
    'two.json': { keys: [{ ...EC, alg: 'ES256' }, OKP] },
    'private.json': { keys: [{ ...OKP, d: 'nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A' }] },
    'point.json': { keys: [{ ...EC, y: 'A'.repeat(43) }] },
    'empty.json': {},
    'clients.json': [
      { client_id: 'imported', client_secret: HASH, client_name: 'Imported', scope: 'read' },
      {
        client_id: 'plain',
        client_secret: '{noop}plain-secret-of-24-chars',
        client_name: 'Plain',
        scope: 'read write',
      },
    ],
    'replace.json': [
      { client_id: 'imported', client_secret: HASH, client_name: 'Renamed', scope: 'read' },
      { client_id: 'billing', client_secret: HASH, client_name: 'Billing', scope: 'read' },
      { client_id: 'new', client_secret: HASH, client_name: 'New', scope: 'read' },
    ],
    'refused.json': [
      { client_id: 'a', client_secret: '!', client_name: '', scope: 'read' },
      { client_id: 'a', client_name: 'A', scope: 'read' },
      { client_id: 1, client_secret: HASH, client_name: 'A', scope: ' read', admin: true },
      'text',
      { client_id: 'b', client_secret: HASH, client_name: 'B', scope: '' },
      { client_id: '', client_secret: '{noop}', client_name: 'B', scope: 'read', resources: ['x'], secrets: {} },
      { client_id: 'c', client_name: 'C', scope: 'read', jwks: { keys: [EC] }, federated_subjects: [{ issuer: 'i' }] },
      {
        client_id: 'd',
        client_name: 'D',
        scope: 'read',
        jwks: { keys: [OKP] },
        secrets: [{ secret_id: 's', name: 'n', client_secret: HASH, expires_at: 'soon' }],
      },
      { client_id: 'e', client_name: 'E', scope: 'read', jwks: { keys: [OKP] }, resources: ['https://api.example/'] },
      { client_id: 'f\ud800', client_name: 'F\0', client_secret: HASH, scope: 'read' },
    ],
    'missing.json': '[{"client_id": "a"},\n]',
    'object.json': '{"clients": []}',
  };

  const IDENTITY = '--issuer https://issuer.example --subject s';

  /**
   * Command lines, and statements that other applications might run, which are in parentheses. `<` is standard input.
   */
  const SESSION = `
list
list --json
add billing --name Billing --scope 'read write' --cost 4
add billing --name Billing --scope read
add --name Nameless --scope read --cost 4 --json
(delete from clients where client_name = 'Nameless')
add given --name Given --scope read --secret-stdin --cost 5 --json < a-secret-of-24-characters
add short --name Short --scope read --secret-stdin < short
add bad --name Bad --scope ' read'
add bad --name '' --scope read
add expiring --name Expiring --scope read --expires-at 2099-01-31 --cost 4 --json
add past --name Past --scope read --expires-at 2001-01-31
add keyed --name Keyed --scope read --method private_key_jwt --jwks rsa.json --expires-at 2099-01-31T12:00:00Z --json
add keyed2 --name Keyed --scope read --method private_key_jwt --jwks private.json
add keyed2 --name Keyed --scope read --method private_key_jwt --jwks point.json
add keyed2 --name Keyed --scope read --method private_key_jwt --jwks empty.json
add keyed2 --name Keyed --scope read --method private_key_jwt --jwks nowhere.json
add keyed2 --name Keyed --scope read --method private_key_jwt
add keyed2 --name Keyed --scope read --jwks rsa.json
add keyed2 --name Keyed --scope read --method carrier_pigeon
add federated --name Federated --scope read --method federated_jwt ${IDENTITY} --claim /team=payments --json
add federated2 --name Federated --scope read --method federated_jwt ${IDENTITY} --claim team=payments
add federated2 --name Federated --scope read --method federated_jwt ${IDENTITY} --expires-in 90d
add federated2 --name Federated --scope read --secret-stdin --expires-in 90d < a-secret-of-24-characters
add resourceful --name Resourceful --scope read --resource https://a.example/ --resource https://b.example/ --cost 4
add resourceful2 --name Resourceful --scope read --resource relative
show billing
show billing --json
show keyed
show keyed --json
show federated
show federated --json
show resourceful --json
show unknown
show unknown --json
rotate billing --cost 5
rotate billing --cost 4 --json
rotate billing --secret-stdin --json < a-secret-of-24-characters
rotate billing --keep-old-for 24h
rotate billing --keep-old-for 24h --secret-stdin
rotate keyed
rotate unknown
rotate expiring --keep-old-for 24h --cost 4 --json
rotate expiring --keep-old-for 24h --cost 4
secrets list expiring
secrets list expiring --json
disable billing
disable billing
show billing
rotate billing --cost 4
rotate billing --cost 4 --json
enable billing --json
enable billing --json
disable unknown
enable unknown --json
(insert into clients (client_id, client_secret, client_name, scope) values ('locked', '!', 'Locked', 'read'))
enable locked
show locked --json
secrets add billing --name spring --expires-at 2099-01-31 --cost 4
secrets add billing --cost 4
secrets add keyed --cost 4 --json
secrets add billing2 --cost 4
secrets add federated --name '' --cost 4
secrets list billing
secrets list billing --json
secrets list unknown
secrets remove billing
secrets remove billing nowhere
secrets remove billing --without-id
secrets remove billing --without-id
secrets remove unknown --without-id --json
update billing --add-key two.json
update billing --add-key two.json
update billing --add-key rsa.json --expires-at 2099-01-31 --json
update unknown --add-key rsa.json
update billing --add-key private.json
update billing --add-key rsa.json --expires-in 0d
show billing
update billing --remove-key ${RSA_ID}
update billing --remove-key ${RSA_ID} --json
update unknown --remove-key ${RSA_ID}
update billing --add-subject ${IDENTITY} --claim /a=b --claim /c=d=e
update billing --add-subject ${IDENTITY} --json
update billing --add-subject --issuer https://issuer.example --subject other --json
update billing --add-subject ${IDENTITY} --claim a --json
update billing --add-subject ${IDENTITY} --claim /a=b --claim /a=c
update billing --remove-subject ${IDENTITY}
update billing --remove-subject ${IDENTITY} --json
update unknown --remove-subject ${IDENTITY}
update billing --add-resource https://api.example/
update billing --add-resource https://api.example/#fragment
update billing --add-resource https://api.example/ --json
update billing --remove-resource https://api.example/ --json
update billing --remove-resource https://api.example/
update unknown --remove-resource https://api.example/
update billing --add-resource https://api.example/ --resource-scope read --token-claims {"tenant":"acme"} --token-lifetime 60
update billing --remove-resource https://api.example/ --token-claims {"iss":"x"}
update billing --remove-resource https://api.example/ --token-claims '' --token-lifetime 0 --json
update billing --token-claims tenant=acme
update billing --token-lifetime 1h
update billing --add-subject ${IDENTITY} --claim /a=b --remove-key ${RSA_ID} --name Billed
update billing --remove-subject --add-subject ${IDENTITY} --name Billing --json
update billing --remove-subject ${IDENTITY} --json
update billing --add-subject --issuer https://issuer.example
update billing ${IDENTITY}
update billing --claim /a=b --name Billing
update billing --name Billing --expires-in 1d
(update clients set credentials = jsonb_set(credentials, '{jwks,keys}', (select jsonb_agg(k || '{"expires_at": 1}') from jsonb_array_elements(credentials #> '{jwks,keys}') as k)) where credentials ? 'jwks'; update clients set credentials = jsonb_set(credentials, '{secrets}', (select jsonb_agg(s || '{"expires_at": 2}') from jsonb_array_elements(credentials -> 'secrets') as s)) where client_id = 'billing' and credentials ? 'secrets')
show billing
show billing --json
show keyed --json
import clients.json --cost 4
import clients.json --cost 4
import replace.json
disable imported
import replace.json --replace
import replace.json --replace --json
import refused.json
import missing.json
import object.json
import nowhere.json
export --prefix imp
export clients.json
(insert into clients (client_id, client_secret, client_name, scope) values ('broken', 'plain', '', 'read'), ('weak', 'plain', 'Weak', 'read'))
show broken
show broken --json
export --prefix w
list
list --json
list --prefix b --state enabled --json
list --state broken
list --limit 2
list --limit 2 --after billing --json
list --prefix zzz
list --limit 0
remove unknown
remove broken
remove billing --json
remove federated --json
remove keyed --json
hash --cost 4 < a-secret-of-24-characters
hash --cost 4 --json < a-secret-of-24-characters
hash < short
hash --cost 4 --allow-short-secret < short
hash
(alter table clients drop column credentials, drop column details)
show given --json
list --json
disable given
update given --add-resource https://api.example/
remove given
`;

  const PAGES = [
    '',
    'add',
    'list',
    'show',
    'rotate',
    'disable',
    'enable',
    'remove',
    'import',
    'export',
    'hash',
    'explain',
  ].concat(['update', 'secrets', 'secrets add', 'secrets list', 'secrets remove']);

  let database: TestDatabase;
  let folder: string;

  beforeAll(async () => {
    database = await createTestDatabase();
    await freshTables(database);
    folder = await mkdtemp(join(tmpdir(), 'clients-session-'));
    for (const [name, content] of Object.entries(FILES)) {
      await writeFile(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
    }
  }, 120_000);
  afterAll(async () => {
    await database.drop();
    await rm(folder, { recursive: true });
  });

  it('says the same on every help page', async () => {
    const pages: string[] = [];
    for (const page of PAGES) {
      const run = await clientsInProcess('')([...page.split(' ').filter(Boolean), '--help']);
      pages.push(`$ clients ${page} --help\n${run.stdout}${run.stderr}exit code ${run.exitCode}\n`);
    }
    await expectRecorded('help.txt', pages.join('\n'));
  });

  it('answers and records the same in a session of all commands', async () => {
    const clients = clientsInProcess(database.url);
    const stable = stableTexts();
    const runs: string[] = [];
    for (const line of SESSION.trim().split('\n')) {
      if (line.startsWith('(')) {
        await database.query(line.slice(1, -1));
        continue;
      }
      const [command = '', stdin = ''] = line.split(' < ');
      const args = [...command.matchAll(/'([^']*)'|\S+/g)].map(([word, quoted]) => quoted ?? word);
      const run = await clients(args.map(pathOf), stdin);
      expect(run.audit.flatMap(problemsOfAuditLine)).toEqual([]);
      runs.push(`$ clients ${line}\n${stable(textOf(run))}`);
    }
    await expectRecorded('session.txt', runs.join('\n').replaceAll(folder, '<folder>'));
  });

  function pathOf(argument: string): string {
    return argument.endsWith('.json') ? join(folder, argument) : argument;
  }

  function textOf({ stdout, stderr, audit, exitCode }: Run): string {
    const events = audit.map(({ time: _time, database_role: _role, os_user: _user, host: _host, ...line }) =>
      JSON.stringify(line),
    );
    return [stdout, stderr, ...events.map((event) => `audit ${event}\n`), `exit code ${exitCode}\n`].join('');
  }

  /** Replaces what is different in each run: random ids, secrets and hashes, and times near the present. */
  function stableTexts(): (text: string) => string {
    const secrets = new Map<string, string>();
    return (text) => {
      for (const [, secret = '', id] of text.matchAll(/client_secret[": ]+((?:([\w-]{10})\.)?[\w-]{43})["\n]/g)) {
        if (!secrets.has(secret)) secrets.set(secret, `<secret ${secrets.size + 1}>`);
        if (id !== undefined && !secrets.has(id)) secrets.set(id, `<secret id ${secrets.size + 1}>`);
      }
      let stable = text;
      for (const [secret, name] of secrets) stable = stable.replaceAll(secret, name);
      return stable
        .replace(/\$2b\$(\d\d)\$[./\w]{53}/g, '<hash of cost $1>')
        .replace(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, '<uuid>')
        .replace(/\b(1[7-9]|2\d)\d{8}\b/g, '<time>')
        .replace(/\b202\d-\d\d-\d\d(T[\d:]+Z)?/g, '<date>');
    };
  }

  async function expectRecorded(name: string, text: string): Promise<void> {
    const record = new URL(name, RECORDS);
    if (process.env['WRITE_RECORD']) await writeFile(record, text);
    expect(text).toBe(await readFile(record, 'utf8'));
  }
});
