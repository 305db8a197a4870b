import { WorkloadKey } from '../support/workload-issuer.ts';
import {
  badRequest,
  type ExpectedResponse,
  type HostileRequests,
  invalidClient,
  notAllowed,
  openlyRefused,
  RESOURCE,
  refused,
  TOKEN,
} from './hostile-request.ts';
import type { HostileServiceOptions } from './hostile-service.ts';

/** Something that a setting switches on, and what it changes in the responses to hostile requests. */
export interface FeatureUnderTest {
  readonly options: HostileServiceOptions;
  /** By the name of the request: the response that differs, by design, from that of a service with default settings. */
  readonly answers: Readonly<Record<string, ExpectedResponse>>;
}

const ISSUER = 'https://cluster.test';
const CLIENTS_KEYS = { jwks: { keys: [new WorkloadKey('of-the-client', 'ES256').jwk()] } };
const CLIENTS_SUBJECTS = {
  federated_subjects: [
    {
      issuer: ISSUER,
      subject: 'system:serviceaccount:shop:billing',
      claims: { '/kubernetes.io/namespace': 'shop', '/kubernetes.io/serviceaccount/name': 'billing' },
    },
  ],
};
const ISSUERS = {
  CLIENT_ASSERTION_ISSUERS_FILE: JSON.stringify([
    { issuer: ISSUER, preset: 'kubernetes', jwks: { keys: [new WorkloadKey('of-the-issuer').jwk()] } },
  ]),
};

const methods = (...names: readonly string[]) => ({
  CLIENT_AUTHENTICATION_METHODS: ['client_secret_post', ...names].join(),
});
const challenged = (reason: string, scheme = 'Basic'): ExpectedResponse => ({
  ...invalidClient(reason),
  headers: { 'www-authenticate': `${scheme} realm="token endpoint"` },
});
const MALFORMED_BASIC = badRequest('basic_credentials_malformed');
const TWO_WAYS = badRequest('credentials_repeated');
const INCOMPLETE = badRequest('assertion_incomplete');
const NO_ASSERTION = openlyRefused('assertion_malformed');
const UNTRUSTED = openlyRefused('assertion_issuer_untrusted');
const NO_KEY = invalidClient('assertion_key_unknown');
const NO_ALGORITHM = openlyRefused('assertion_algorithm_refused');
const OTHER_TOKEN: ExpectedResponse = {
  status: 401,
  error: 'invalid_token',
  reason: 'token_audience_foreign',
  headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
};

const BASIC: FeatureUnderTest['answers'] = {
  'Basic with the right secret': TOKEN,
  'Basic beside a client id, which is no credential': TOKEN,
  'Basic beside the right secret': TWO_WAYS,
  'an Authorization as the 100th field': TWO_WAYS,
  'Basic without a body': badRequest('content_type_unsupported'),
  'Basic without credentials': MALFORMED_BASIC,
  'Basic that is not base64': MALFORMED_BASIC,
  'Basic without a colon': MALFORMED_BASIC,
  'Basic in the other alphabet of base64': MALFORMED_BASIC,
  'Basic that is not UTF-8': MALFORMED_BASIC,
  'Basic with a broken percent-encoding': MALFORMED_BASIC,
  'Basic with a NUL in the client id': badRequest('client_id_malformed'),
  'Basic with another client id in the body': badRequest('client_id_contradictory'),
  'Basic with bytes behind the secret': challenged('presented_secret_unusable'),
  'Basic with 7 KB': challenged('presented_secret_unusable'),
  'Basic with a wrong secret': challenged('secret_wrong'),
  'Basic without a secret': challenged('credentials_missing'),
  'another scheme': { ...challenged('method_unsupported', 'Negotiate'), isExplained: true },
  'a scheme of 64 characters': { ...challenged('method_unsupported', 'S'.repeat(64)), isExplained: true },
};

/** What every method with assertions refuses alike. */
const ASSERTION: FeatureUnderTest['answers'] = {
  'an assertion in place of the secret': INCOMPLETE,
  'an assertion without its type': INCOMPLETE,
  'the type of an assertion alone': INCOMPLETE,
  'an assertion of another type': openlyRefused('assertion_type_unsupported'),
  'an assertion beside the right secret': TWO_WAYS,
  'an assertion that is no JWT': NO_ASSERTION,
  'an assertion of dots': NO_ASSERTION,
  'an assertion of 15 KiB': NO_ASSERTION,
  'an assertion of 2,000 arrays in each other': NO_ASSERTION,
  'an access token of the service as an assertion': UNTRUSTED,
};
const OF_A_CLIENT = {
  'an assertion signed by an attacker': NO_KEY,
  'an assertion by another curve, without a kid': NO_KEY,
  'an assertion with the key of the service': NO_KEY,
  'an assertion with its key in the header': NO_KEY,
  'an assertion with alg none': NO_ALGORITHM,
  'an assertion with HS256': NO_ALGORITHM,
  'an assertion with 300 audiences': openlyRefused('assertion_audience_wrong'),
};
const BY_KEY = { ...ASSERTION, ...OF_A_CLIENT, 'an assertion of a platform, signed by an attacker': UNTRUSTED };
const BY_IDENTITY = {
  ...ASSERTION,
  ...Object.fromEntries(Object.keys(OF_A_CLIENT).map((name) => [name, UNTRUSTED])),
  'an assertion of a platform, signed by an attacker': invalidClient('assertion_signature_wrong'),
};

