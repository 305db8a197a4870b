import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runClients } from '../../../adapters/cli/clients-program/run-clients.ts';
import { explainCommand } from '../../../adapters/cli/federated-jwt/explain-command.ts';
import { openExplain } from '../../../config/capabilities/federated-jwt/open-explain.ts';
import { runProgram } from '../../support/program.ts';
import { PLATFORMS, platformOf, ruleOf, WorkloadIssuer, WorkloadKey } from '../../support/workload-issuer.ts';

const AUDIENCE = 'https://auth.test';

describe('clients explain', () => {
  const issuers = new Map<string, WorkloadIssuer>();
  let folder: string;
  let environment: Record<string, string>;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'explain-'));
    for (const { name } of PLATFORMS) issuers.set(name, await WorkloadIssuer.start(name));
    const client = (client_id: string, rule: object) => {
      return { client_id, client_name: 'W', scope: 'read', federated_subjects: [rule] };
    };
    const gitlab = platformOf('gitlab');
    const clients = [
      ...PLATFORMS.map((platform) => client(`${platform.name}-client`, ruleOf(platform))),
      ...['same-1', 'same-2'].map((id) => client(id, { ...ruleOf(gitlab), subject: 'project_path:a/b:same' })),
    ];
    environment = {
      CLIENTS_FILE: join(folder, 'clients.json'),
      CLIENT_ASSERTION_ISSUERS_FILE: join(folder, 'issuers.json'),
      TOKEN_ISSUER: AUDIENCE,
    };
    await writeFile(environment['CLIENTS_FILE'] ?? '', JSON.stringify(clients));
    const entries = [...issuers.values()].map((issuer) => issuer.entry());
    await writeFile(environment['CLIENT_ASSERTION_ISSUERS_FILE'] ?? '', JSON.stringify(entries));
  });
  afterAll(async () => {
    for (const issuer of issuers.values()) await issuer[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  function issuer(name: string): WorkloadIssuer {
    const found = issuers.get(name);
    if (found === undefined) throw new Error(name);
    return found;
  }

  const notNeeded = () => {
    throw new Error('explain needs no such part');
  };

  async function explain(input: string, args: readonly string[] = [], more: Readonly<Record<string, string>> = {}) {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const exitCode = await runClients(
      ['explain', ...args],
      { stdin: Readable.from([input]), stdout, stderr },
      {
        open: notNeeded,
        encodeSecret: notNeeded,
        clock: { now: notNeeded },
        streamClientsFile: notNeeded,
        formatClient: notNeeded,
        more: (program, stdin) => [explainCommand(() => openExplain({ ...environment, ...more }), program, stdin)],
        version: 'not needed',
      },
    );
    stdout.end();
    stderr.end();
    return { exitCode, stdout: await text(stdout), stderr: await text(stderr) };
  }

  test.each(PLATFORMS.map(({ name }) => name))(
    'shows what a token of %s matches, and nothing of its signature',
    async (name) => {
      const assertion = issuer(name).mint(AUDIENCE);
      const { exitCode, stdout, stderr } = await explain(`${assertion}\n`);
      expect(stderr).toContain('signature: verified');
      expect(stderr).toContain(`rule of client ${name}-client: matches`);
      expect(stderr).toContain(`The service accepts it for client ${name}-client.`);
      expect([exitCode, stdout]).toEqual([0, '']);
      for (const part of assertion.split('.')) expect(stdout + stderr).not.toContain(part.slice(0, 24));
    },
  );

  test('prints one JSON document on request', async () => {
    const { stdout } = await explain(issuer('aws').mint(AUDIENCE), ['--json']);
    expect(JSON.parse(stdout)).toEqual({
      accepted: true,
      client_id: 'aws-client',
      issuer: platformOf('aws').issuer,
      subject: platformOf('aws').subject,
    });
  });

  const seconds = (shift: number) => Math.floor(Date.now() / 1000) + shift;

  test.each<[string, () => string, RegExp]>([
    ['no token', () => 'hello', /assertion_malformed\. The assertion is not a JWT/],
    [
      'a token of another issuer',
      () => issuer('gitlab').mint(AUDIENCE, { iss: 'https://gitlab.test' }),
      /issuer: "https:\/\/gitlab\.test" \(not trusted\)[\s\S]*assertion_issuer_untrusted\.[\s\S]*CLIENT_ASSERTION_ISSUERS_FILE/,
    ],
    [
      'another audience',
      () => issuer('gitlab').mint('https://other.test'),
      /audience: "https:\/\/other\.test" \(expected "https:\/\/auth\.test"\)[\s\S]*assertion_audience_wrong\. The assertion was made for another audience/,
    ],
    [
      'a token that has expired',
      () => issuer('gitlab').mint(AUDIENCE, { exp: seconds(-60) }),
      /expired 6\d s ago[\s\S]*assertion_expired/,
    ],
    [
      'a token that is too old',
      () => issuer('gitlab').mint(AUDIENCE, { iat: seconds(-4_000) }),
      /issued 400\d s ago[\s\S]*assertion_too_old\.[\s\S]*CLIENT_ASSERTION_MAX_AGE_SECONDS/,
    ],
    [
      'another algorithm',
      () => issuer('gitlab').mint(AUDIENCE, {}, { alg: 'HS256' }),
      /algorithm: "HS256"[\s\S]*assertion_algorithm_refused/,
    ],
    [
      'a key that is not published',
      () => new WorkloadKey('new').mint({ claims: platformOf('gitlab').claims(AUDIENCE, seconds(0)) }),
      /key id "new"[\s\S]*signature: key_unknown[\s\S]*assertion_key_unknown/,
    ],
    [
      'a signature that is wrong',
      () => new WorkloadKey('gitlab-1').mint({ claims: platformOf('gitlab').claims(AUDIENCE, seconds(0)) }),
      /signature: signature_wrong[\s\S]*assertion_signature_wrong/,
    ],
    [
      'a subject without a rule',
      () => issuer('gitlab').mint(AUDIENCE, { sub: 'project_path:a/b:ref' }),
      /assertion_subject_unknown\. The issuer is trusted, but no client has a rule/,
    ],
    [
      'the other spelling of a repository',
      () => issuer('github-actions').mint(AUDIENCE, { sub: 'repo:octo-org/octo-repo:ref:refs/heads/main' }),
      /assertion_subject_unknown[\s\S]*two spellings/,
    ],
    [
      'the id of another project',
      () => issuer('gitlab').mint(AUDIENCE, { project_id: '21' }),
      /client gitlab-client: \/project_id is "21" and must be "20"[\s\S]*assertion_claims_unmatched/,
    ],
    [
      'a claim that is a number',
      () => issuer('gitlab').mint(AUDIENCE, { project_id: 20 }),
      /\/project_id is 20 and must be "20"[\s\S]*by a text only/,
    ],
    [
      'a claim that is an object',
      () => issuer('gitlab').mint(AUDIENCE, { project_id: { toString: 1, valueOf: 2 } }),
      /\/project_id is \{"toString":1,"valueOf":2\} and must be "20"/,
    ],
    [
      'a claim that is missing',
      () => issuer('gitlab').mint(AUDIENCE, { project_id: undefined }),
      /\/project_id is missing/,
    ],
    [
      'a subject of two clients',
      () => issuer('gitlab').mint(AUDIENCE, { sub: 'project_path:a/b:same' }),
      /client_ambiguous\. Several clients[\s\S]*send client_id/,
    ],
  ])('says why the service refuses %s', async (_what, mint, expected) => {
    const { exitCode, stderr } = await explain(mint());
    expect(stderr).toMatch(expected);
    expect(exitCode).toBe(1);
  });

  test('takes the client id and the assertion type of the request', async () => {
    const assertion = issuer('gitlab').mint(AUDIENCE, { sub: 'project_path:a/b:same' });
    expect((await explain(assertion, ['--client-id', 'same-2'])).stderr).toContain('accepts it for client same-2');
    expect((await explain(issuer('spiffe').mint(AUDIENCE), ['--type', 'jwt-spiffe'])).exitCode).toBe(0);
    expect((await explain(assertion, ['--type', 'jwt-spiffe'])).stderr).toContain('assertion_issuer_untrusted');
  });

  test('explains the rest where the key set cannot be fetched, and does not call it accepted', async () => {
    await issuer('aws').keySet.leave();
    const { exitCode, stderr } = await explain(issuer('aws').mint(AUDIENCE));
    await issuer('aws').keySet.comeBack();
    expect(stderr).toMatch(/signature: fetch failed/);
    expect(stderr).toContain('would accept it for client aws-client, if its signature is right');
    expect(exitCode).toBe(1);
  });

  test('escapes what a token could do to a terminal', async () => {
    const { stderr } = await explain(issuer('gitlab').mint(AUDIENCE, { sub: '\u001b[31mred\u202e' }));
    expect(stderr).not.toMatch(/[\p{Cf}]/u);
    expect(stderr).not.toContain('\u001b');
    expect(stderr).toContain(String.raw`"\u001b[31mred\u{202e}"`);
  });

  test('needs an assertion and the settings of the service, and names what is missing', async () => {
    expect(await explain('')).toMatchObject({ exitCode: 2, stderr: 'There is no assertion on standard input.\n' });
    expect(await explain('x'.repeat(20_000))).toMatchObject({ exitCode: 1 });
    const missing = await explain('x', [], { CLIENT_ASSERTION_ISSUERS_FILE: '' });
    expect(missing.exitCode).toBe(2);
    expect(missing.stderr).toContain('CLIENT_ASSERTION_ISSUERS_FILE: is required');
    const argument = await explain('x', ['eyJhbGciOiJSUzI1NiJ9.e30.AA']);
    expect(argument.exitCode).toBe(2);
    expect(argument.stderr).not.toContain('eyJ');
  });

  test('is a command of npm run clients', async () => {
    await using program = runProgram('config/clients.ts', environment, ['explain']);
    program.process.stdin?.end(issuer('kubernetes').mint(AUDIENCE));
    expect(await program.ended()).toBe(0);
    expect(program.stderr()).toContain('The service accepts it for client kubernetes-client.');
  });
});
