import { z } from 'zod';
import { isLoopback } from '../../adapters/http-client/health-probe.ts';
import { isResourceIndicator } from '../../domain/resource-indicator.ts';
import { Scope } from '../../domain/scope.ts';
import { managementToken } from './management-token.ts';
import { settingsGroup } from './read-environment.ts';
import { refuse, warning } from './rules.ts';
import { oneOf, text, trueOrFalse, wholeNumber } from './setting-kinds.ts';

/** A single scope. */
function scopeToken() {
  const isOne = (value: string) => !value.includes(' ') && Scope.parse(value).ok;
  return z.string().refine(isOne, 'must be one scope token (RFC 6749 section 3.3)');
}

/** The settings of the features, by the name of their file in config/features/. */
export const FEATURE_GROUPS = {
  'private-key-jwt': settingsGroup({
    rows: {
      CLIENT_ASSERTION_AUDIENCE: oneOf('issuer', 'issuer_or_token_endpoint')
        .default('issuer')
        .describe(
          'claim `aud` of an assertion with `private_key_jwt`. `issuer` is `TOKEN_ISSUER` and nothing ' +
            'else. `issuer_or_token_endpoint` also accepts the URL of the token endpoint, for old clients, ' +
            'which [is risky](client-assertions.md#audience) (CVE-2025-27370)',
        ),
      CLIENT_ASSERTION_MAX_LIFETIME_SECONDS: wholeNumber(1, 3_600)
        .default(300)
        .describe(
          'how far `exp` of an assertion with `private_key_jwt` may be ahead. Authlib needs `3600`; [used ' +
            'assertions](client-assertions.md#limits) are then kept for as long',
        ),
    },
  }),
  'federated-jwt': settingsGroup({
    rows: {
      CLIENT_ASSERTION_ISSUERS_FILE: text()
        .optional()
        .describe(
          'JSON array of [trusted issuers](client-assertions.md#trusted-issuers), required for ' +
            '`federated_jwt`. Only its owner may write to it',
        ),
      CLIENT_ASSERTION_MAX_AGE_SECONDS: wholeNumber(1, 86_400)
        .default(3_600)
        .describe('the greatest age of an assertion by its `iat`. Without `iat`, how far `exp` may be ahead'),
      CLIENT_ASSERTION_KEYS_REFRESH_SECONDS: wholeNumber(1, 3_600)
        .default(60)
        .describe('seconds between two attempts to fetch the key set of an issuer'),
      CLIENT_ASSERTION_KEYS_STALE_SECONDS: wholeNumber(0, 2_592_000)
        .default(86_400)
        .describe(
          'seconds for which a key set is used after the last attempt that succeeded, and at least until the next one fails',
        ),
    },
    rules({ CLIENT_ASSERTION_ISSUERS_FILE: file, CLIENT_AUTHENTICATION_METHODS: methods }) {
      const isMissing = methods?.includes('federated_jwt') && !file;
      const rule = 'is required if CLIENT_AUTHENTICATION_METHODS has federated_jwt';
      return refuse(isMissing, 'CLIENT_ASSERTION_ISSUERS_FILE', rule);
    },
    ownersFiles: ['CLIENT_ASSERTION_ISSUERS_FILE'],
  }),
  'token-revocation': settingsGroup({
    rows: {
      TOKEN_REVOCATION: trueOrFalse()
        .default(false)
        .describe(
          '`true`: clients [revoke their tokens](resource-servers.md#introspection) at `/oauth2/revoke` (RFC 7009), and `/oauth2/introspect` (RFC 7662) ' +
            'says whether a token is active. With a database, it needs `KEY_DIRECTORY=database`',
        ),
      INTROSPECTION_SCOPE: scopeToken()
        .default('introspect')
        .describe('the scope with which a client may ask about every token'),
      INTROSPECTIONS_PER_SECOND: wholeNumber(0, 100_000)
        .default(200)
        .describe('how many tokens a client may ask about or revoke in a second, at each replica. `0` is no limit'),
    },
    rules(given) {
      const { TOKEN_REVOCATION: isOn, CLIENT_REPOSITORY: repository, KEY_DIRECTORY: keys, KEY_FILE: keyFile } = given;
      const forgets = repository === 'memory' ? Boolean(keyFile) : keys !== 'database';
      const rule =
        repository === 'memory'
          ? 'must not be true with registrations in memory and KEY_FILE: a restart would forget what was revoked'
          : 'needs KEY_DIRECTORY=database: replicas have to agree on the time';
      return refuse(isOn === 'true' && forgets, 'TOKEN_REVOCATION', rule);
    },
  }),
  'admin-api': settingsGroup({
    rows: {
      ADMIN_API: trueOrFalse()
        .default(false)
        .describe(
          '`true`: clients with the scopes `clients:read` and `clients:write` [manage clients](admin-api.md) at `/clients` of the management port. It ' +
            'needs a database, whose role may write `clients`, and `TOKEN_PROFILE=common` or `rfc9068`',
        ),
      ADMIN_REQUESTS_PER_SECOND: wholeNumber(0, 10_000)
        .default(50)
        .describe(
          'how many clients a caller may read in a second, at each replica. A change counts twice, and a page once more for each 50 clients. ' +
            '`0` is no limit',
        ),
    },
    rules(given) {
      const {
        ADMIN_API: isOn,
        CLIENT_REPOSITORY: repository,
        TOKEN_PROFILE: tokenProfile,
        TOKEN_AUDIENCE: audience,
      } = given;
      if (isOn !== 'true') return [];
      const hasPort = given['MANAGEMENT_PORT'] !== '0' || given['HEALTH_ON_PUBLIC_PORT'] === 'true';
      const issuer = given['TOKEN_ISSUER'] || given['BASE_URL'] || '';
      return [
        ...refuse(repository === 'memory', 'ADMIN_API', 'needs a database: registrations in memory cannot be changed'),
        ...refuse(!hasPort, 'ADMIN_API', 'needs a management port', 'set MANAGEMENT_PORT=8081 or another port'),
        ...refuse(
          !tokenProfile || tokenProfile === 'default',
          'ADMIN_API',
          'needs tokens with scopes: set TOKEN_PROFILE to common or rfc9068',
        ),
        ...refuse(
          audience && audience === issuer,
          'TOKEN_AUDIENCE',
          'must not be TOKEN_ISSUER with ADMIN_API: tokens for it manage clients',
        ),
        ...refuse(
          issuer !== '' && !isResourceIndicator(issuer),
          'TOKEN_ISSUER',
          'must be a URI with ADMIN_API: tokens for the API are requested for it',
        ),
        ...warning(
          !isLoopback(given['MANAGEMENT_HOST'] || '127.0.0.1'),
          'ADMIN_API',
          'secrets cross the management port, which has no TLS, at an address that other machines reach',
          'put a proxy with TLS in front, and let only it reach MANAGEMENT_PORT',
        ),
      ];
    },
  }),
  'last-used': settingsGroup({
    rows: {
      RECORD_LAST_USED: trueOrFalse()
        .default(false)
        .describe(
          '`true` records on which day each client got its last token, once an hour, for [`clients list`](managing-clients.md#clients-that-nobody-uses) ' +
            'and the API. It needs a database',
        ),
    },
    rules({ RECORD_LAST_USED: isOn, CLIENT_REPOSITORY: repository }) {
      return refuse(isOn === 'true' && repository === 'memory', 'RECORD_LAST_USED', 'needs a database');
    },
  }),
  'example-resource': settingsGroup({
    rows: {
      EXAMPLE_RESOURCE: trueOrFalse().default(true).meta({
        standard: 'false',
        description: 'serve `/v1/locations/{code}`',
      }),
      LOCATION_FIELD_ORDER: oneOf('declared', 'alphabetical')
        .default('declared')
        .describe('order of the fields of a location'),
    },
  }),
  'status-page': settingsGroup({
    rows: {
      MANAGEMENT_TOKEN: managementToken()
        .optional()
        .describe(
          'the token with which an operator reads the [status](operate.md#the-status-page) on the management ' +
            'port. Without it, only the four paths of `MANAGEMENT_PORT` answer there',
        ),
      MANAGEMENT_TOKEN_FILE: text()
        .optional()
        .describe(
          'file with that token in one line, for container secrets, instead of `MANAGEMENT_TOKEN`. It is read once, ' +
            'at startup',
        ),
    },
    rules(given) {
      const { MANAGEMENT_TOKEN: token, MANAGEMENT_TOKEN_FILE: file } = given;
      const hasPort = given['MANAGEMENT_PORT'] !== '0' || given['HEALTH_ON_PUBLIC_PORT'] === 'true';
      const fix = 'set MANAGEMENT_PORT=8081 or another port';
      return [
        ...refuse(token && file, 'MANAGEMENT_TOKEN', 'must not be set if MANAGEMENT_TOKEN_FILE is set'),
        ...refuse(token && !hasPort, 'MANAGEMENT_TOKEN', 'needs a management port', fix),
        ...refuse(file && !hasPort, 'MANAGEMENT_TOKEN_FILE', 'needs a management port', fix),
      ];
    },
  }),
  'one-port': settingsGroup({
    rows: {
      HEALTH_ON_PUBLIC_PORT: trueOrFalse()
        .default(false)
        .describe(
          '`true` serves `/livez`, `/readyz` and `/readyz/verification` on `PORT` too, without a token and without the checks, ' +
            'for [platforms with one port](operate.md#platforms-with-one-port). With `MANAGEMENT_TOKEN` also ' +
            'the other paths of the management port, for the operator only',
        ),
    },
  }),
  tls: settingsGroup({
    rows: {
      TLS_CERT_FILE: text()
        .optional()
        .describe(
          'file with the certificate of the server and then those of its authorities, in PEM, for [TLS on ' +
            '`PORT`](operate.md#tls-on-the-public-port). It is read again when it changes',
        ),
      TLS_KEY_FILE: text()
        .optional()
        .describe(
          'file with the private key of that certificate, in PEM without a passphrase. Only its owner may ' +
            'write to it',
        ),
    },
    rules({ TLS_CERT_FILE: chain, TLS_KEY_FILE: key, BASE_URL: url }) {
      const hasNoTls = !url?.startsWith('https://');
      return [
        ...refuse(chain && !key, 'TLS_KEY_FILE', 'is required if TLS_CERT_FILE is set'),
        ...refuse(key && !chain, 'TLS_CERT_FILE', 'is required if TLS_KEY_FILE is set'),
        ...refuse(chain && hasNoTls, 'BASE_URL', 'must be an https URL if TLS_CERT_FILE is set'),
      ];
    },
    ownersFiles: ['TLS_KEY_FILE'],
  }),
};
