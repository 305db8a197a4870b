import { managementToken } from './management-token.ts';
import { type Environment, settingsGroup } from './read-environment.ts';
import { oneOf, text, trueOrFalse, wholeNumber } from './setting-kinds.ts';

/** The settings of the features, by the name of their file in config/features/. */
// biome-ignore format: one line for each setting, so that checks, defaults and texts stand below each other
export const FEATURE_GROUPS = {
  'private-key-jwt': settingsGroup({
    rows: {
      CLIENT_ASSERTION_AUDIENCE: oneOf('issuer', 'issuer_or_token_endpoint').default('issuer').describe('claim `aud` of an assertion with `private_key_jwt`. `issuer` is `TOKEN_ISSUER` and nothing else. `issuer_or_token_endpoint` also accepts the URL of the token endpoint, for old clients; then a malicious server can have a client sign an assertion that works here (CVE-2025-27370), see [private_key_jwt](client-assertions.md#audience)'),
      CLIENT_ASSERTION_MAX_LIFETIME_SECONDS: wholeNumber(1, 3_600).default(300).describe('how far `exp` of an assertion with `private_key_jwt` may be ahead. Authlib needs `3600`; [used assertions](client-assertions.md#limits) are then kept for as long'),
    },
    doubts: {
      'CLIENT_ASSERTION_AUDIENCE: has no effect: add private_key_jwt to CLIENT_AUTHENTICATION_METHODS, or leave it out': (given) => given['CLIENT_ASSERTION_AUDIENCE'] && !given['CLIENT_AUTHENTICATION_METHODS']?.includes('private_key_jwt'),
    },
  }),
  'federated-jwt': settingsGroup({
    rows: {
      CLIENT_ASSERTION_ISSUERS_FILE: text().optional().describe('JSON array of [trusted issuers](client-assertions.md#trusted-issuers), required for `federated_jwt`. Only its owner may be able to write to it'),
      CLIENT_ASSERTION_MAX_AGE_SECONDS: wholeNumber(1, 86_400).default(3_600).describe('the greatest age of an assertion by its `iat`. Without `iat`, how far `exp` may be ahead'),
      CLIENT_ASSERTION_KEYS_REFRESH_SECONDS: wholeNumber(1, 3_600).default(60).describe('seconds between two attempts to fetch the key set of an issuer'),
      CLIENT_ASSERTION_KEYS_STALE_SECONDS: wholeNumber(0, 2_592_000).default(86_400).describe('seconds for which a key set is used after the last attempt that succeeded'),
    },
    contradictions: {
      'CLIENT_ASSERTION_ISSUERS_FILE: is required if CLIENT_AUTHENTICATION_METHODS has federated_jwt': (given) => given['CLIENT_AUTHENTICATION_METHODS']?.includes('federated_jwt') && !given['CLIENT_ASSERTION_ISSUERS_FILE'],
    },
    doubts: {
      'CLIENT_ASSERTION_ISSUERS_FILE: has no effect: add federated_jwt to CLIENT_AUTHENTICATION_METHODS, or leave it out': (given) => given['CLIENT_ASSERTION_ISSUERS_FILE'] && !given['CLIENT_AUTHENTICATION_METHODS']?.includes('federated_jwt'),
    },
    ownersFiles: ['CLIENT_ASSERTION_ISSUERS_FILE'],
  }),
  'example-resource': settingsGroup({ rows: {
    EXAMPLE_RESOURCE: trueOrFalse().default(true).meta({ standard: 'false', description: 'serve `/v1/locations/{code}`' }),
    LOCATION_FIELD_ORDER: oneOf('declared', 'alphabetical').default('declared').describe('order of the fields of a location'),
  } }),
  'token-reuse': settingsGroup({ rows: {
    TOKEN_REUSE_SECONDS: wholeNumber(0, 3_600).default(0).describe('for how long a request for the same client, scopes and resources gets the [same token](operations.md#issuing-a-token-again) again; at most half of `TOKEN_LIFETIME_SECONDS`. `0`: each request gets a new one'),
  } }),
  'status-page': settingsGroup({
    rows: {
      MANAGEMENT_TOKEN: managementToken().optional().describe('the token with which an operator reads the [status](monitoring.md#the-status-page) on the management port. Without it, only the four paths of `MANAGEMENT_PORT` answer there'),
      MANAGEMENT_TOKEN_FILE: text().optional().describe('file with that token in one line, for container secrets, instead of `MANAGEMENT_TOKEN`. It is read once, at the start'),
    },
    contradictions: {
      'MANAGEMENT_TOKEN: must not be set if MANAGEMENT_TOKEN_FILE is set': (given) => given['MANAGEMENT_TOKEN'] && given['MANAGEMENT_TOKEN_FILE'],
      'MANAGEMENT_TOKEN: needs a management port: set MANAGEMENT_PORT=8081 or another port': (given) => given['MANAGEMENT_TOKEN'] && hasNoPort(given),
      'MANAGEMENT_TOKEN_FILE: needs a management port: set MANAGEMENT_PORT=8081 or another port': (given) => given['MANAGEMENT_TOKEN_FILE'] && hasNoPort(given),
    },
  }),
  'one-port': settingsGroup({ rows: {
    HEALTH_ON_PUBLIC_PORT: trueOrFalse().default(false).describe('`true` serves `/livez`, `/readyz` and `/readyz/verification` on `PORT` too, without a token, for [platforms with one port](operations.md#platforms-with-one-port). With `MANAGEMENT_TOKEN` also all other paths of the management port, such as `/metrics` and `/status`, for the operator only'),
  } }),
  'proxy-protocol': settingsGroup({
    rows: {
      PROXY_PROTOCOL: trueOrFalse().default(false).describe('`true`: each connection from `TRUSTED_PROXIES` must begin with a [PROXY header](operations.md#the-proxy-protocol), version 1 or 2, which names the client'),
    },
    contradictions: {
      'TRUSTED_PROXIES: is required if PROXY_PROTOCOL is true': (given) => given['PROXY_PROTOCOL'] === 'true' && !given['TRUSTED_PROXIES'],
    },
  }),
  tls: settingsGroup({
    rows: {
      TLS_CERT_FILE: text().optional().describe('file with the certificate of the server and then those of its authorities, in PEM, for [TLS on `PORT`](operations.md#tls-on-the-public-port). It is read again when it changes'),
      TLS_KEY_FILE: text().optional().describe('file with the private key of that certificate, in PEM without a passphrase. Only its owner may be able to write to it'),
    },
    contradictions: {
      'TLS_KEY_FILE: is required if TLS_CERT_FILE is set': (given) => given['TLS_CERT_FILE'] && !given['TLS_KEY_FILE'],
      'TLS_CERT_FILE: is required if TLS_KEY_FILE is set': (given) => given['TLS_KEY_FILE'] && !given['TLS_CERT_FILE'],
      'BASE_URL: must be an https URL if TLS_CERT_FILE is set': (given) => given['TLS_CERT_FILE'] && !given['BASE_URL']?.startsWith('https://'),
    },
    ownersFiles: ['TLS_KEY_FILE'],
  }),
};

/** Whether nothing answers the operator. */
function hasNoPort(given: Environment): boolean {
  return given['MANAGEMENT_PORT'] === '0' && given['HEALTH_ON_PUBLIC_PORT'] !== 'true';
}
