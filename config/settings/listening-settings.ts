import { z } from 'zod';
import { settingsGroup } from './read-environment.ts';
import { refuse, warning } from './rules.ts';
import { hostNames, listeningHost, networks, text, trueOrFalse, wholeNumber } from './setting-kinds.ts';

/** Where the service listens, and how callers reach it. */
export const listening = settingsGroup({
  rows: {
    HOST: listeningHost()
      .default('127.0.0.1')
      .describe(
        'address to listen on. The image sets `0.0.0.0`; on Cloud Run, Render and Heroku that is the default, and ' +
          'on Fly.io `::`',
      ),
    PORT: wholeNumber(0, 65_535)
      .default(8080)
      .describe('port to listen on. `0` is any free port, and then `BASE_URL` is required'),
    BASE_URL: baseUrl()
      .optional()
      .meta({
        absent: '`http://localhost:PORT`',
        description:
          'the URL under which callers reach the service. It is never taken from a request. [With a ' +
          'path](operate.md#behind-a-proxy), each public route has both paths, with and without it',
      }),
    TRUSTED_PROXIES: networks()
      .optional()
      .describe(
        'address ranges of proxies, such as `10.0.0.0/8,fd00::/8`. Only on connections from them, the ' +
          "client's address is read from the last 20 entries of `X-Forwarded-For`: [behind " +
          'a proxy](operate.md#behind-a-proxy)',
      ),
    MANAGEMENT_HOST: listeningHost()
      .default('127.0.0.1')
      .describe('address of the management port. The image sets `0.0.0.0`; do not publish the port'),
    MANAGEMENT_PORT: wholeNumber(0, 65_535)
      .default(8081)
      .describe(
        'port that serves `/livez`, `/readyz`, `/readyz/verification` and `/metrics` without authentication. `0` ' +
          'switches it off',
      ),
    MANAGEMENT_ALLOWED_HOSTS: hostNames()
      .optional()
      .describe(
        'names, separated by commas, by which Prometheus and operators reach the management port, such ' +
          'as `auth.internal`. Other names, except local ones, get [421](operate.md#the-management-port)',
      ),
  },
  rules(given, values) {
    const { PORT: port, BASE_URL: url = '', TRUSTED_PROXIES: proxies, TLS_CERT_FILE: chain } = given;
    // An operator who writes `none`, which counts as absent, has thought of it.
    const isUndecided = proxies === '' || !Object.hasOwn(given, 'TRUSTED_PROXIES');
    return [
      ...refuse(
        port === '0' && !url,
        'BASE_URL',
        'is required, since there is no fixed port',
        'set the URL under which callers reach the service',
      ),
      ...refuse(
        values !== undefined && isTakenTwice(values),
        'PORT',
        `${port ?? values?.PORT} is MANAGEMENT_PORT too`,
        'set one of them to another port',
      ),
      // Without a fixed port, the server of somebody else may end TLS, and pass on the addresses of its callers.
      ...warning(
        url.startsWith('https://') && !chain && isUndecided && port !== '0',
        'TRUSTED_PROXIES',
        'is not set, and BASE_URL is https without TLS_CERT_FILE: callers behind a proxy share its limit of failed attempts',
        'set the addresses that the proxy connects from, or none if remote_address in the log is already that of each caller',
      ),
    ];
  },
});

interface Ports {
  readonly HOST: string;
  readonly PORT: number;
  readonly MANAGEMENT_HOST: string;
  readonly MANAGEMENT_PORT: number;
}

/** Whether both listen on the same port of an address: the same one, or every address of the machine. */
function isTakenTwice({ HOST, PORT, MANAGEMENT_HOST, MANAGEMENT_PORT }: Ports): boolean {
  const isEvery = (host: string) => host === '0.0.0.0' || host === '::';
  const overlap = HOST === MANAGEMENT_HOST || isEvery(HOST) || isEvery(MANAGEMENT_HOST);
  return PORT !== 0 && PORT === MANAGEMENT_PORT && overlap;
}

/** How long a stop may take. */
export const shutdown = settingsGroup({
  rows: {
    SHUTDOWN_GRACE_MS: wholeNumber(0, 300_000)
      .default(5_000)
      .describe('milliseconds after SIGTERM for which new connections are still accepted while `/readyz` fails'),
    SHUTDOWN_DRAIN_MS: wholeNumber(0, 300_000)
      .default(10_000)
      .describe('milliseconds that requests in flight have to finish, once no new connections are accepted'),
  },
});

/** Where audit events go. */
export const audit = settingsGroup({
  rows: {
    AUDIT_FILE: text().optional().meta({
      absent: 'standard output',
      description: 'file for audit events. It is created for its owner only, and opened again at SIGHUP',
    }),
    AUDIT_REQUIRED: trueOrFalse()
      .default(false)
      .describe(
        '`true`: no token is answered before its line is written, and requests get 503 [while that is ' +
          'impossible](operate.md#when-a-line-cannot-be-written)',
      ),
  },
});

function baseUrl() {
  return z.string().superRefine((value, { addIssue }) => {
    const problem = baseUrlProblem(value);
    if (problem !== undefined) addIssue({ code: 'custom', message: problem });
  });
}

/** Says nothing of the value: it may contain a password. */
function baseUrlProblem(value: string): string | undefined {
  const url = URL.parse(value);
  if (!url || !['http:', 'https:'].includes(url.protocol)) {
    return 'must be an http or https URL, such as https://auth.example.com';
  }
  const { username, password, hostname, pathname, href } = url;
  if (username !== '' || password !== '') return 'must be without user and password';
  if (/[?#]/.test(value)) return 'must be without query and fragment';
  if (value.endsWith('/')) return 'must not end with a slash';
  if (['0.0.0.0', '[::]'].includes(hostname)) {
    return 'must have the name or the address by which callers reach the service: 0.0.0.0 and [::] mean every address of this machine';
  }
  if (/\/oauth2\/\w+$/.test(pathname)) return 'must end before /oauth2: the service adds the paths of its endpoints';
  // Issuers are compared character by character.
  return [value, `${value}/`].includes(href) ? undefined : `must be in its normal form: ${href.replace(/\/$/, '')}`;
}