const PUBLIC_KEYS: ExpectedResponse = { ...RESOURCE, headers: { 'cache-control': 'public, max-age=30' } };
const PUBLIC_METADATA: ExpectedResponse = { ...RESOURCE, headers: { 'cache-control': 'public, max-age=3600' } };
const NO_ROUTE = refused(404, 'not_found', 'route_unknown');
const NO_LOGIN = refused(400, 'unsupported_response_type', 'response_type_unsupported');
const PUBLIC: FeatureUnderTest['answers'] = {
  'the key set': PUBLIC_KEYS,
  'HEAD of the key set': { ...PUBLIC_KEYS, isHead: true },
  'POST to the key set': notAllowed('GET, HEAD'),
  'the metadata': PUBLIC_METADATA,
  'the metadata of another issuer': NO_ROUTE,
  'the metadata of OpenID': NO_ROUTE,
  'the metadata of a resource': NO_ROUTE,
};

/** What can be switched on, by itself. */
export const FEATURES: Readonly<Record<string, FeatureUnderTest>> = {
  client_secret_basic: { options: { settings: methods('client_secret_basic') }, answers: BASIC },
  private_key_jwt: { options: { settings: methods('private_key_jwt'), client: CLIENTS_KEYS }, answers: BY_KEY },
  federated_jwt: {
    options: { settings: methods('federated_jwt'), files: ISSUERS, client: CLIENTS_SUBJECTS },
    answers: BY_IDENTITY,
  },
  'all methods': {
    options: {
      settings: methods('client_secret_basic', 'private_key_jwt', 'federated_jwt'),
      files: ISSUERS,
      client: { ...CLIENTS_KEYS, ...CLIENTS_SUBJECTS },
    },
    answers: { ...BASIC, ...BY_IDENTITY, ...OF_A_CLIENT },
  },
  resources: {
    options: { client: { resources: ['https://registered.test/a'] } },
    answers: { 'the registered resource': TOKEN },
  },
  'public metadata': { options: { settings: { PUBLIC_METADATA: 'true' } }, answers: PUBLIC },
  'metadata for MCP': {
    options: { settings: { PUBLIC_METADATA: 'true', METADATA_COMPATIBILITY: 'mcp' } },
    answers: {
      ...PUBLIC,
      'the authorization endpoint of a login': NO_LOGIN,
    },
  },
  'metadata for OpenID Connect': {
    options: { settings: { PUBLIC_METADATA: 'true', METADATA_COMPATIBILITY: 'oidc' } },
    answers: {
      ...PUBLIC,
      'the metadata of OpenID': PUBLIC_METADATA,
      'the authorization endpoint of a login': NO_LOGIN,
    },
  },
  'tokens of RFC 9068': {
    options: { settings: { TOKEN_PROFILE: 'rfc9068', TOKEN_AUDIENCE: 'https://api.test', TOKEN_SCOPE_CLAIM: 'true' } },
    answers: {
      'a token that this test made with the key of the service': OTHER_TOKEN,
      'the audience of another resource': RESOURCE,
    },
  },
  'trusted proxies': { options: { settings: { TRUSTED_PROXIES: '127.0.0.0/8' } }, answers: {} },
  'a required audit file': {
    options: { settings: { AUDIT_REQUIRED: 'true' }, files: { AUDIT_FILE: '' } },
    answers: {},
  },
  'an operator token': {
    options: { files: { MANAGEMENT_TOKEN_FILE: 'an-operator-secret-of-38-characters-xx' } },
    answers: {},
  },
};

/** All of them in one service. */
export const EVERYTHING: FeatureUnderTest = Object.values(FEATURES).reduce(({ options, answers }, added) => ({
  options: {
    settings: {
      ...options.settings,
      ...added.options.settings,
      ...methods('client_secret_basic', 'private_key_jwt', 'federated_jwt'),
    },
    files: { ...options.files, ...added.options.files },
    client: { ...options.client, ...added.options.client },
  },
  answers: { ...answers, ...added.answers },
}));

/**
 * The requests with the responses of a service that has this feature. Throws if one of its responses is to no request.
 * With HTTP Basic, who sends no credentials is asked for them.
 */
export function answeredWith({ answers, options }: FeatureUnderTest, table: HostileRequests): HostileRequests {
  const hasBasic = options.settings?.['CLIENT_AUTHENTICATION_METHODS']?.includes('client_secret_basic');
  const asked = (answer: ExpectedResponse) =>
    hasBasic && answer.reason === 'credentials_missing' ? challenged('credentials_missing') : answer;
  const names = new Set(Object.values(table).flatMap((rows) => rows.map(({ name }) => name)));
  const lost = Object.keys(answers).filter((name) => !names.has(name));
  if (lost.length > 0) throw new Error(`no request is called ${lost.join(', ')}`);
  const groups = Object.entries(table).map(([group, rows]) => {
    return [
      group,
      rows.map((row) => ({ ...row, answers: [answers[row.name] ?? row.answers].flat().map(asked) })),
    ] as const;
  });
  return Object.fromEntries(groups);
}
