import { describe, expect, it } from '@jest/globals';
import { LoadLimit } from '../../adapters/http/admission/load-limit.ts';
import { openApiEndpoint } from '../../adapters/http/endpoints/open-api-endpoint.ts';
import { ALL_REASONS, type AnyReason, RESPONSES, refusalBody } from '../../adapters/http/server/http-refusal.ts';
import type { AuthorizeRequest } from '../../application/authorize-request.ts';
import { PARTS } from '../../config/parts.ts';
import { ASSERTION_MISTAKES, assertionForm, PLATFORM, PLATFORM_KEY } from '../support/assertion-mistakes.ts';
import {
  API_DOCUMENT,
  documentedAs,
  documentedRefusals,
  documentedResponses,
} from '../support/documented-responses.ts';
import { getAccessToken, requestToken, send, sendRaw } from '../support/http.ts';
import { readPage } from '../support/page-snippets.ts';
import { takeResponsesOf } from '../support/response-record.ts';
import {
  GOOD_CLIENT,
  GOOD_SECRET,
  PLAIN_CLIENT,
  type ServiceOptions,
  type ServiceUnderTest,
  startServiceUnderTest,
} from '../support/running-service.ts';

/** Reasons without a response in the document. */
const WITHOUT_ANSWER: Readonly<Record<string, string>> = {
  client_disconnected: 'nobody is there to get it',
  scope_insufficient: 'no route of the service requires a scope',
  host_unknown: 'only the management port looks at the name',
  operator_token_wrong: 'only the management port asks for the token of the operator',
};

/** Every refusal that the code can give: its status and its body. */
const REFUSALS = Object.entries(ALL_REASONS)
  .filter(([reason]) => !(reason in WITHOUT_ANSWER))
  .map(([reason, { code }]) => {
    const body = refusalBody({ code, reason: reason as AnyReason });
    return { status: RESPONSES[code].status, name: body.error_description === undefined ? body.error : reason, body };
  });

describe('docs/openapi.json', () => {
  it('has the version of the service', () => {
    expect(API_DOCUMENT.info.version).toBe(JSON.parse(readPage('package.json')).version);
  });

  it('has an example for every refusal of the code, under its status, and no others', () => {
    const texts = (refusals: readonly object[]) => [...new Set(refusals.map((one) => JSON.stringify(one)))].toSorted();
    expect(texts(documentedRefusals())).toEqual(texts(REFUSALS));
  });

  it('has every path of a service with all settings, and no other', async () => {
    await using service = await startServiceUnderTest({
      environment: { PUBLIC_METADATA: 'true', METADATA_COMPATIBILITY: 'mcp,oidc' },
    });
    const routes = service.built.routes.map(({ path, methods }) => ({
      // Some clients add a slash to the path of the metadata, which depends on the issuer anyway.
      path: path.replace(/:(\w+)/g, '{$1}').replace(/\/$/, ''),
      methods: Object.keys(methods).toSorted(),
    }));
    const documented = Object.entries(API_DOCUMENT.paths).map(([path, item]) => ({
      path,
      methods: Object.keys(item).flatMap((key) => (key.startsWith('x-') ? [] : [key.toUpperCase()])),
    }));
    const texts = (paths: readonly object[]) => [...new Set(paths.map((one) => JSON.stringify(one)))].toSorted();
    expect(texts(documented)).toEqual(texts(routes));
  });

  it('has requests that get a token', async () => {
    const { client_id, client_secret, ...others } = { client_id: 'my-client', client_secret: '{noop}my-secret' };
    const resources = ['https://api.example.com'];
    await using service = await startServiceUnderTest({
      clients: [{ ...others, client_id, client_secret, client_name: 'x', scope: 'read write', resources }],
    });
    const { content } = API_DOCUMENT.paths['/oauth2/token']?.['post']?.requestBody ?? { content: {} };
    const [[type, media] = ['', { examples: {} }]] = Object.entries(content);
    expect(Object.keys(media.examples)).toHaveLength(3);
    for (const { value } of Object.values(media.examples)) {
      const fields: readonly [string, string][] = Object.entries(value).map(([name, text]) => [name, String(text)]);
      const body = String(new URLSearchParams([...fields]));
      const headers = { 'content-type': type };
      expect((await send(service.url, '/oauth2/token', { method: 'POST', headers, body })).status).toBe(200);
    }
  });
});

