import { z } from 'zod';
import { Scope } from '../../domain/scope.ts';
import { settingsGroup } from './read-environment.ts';
import { hostNames, isHttpUrl, networks, oneOf, text, trueOrFalse, wholeNumber } from './setting-kinds.ts';

// The settings of what registerServerParts creates, of processes and of the log. Each group is a table of docs/settings.md.

export const LISTENING = settingsGroup({
  // biome-ignore format: a row has its kind in one line and its meaning in the next
  rows: {
    HOST: text().default('127.0.0.1')
      .describe('address to listen on'),
    PORT: wholeNumber(0, 65_535).default(8080)
      .describe('port to listen on. `0` is any free port, and then `BASE_URL` is required'),
    BASE_URL: baseUrl().optional()
      .meta({ absent: '`http://localhost:PORT`', description: 'the URL under which callers reach the service. It is never taken from a request' }),
    TRUSTED_PROXIES: networks().optional()
      .describe('address ranges of proxies, such as `10.0.0.0/8,fd00::/8`. Only on connections from them the client\'s address is read from the last 20 entries of `Forwarded` or `X-Forwarded-For`: [Behind a proxy](operations.md#behind-a-proxy)'),
    MANAGEMENT_HOST: text().default('127.0.0.1')
      .describe('address of the management port. The image sets `0.0.0.0`; do not publish the port'),
    MANAGEMENT_PORT: wholeNumber(0, 65_535).default(8081)
      .describe('port that serves `/livez`, `/readyz`, `/readyz/verification` and `/metrics` without authentication. `0` switches it off'),
    MANAGEMENT_ALLOWED_HOSTS: hostNames().optional()
      .describe('names, separated by commas, by which Prometheus and operators reach the management port, such as `auth.internal`. Beside them, it answers as `MANAGEMENT_HOST`, `localhost`, `*.localhost` and by IP address; every other `Host` gets [421](monitoring.md)'),
  },
  contradictions: {
    'BASE_URL: is required if PORT is 0, any free port': ({ PORT, BASE_URL }) => PORT === '0' && !BASE_URL,
  },
  conflicts({ PORT: port, MANAGEMENT_PORT, HOST, MANAGEMENT_HOST }) {
    const isTaken = port !== 0 && port === MANAGEMENT_PORT && overlap(HOST, MANAGEMENT_HOST);
    return isTaken ? [`PORT: ${port} is MANAGEMENT_PORT too: set one of them to another port`] : [];
  },
});

export const PROCESSES = settingsGroup({
  // biome-ignore format: as above
  rows: {
    WORKERS: wholeNumber(1, 256).optional()
      .meta({ absent: 'one per core, as far as memory suffices', description: 'processes that answer requests. With `1` everything runs in one process. [How much memory they need](operations.md#workers)' }),
    SHUTDOWN_GRACE_MS: wholeNumber(0, 300_000).default(5_000)
      .describe('milliseconds after SIGTERM for which new connections are still accepted while `/readyz` fails'),
    SHUTDOWN_DRAIN_MS: wholeNumber(0, 300_000).default(10_000)
      .describe('milliseconds that requests in flight have to finish, once no new connections are accepted'),
  },
});

export const AUDIT = settingsGroup({
  // biome-ignore format: as above
  rows: {
    AUDIT_FILE: text().optional()
      .meta({ absent: 'standard output', description: 'file for audit events. It is created for its owner only, and opened again at SIGHUP' }),
    AUDIT_REQUIRED: trueOrFalse().default(false)
      .describe('`true`: no token is answered before its line is written, and requests get 503 [while that is impossible](monitoring.md#when-a-line-cannot-be-written)'),
  },
});

export const METADATA = settingsGroup({
  // biome-ignore format: as above
  rows: {
    PUBLIC_METADATA: trueOrFalse().default(false)
      .describe('`true` opens the key set and the metadata to callers without a token. They are `/oauth2/jwks` and `/.well-known/oauth-authorization-server`'),
    METADATA_COMPATIBILITY: oneOf('mcp').optional()
      .describe('clients with needs beyond the standard. `mcp` adds to the metadata what clients of the [Model Context Protocol](mcp.md) insist on. Requires `PUBLIC_METADATA=true`'),
    METADATA_SCOPES: scopes().optional()
      .describe('the scopes that the metadata lists as `scopes_supported`, separated by single spaces'),
  },
  contradictions: {
    'PUBLIC_METADATA: must be true if METADATA_COMPATIBILITY is mcp, since these clients fetch it without a token': ({
      METADATA_COMPATIBILITY,
      PUBLIC_METADATA,
    }) => METADATA_COMPATIBILITY === 'mcp' && PUBLIC_METADATA !== 'true',
  },
});

function baseUrl() {
  return z.string().refine(isBaseUrl, 'must be an http or https URL without user, query, fragment and trailing slash');
}

function isBaseUrl(value: string): boolean {
  return isHttpUrl(value) && [value, `${value}/`].includes(new URL(value).href) && !/\?|\/$/.test(value);
}

/** Whether two addresses to listen on are the same, or one of them is every address of the machine. */
function overlap(one: string, other: string): boolean {
  return one === other || [one, other].some((host) => host === '0.0.0.0' || host === '::');
}

function scopes() {
  return z
    .string()
    .refine((value) => Scope.parse(value).ok, 'must be scope tokens with single spaces between (RFC 6749 section 3.3)')
    .transform((value) => value.split(' '));
}
