import { createHmac, randomUUID } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeProtectedHeader } from 'jose';
import { TokenSigner } from '../../application/token-signer.ts';
import { PARTS } from '../../config/container.ts';
import { freePort } from '../../tests/support/free-port.ts';
import { freshKeyRing } from '../../tests/support/fresh-key-ring.ts';
import { getAccessToken, send } from '../../tests/support/http.ts';
import { readPage, snippetsOf } from '../../tests/support/page-snippets.ts';
import {
  GOOD_CLIENT,
  GOOD_SECRET,
  type ServiceUnderTest,
  startServiceUnderTest,
} from '../../tests/support/running-service.ts';
import { SEALED_KEYS } from '../../tests/support/sealed-keys.ts';
import { createSqliteFile } from '../../tests/support/sqlite-file.ts';
import { until } from '../../tests/support/until.ts';
import { exampleEnvironment, startServiceForClients } from './client-snippet.ts';
import { type Command, type InstalledProject, installProject, type Project } from './installed-project.ts';
import { GO, GO_EXAMPLE, PYTHON, RUST_VERIFIER, SPRING_VERIFIER } from './projects.ts';
import { startVerifier, type Verifier } from './start-verifier.ts';

/** Without the section of mcp.test.ts. */
const PAGE = readPage('docs/resource-servers.md').replace(/\n## MCP servers\n.*?(?=\n## )/s, '');
const SNIPPETS = snippetsOf(PAGE);
const ISSUER = 'https://auth.example.com';
const AUDIENCE = 'https://api.example.com';
const CLIENT_ID = GOOD_CLIENT.client_id;
const PROFILE = { SERVICE_PROFILE: 'standard', TOKEN_PROFILE: 'rfc9068', TOKEN_AUDIENCE: AUDIENCE };

/** A snippet of the page, and what changes it into a verifier of default tokens. */
interface VerifierSnippet {
  readonly project: Project;
  readonly file: string;
  readonly path: string;
  readonly command: (keySet: string) => Command;
  readonly forDefaultTokens: readonly (readonly [shown: string | RegExp, instead: string])[];
  /**
   * An interval of the page, one for the short rotation of the test, and the default of the library if that loses
   * tokens.
   */
  readonly interval?: { readonly shown: string; readonly short: string; readonly byDefault?: string };
  /** Whether the snippet gets new keys by itself. */
  readonly fetches: boolean;
}

const go = (name: string, more: Partial<VerifierSnippet>): VerifierSnippet => ({
  project: GO,
  file: `${name}/access_token.go`,
  path: `${name}/access_token.go`,
  command: () => ['go', 'run', `./${name}`],
  forDefaultTokens: [],
  fetches: true,
  ...more,
});

const VERIFIERS: readonly VerifierSnippet[] = [
  go('server', {
    project: GO_EXAMPLE,
    file: 'go/server/access_token.go',
    forDefaultTokens: [
      [/\t\t\tjwt.WithAudience.*\n/, ''],
      ['token.Header["typ"] != "at+jwt"', 'token.Header["typ"] != nil'],
      ['if !slices', 'if false && !slices'],
    ],
    interval: {
      shown: 'rate.Every(5*time.Second)',
      short: 'rate.Every(2*time.Second)',
      byDefault: 'rate.Every(5*time.Minute)',
    },
  }),
  go('oidc', {
    forDefaultTokens: [
      [/ClientID: {13}"https.*\n/, 'SkipClientIDCheck: true,\n'],
      ['claims.ClientID == "" || !slices', 'false && !slices'],
    ],
  }),
  go('jwx', {
    forDefaultTokens: [
      [/\t\t\tjwt.WithAudience.*\n/, ''],
      [/if token.Get.*\{/, 'if _ = clientID; false {'],
      ['if !slices', 'if false && !slices'],
    ],
    interval: { shown: '20*time.Second', short: '2*time.Second', byDefault: '15*time.Minute' },
  }),
  {
    project: PYTHON,
    file: 'python/access_token.py',
    path: 'access_token.py',
    command: () => ['venv/bin/python', 'verify_lines.py'],
    forDefaultTokens: [
      ['if jwt.get_unverified_header(token).get("typ") != "at+jwt"', 'if False'],
      [/ +audience=.*\n/, ''],
      ['options={', 'options={"verify_aud": False, '],
      ['if scope not in claims.get("scope", "").split()', 'if False'],
    ],
    interval: { shown: 'cooldown_duration=5', short: 'cooldown_duration=2' },
    fetches: true,
  },
  {
    project: RUST_VERIFIER,
    file: 'rust-jsonwebtoken/src/access_token.rs',
    path: 'src/access_token.rs',
    command: (keySet) => ['cargo', 'run', '--quiet', '--', keySet],
    forDefaultTokens: [
      ['header.typ.as_deref() != Some("at+jwt")', 'false'],
      [/validation.set_audience.*\n/, 'validation.validate_aud = false;\n'],
      [/ +pub (client_id|scope): String,\n/g, ''],
    ],
    fetches: false,
  },
  {
    project: SPRING_VERIFIER,
    file: 'spring/ThingsSecurity.java',
    path: 'src/main/java/example/ThingsSecurity.java',
    command: () => [...SPRING_VERIFIER.compile, '-Dexec.mainClass=example.VerifyLines'],
    // With `issuer-uri` alone, Spring Boot makes its decoder in this way.
    forDefaultTokens: [
      [/NimbusJwtDecoder decoder[\s\S]*?return decoder;/, 'return JwtDecoders.fromIssuerLocation(issuer);'],
      [
        'import org.springframework.security.oauth2.jwt.JwtDecoder;',
        'import org.springframework.security.oauth2.jwt.*;',
      ],
    ],
    fetches: true,
  },
];

/** Writes the verifier into its project, and starts it. */
async function start(
  { folder }: InstalledProject,
  { path, file, command }: VerifierSnippet,
  url: string,
  changes: readonly (readonly [shown: string | RegExp, instead: string])[] = [],
): Promise<Verifier> {
  let code = SNIPPETS.get(file) ?? '';
  for (const [shown, instead] of changes) {
    const changed = code.replace(shown, instead);
    if (changed === code) throw new Error(`${file} does not have ${shown}`);
    code = changed;
  }
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), code.replaceAll(ISSUER, url));
  if (path.endsWith('.go')) {
    const main = await readFile(new URL('projects/go/verify-lines.go.txt', import.meta.url), 'utf8');
    await writeFile(join(folder, dirname(path), 'main.go'), main);
  }
  return startVerifier(command((await send(url, '/oauth2/jwks')).text), folder, exampleEnvironment(url));
}

const base64url = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');

const secondsNow = () => Math.floor(Date.now() / 1000);

/** The claims of a valid token of the profile. */
const claimsOf = ({ url }: ServiceUnderTest, now = secondsNow()) => ({
  iss: url,
  sub: CLIENT_ID,
  aud: AUDIENCE,
  client_id: CLIENT_ID,
  scope: 'read write',
  iat: now,
  nbf: now,
  exp: now + 300,
  jti: randomUUID(),
});

/** Tokens that no resource server may accept, by name. */
async function forgeriesOf(service: ServiceUnderTest, token: string): Promise<Readonly<Record<string, string>>> {
  const claims = claimsOf(service);
  const signer = new TokenSigner(service.container.resolve(PARTS.keyProvider), 'at+jwt');
  const { kid } = decodeProtectedHeader(token);
  const publicKey = (await send(service.url, '/oauth2/jwks')).text;
  const hs256 = `${base64url({ alg: 'HS256', typ: 'at+jwt', kid })}.${base64url(claims)}`;
  return {
    'that has expired': await signer.sign(claimsOf(service, secondsNow() - 900)),
    'of another issuer': await signer.sign({ ...claims, iss: `${service.url}/` }),
    'for another audience': await signer.sign({ ...claims, aud: CLIENT_ID }),
    'of an unknown key': await new TokenSigner(await freshKeyRing(), 'at+jwt').sign(claims),
    'with another payload': [...token.split('.', 1), base64url(claims), token.split('.')[2]].join('.'),
    'without a signature': `${base64url({ alg: 'none', typ: 'at+jwt', kid })}.${base64url(claims)}.`,
    'signed with the public key': `${hs256}.${createHmac('sha256', publicKey).update(hs256).digest('base64url')}`,
    'that is malformed': 'no-token',
  };
}

it('runs all snippets with a file name, except for those of Node.js and of proxies', () => {
  const others = [...SNIPPETS.keys()].filter((file) => !/\.(js|cfg|conf|yaml)$/.test(file));
  expect(VERIFIERS.map(({ file }) => file).toSorted()).toEqual(others.toSorted());
});

const RESTARTS = 10;

/**
 * What a verifier says about valid tokens while a service changes its key three times and starts again ten times, and a
 * stranger sends tokens too.
 */
async function refusalsAtRotations(
  installed: InstalledProject,
  snippet: VerifierSnippet,
  interval: string | undefined,
): Promise<readonly string[]> {
  const port = await freePort();
  await using file = await createSqliteFile();
  await file.add({
    clientId: CLIENT_ID,
    clientSecret: GOOD_CLIENT.client_secret,
    clientName: GOOD_CLIENT.client_name,
    scope: GOOD_CLIENT.scope,
  });
  const settings = {
    ...PROFILE,
    PORT: String(port),
    BASE_URL: `http://127.0.0.1:${port}`,
    CLIENT_REPOSITORY: 'sqlite',
    DATABASE_FILE: file.path,
    ...SEALED_KEYS,
    KEY_ROTATION_SECONDS: '8',
    KEY_PUBLICATION_SECONDS: '4',
  };
  let service = await startServiceForClients(settings);
  const shown = snippet.interval?.shown;
  const changes = shown === undefined || interval === undefined ? [] : [[shown, interval] as const];
  await using verifier = await start(installed, snippet, service.url, changes);
  const stranger = new TokenSigner(await freshKeyRing(), 'at+jwt');
  const kids = new Set<string | undefined>();
  const answers: string[] = [];
  let restarts = 0;
  try {
    await until(async () => {
      await verifier.verify(await stranger.sign(claimsOf(service)));
      const token = await getAccessToken(service.url, CLIENT_ID, GOOD_SECRET);
      kids.add(decodeProtectedHeader(token).kid);
      answers.push(await verifier.verify(token));
      if (restarts < RESTARTS && answers.length % 10 === 0) {
        await service.stop();
        service = await startServiceForClients(settings);
        restarts += 1;
        answers.push(await verifier.verify(token));
      }
      await delay(100);
      return kids.size === 4 && restarts === RESTARTS;
    }, 'four keys have signed');
  } finally {
    await service.stop();
  }
  return answers.filter((response) => response !== `accepted ${CLIENT_ID}`);
}

for (const snippet of VERIFIERS) {
  const { interval } = snippet;
  describe(snippet.file, () => {
    let installed: InstalledProject | undefined;
    beforeAll(async () => {
      installed = await installProject(snippet.project);
    });
    afterAll(async () => {
      await installed?.[Symbol.asyncDispose]();
    });

    it('accepts a token of the profile, and refuses forgeries', async () => {
      if (installed === undefined) return;
      await using service = await startServiceForClients(PROFILE);
      await using verifier = await start(installed, snippet, service.url);
      const token = await getAccessToken(service.url, CLIENT_ID, GOOD_SECRET);
      expect(await verifier.verify(token)).toBe(`accepted ${CLIENT_ID}`);
      for (const [name, forged] of Object.entries(await forgeriesOf(service, token))) {
        expect([name, await verifier.verify(forged)]).toEqual([name, expect.stringMatching(/^refused/)]);
      }
      expect(await verifier.verify(token)).toBe(`accepted ${CLIENT_ID}`);
    });

    it('accepts a default token with the changes that the page names', async () => {
      if (installed === undefined) return;
      await using service = await startServiceForClients();
      await using another = await startServiceUnderTest({ environment: { BASE_URL: service.url } });
      await using verifier = await start(installed, snippet, service.url, snippet.forDefaultTokens);
      const token = await getAccessToken(service.url, CLIENT_ID, GOOD_SECRET);
      expect(await verifier.verify(token)).toBe(`accepted ${CLIENT_ID}`);
      const foreign = await getAccessToken(another.url, CLIENT_ID, GOOD_SECRET);
      expect(await verifier.verify(foreign)).toMatch(/^refused/);
    });

    if (snippet.fetches) {
      it('loses no token in three rotations and ten restarts, also beside tokens with random key ids', async () => {
        if (installed === undefined) return;
        expect(await refusalsAtRotations(installed, snippet, interval?.short)).toEqual([]);
      });
    }

    if (interval?.byDefault !== undefined) {
      it('would lose tokens at a rotation with the default of the library', async () => {
        if (installed === undefined) return;
        expect(await refusalsAtRotations(installed, snippet, interval.byDefault)).not.toEqual([]);
      });
    }
  });
}