describe('GET /openapi.json', () => {
  it('answers with the document and the base URL of the service', async () => {
    await using service = await startServiceUnderTest({
      addedPaths: ['/openapi.json'],
      features: [
        {
          routes: [
            {
              path: '/openapi.json',
              access: { kind: 'public' },
              methods: { GET: openApiEndpoint('https://auth.example.com') },
            },
          ],
        },
      ],
    });
    const response = await send(service.url, '/openapi.json');
    expect([response.status, response.headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
    expect(response.json()).toEqual({ ...API_DOCUMENT, servers: [{ url: 'https://auth.example.com' }] });
  });
});

describe('the responses in docs/openapi.json', () => {
  const GOOD = { grant_type: 'client_credentials', client_id: GOOD_CLIENT.client_id, client_secret: GOOD_SECRET };
  const FORM_TYPE = { 'content-type': 'application/x-www-form-urlencoded' };
  const TEXT = String(new URLSearchParams(GOOD));
  const BASIC = `Basic ${Buffer.from(`${GOOD.client_id}:${GOOD_SECRET}`).toString('base64')}`;

  const OPENID = '/.well-known/openid-configuration';
  const DOCUMENTS = ['/oauth2/jwks', '/.well-known/oauth-authorization-server', OPENID];
  const LOCATION = '/v1/locations/NYC_USA';
  const AUTHORIZE = '/oauth2/authorize';
  const REQUIRING_TOKEN = [...DOCUMENTS, LOCATION, AUTHORIZE, '/nothing'];

  /** Each operation, and one request for the paths that are not listed. */
  const OPERATIONS = [
    ['POST', '/oauth2/token'],
    ['POST', AUTHORIZE],
    ...REQUIRING_TOKEN.map((path) => ['GET', path] as const),
  ] as const;

  const LONG_SCOPE = Array.from({ length: 1_500 }, (_, number) => `scope-${String(number).padStart(4, '0')}`).join(' ');
  const LONG_RESOURCES = Array.from({ length: 6 }, (_, number) => `https://${number}.example.com/${'x'.repeat(1_900)}`);
  const CLIENTS = [
    { ...GOOD_CLIENT, resources: [...LONG_RESOURCES, { resource: 'https://own.example.com', scope: 'own' }] },
    { ...GOOD_CLIENT, client_id: 'long-scope', scope: LONG_SCOPE },
    PLAIN_CLIENT,
  ];

  /** Starts a service, sends it requests, and returns which documented answers it gave. */
  async function responsesOf(
    options: ServiceOptions,
    ask: (service: ServiceUnderTest) => Promise<void>,
  ): Promise<readonly string[]> {
    await using service = await startServiceUnderTest({ clients: CLIENTS, ...options });
    await ask(service);
    return takeResponsesOf(service.port).map(documentedAs);
  }

  async function askForTokens({ url }: ServiceUnderTest): Promise<void> {
    const forms = [
      GOOD,
      { ...GOOD, scope: 'read' },
      { ...GOOD, client_secret: 'wrong-secret' },
      { ...GOOD, scope: 'read  write' },
      { ...GOOD, scope: 'admin' },
      { ...GOOD, scope: 'read', resource: 'https://own.example.com' },
      { ...GOOD, resource: '#' },
      { ...GOOD, resource: 'https://other.example.com' },
      { ...GOOD, client_id: 'long-scope' },
      { ...GOOD, client_id: 'a'.repeat(256) },
      { ...GOOD, grant_type: '' },
      { ...GOOD, grant_type: 'password' },
      `${TEXT}&x=1&x=1`,
      `${TEXT}&x=%zz`,
      TEXT + '&x'.repeat(48),
      [TEXT, ...LONG_RESOURCES.map((resource) => `resource=${encodeURIComponent(resource)}`)].join('&'),
      [TEXT, 'https://own.example.com', LONG_RESOURCES[0]].join('&resource='),
      'x'.repeat(16 * 1024 + 1),
    ];
    for (const form of forms) await requestToken(url, form);
    await requestToken(url, TEXT, { authorization: BASIC });
    await requestToken(url, TEXT, { authorization: [BASIC, BASIC] });
    await requestToken(url, TEXT, { authorization: '(x)' });
    await requestToken(url, TEXT, { 'content-encoding': 'gzip' });
    await requestToken(url, TEXT, { 'content-type': 'application/json' });
    await requestToken(url, { grant_type: GOOD.grant_type }, { authorization: BASIC });
    await send(url, '/oauth2/token?client_id=x', { method: 'POST', headers: FORM_TYPE, body: TEXT });
    for (let time = 0; time < 3; time += 1) await requestToken(url, { ...GOOD, client_id: 'nobody' });
  }

  async function askWithOtherMethods({ url }: ServiceUnderTest): Promise<void> {
    const authorization = `Bearer ${await getAccessToken(url, GOOD.client_id, GOOD_SECRET)}`;
    for (const [, path] of OPERATIONS) await send(url, path, { method: 'DELETE', headers: { authorization } });
  }

  async function askWithToken({ url }: ServiceUnderTest): Promise<void> {
    const authorization = `Bearer ${await getAccessToken(url, GOOD.client_id, GOOD_SECRET)}`;
    for (const path of [...REQUIRING_TOKEN, '/v1/locations/NOWHERE']) {
      const response = await send(url, path, { headers: { authorization } });
      const { etag } = response.headers;
      if (etag) await send(url, path, { headers: { authorization, 'if-none-match': etag } });
      await send(url, path);
      for (const wrong of ['Bearer x', 'Bearer', [authorization, authorization]]) {
        await send(url, path, { headers: { authorization: wrong } });
      }
    }
    for (const wrong of [undefined, authorization, 'Bearer x', 'Bearer', [authorization, authorization]]) {
      await send(url, AUTHORIZE, { method: 'POST', headers: wrong === undefined ? {} : { authorization: wrong } });
    }
  }

  /** What Node's parser refuses, or the service before it looks at the path. */
  const MALFORMED = [
    'Host: x\r\nHost: y\r\n\r\n',
    'Host: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
    `Host: x\r\nTransfer-Encoding: chunked\r\n\r\n1;${'x'.repeat(17_000)}\r\n`,
    `Host: x\r\nA: ${'x'.repeat(17_000)}\r\n\r\n`,
  ];

  /** Its header section never ends. */
  const INCOMPLETE = ['Host: x\r\nA: '];

  function askRaw(heads: readonly string[]) {
    return async ({ port }: ServiceUnderTest): Promise<void> => {
      for (const [method, path] of OPERATIONS) {
        await Promise.all(
          heads.map((head) => sendRaw(port, `${method} ${path} HTTP/1.1\r\nConnection: close\r\n${head}`)),
        );
      }
    };
  }

  async function askForAll({ url }: ServiceUnderTest): Promise<void> {
    for (const [method, path] of OPERATIONS) {
      await send(url, path, {
        method,
        headers: { ...FORM_TYPE, authorization: path === '/oauth2/token' ? [] : 'Bearer x' },
        body: method === 'POST' ? TEXT : '',
      });
    }
  }

  it('are only those that the service gives', async () => {
    const short = {
      httpTimeouts: { headersMs: 300, requestMs: 600, keepAliveMs: 300, unreadMs: 60_000, checkEveryMs: 50 },
    };
    const assertions = { client_assertion_type: 'x', client_assertion: 'x' };
    const produced = [
      await responsesOf({ environment: { CLIENT_FAILURES_PER_MINUTE: '2', TOKEN_SCOPE_CLAIM: 'true' } }, askForTokens),
      await responsesOf({ environment: { METADATA_COMPATIBILITY: 'oidc' } }, askWithToken),
      await responsesOf({}, async (service) => {
        await askWithToken(service);
        await askWithOtherMethods(service);
        await askRaw(MALFORMED)(service);
      }),
      // On a busy machine, these limits can be over before a long header section is read.
      await responsesOf({ limits: short }, askRaw(INCOMPLETE)),
      await responsesOf(
        { environment: { CLIENT_AUTHENTICATION_METHODS: 'client_secret_basic,private_key_jwt' } },
        async ({ url }) => {
          await requestToken(url, GOOD);
          await requestToken(url, { ...GOOD, ...assertions });
          await requestToken(url, { ...assertions, grant_type: GOOD.grant_type });
          await requestToken(url, { ...assertions, grant_type: GOOD.grant_type, client_assertion: '' });
          await requestToken(url, { grant_type: GOOD.grant_type }, { authorization: 'Basic !' });
          await requestToken(url, { ...GOOD, client_secret: '', client_id: 'other' }, { authorization: BASIC });
        },
      ),
      await responsesOf(
        {
          environment: {
            CLIENT_AUTHENTICATION_METHODS: 'private_key_jwt,federated_jwt',
            CLIENT_ASSERTION_ISSUERS_FILE: 'issuers',
          },
          clients: [],
          files: { issuers: JSON.stringify([{ issuer: PLATFORM, jwks: { keys: [PLATFORM_KEY.jwk()] } }]) },
        },
        async ({ url }) => {
          for (const [, signer, , changes] of ASSERTION_MISTAKES) {
            await requestToken(url, assertionForm(signer, 'a-client', changes));
          }
        },
      ),
      await responsesOf(
        { environment: { METADATA_COMPATIBILITY: 'mcp,oidc', PUBLIC_METADATA: 'true' } },
        async (service) => {
          await askForAll(service);
          await askWithOtherMethods(service);
        },
      ),
      await responsesOf(
        {
          override: (container) => {
            const none = { inFlight: 0, inFlightWhenLate: 0, lateMs: 200 };
            container.registerInstance(PARTS.loadLimit, new LoadLimit(none, { delayMs: 0 }));
          },
        },
        askForAll,
      ),
      await responsesOf(
        {
          override: (container) => {
            const fault = () => Promise.reject(new TypeError('unforeseen'));
            container.registerInstance(PARTS.authorizeRequest, { execute: fault } as unknown as AuthorizeRequest);
            container.registerInstance(PARTS.authenticateClient, { execute: fault });
          },
        },
        askForAll,
      ),
    ].flat();
    expect(documentedResponses().filter((response) => !produced.includes(response))).toEqual([]);
  });
});
