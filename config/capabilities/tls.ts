import type { InjectionToken } from 'tsyringe';
import { createStateLog } from '../../adapters/log/state-log.ts';
import { connectionsInMemory } from '../../adapters/system/host-limits.ts';
import { inspectKeyFile } from '../../adapters/system/inspect-host.ts';
import { OWNER_WRITES, othersMay, readTextFileNow } from '../../adapters/system/read-text-file.ts';
import {
  inspectCertificate,
  readServerCertificate,
  type ServerCertificate,
} from '../../adapters/tls/server-certificate.ts';
import { TLS_LIMITS, TlsTermination } from '../../adapters/tls/tls-termination.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { define } from '../capability.ts';
import { LISTS, PARTS } from '../parts.ts';
import { part } from '../registration.ts';
import { settingsGroup } from '../settings/read-environment.ts';
import { text } from '../settings/setting-kinds.ts';

const TLS = Symbol('TlsTermination') as InjectionToken<TlsTermination>;

/** `TLS_CERT_FILE` and `TLS_KEY_FILE`: TLS on the public port, for those who have no proxy. */
export const tls = define({
  name: 'tls',
  // biome-ignore format: one line for each setting, so that checks, defaults and texts stand below each other
  settings: settingsGroup({
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
  read({ load }): Result<ServerCertificate | undefined, readonly string[]> {
    const [chain, key] = [load('TLS_CERT_FILE', success), load('TLS_KEY_FILE', success)];
    if (!chain.ok || !key.ok) return failure([chain, key].flatMap((read) => (read.ok ? [] : read.problem)));
    if (chain.value === undefined || key.value === undefined) return success(undefined);
    return readServerCertificate(chain.value, key.value);
  },
  register(parts, { settings }, first) {
    const { TLS_CERT_FILE: chainFile = '', TLS_KEY_FILE: keyFile = '', BASE_URL: baseUrl } = settings;
    if (first === undefined) return;
    const limits = { ...TLS_LIMITS, connections: Math.min(TLS_LIMITS.connections, connectionsInMemory('tls')) };
    part(parts, TLS, (get) => {
      const read = () => readFiles(chainFile, keyFile);
      return new TlsTermination({ first, read, baseUrl, onChange: createStateLog(get(PARTS.log)), limits });
    });
    part(parts, LISTS.reloads, (get) => get(TLS).reload);
    part(parts, LISTS.openers, (get) => async () => {
      await get(TLS).start();
      return get(TLS);
    });
    part(parts, LISTS.connectionLayers, (get) => get(TLS).layer);
    part(parts, LISTS.measurements, (get) => (values) => {
      const { load, expiresAt, failed } = get(TLS);
      const expiryHelp = 'When the certificate of the public port expires, in seconds since 1970.';
      values.gauge('auth_tls_certificate_expires_at_seconds', expiryHelp, expiresAt.getTime() / 1_000);
      const openHelp = 'Open connections with TLS to the public port.';
      values.gauge('auth_tls_connections', openHelp, load.open, limits.connections);
      const handshakesHelp = 'Connections within their TLS handshake.';
      values.gauge('auth_tls_handshakes', handshakesHelp, load.handshakes, limits.handshakes);
      const droppedHelp = 'Connections with TLS that were closed at the limit of connections or of handshakes.';
      values.total('auth_tls_connections_dropped_total', droppedHelp, load.dropped);
      values.total('auth_tls_handshakes_failed_total', 'TLS handshakes that failed.', failed);
    });
  },
  inspect({ settings: { BASE_URL: baseUrl, TLS_KEY_FILE: keyFile = '' } }, certificate) {
    if (certificate === undefined) return [];
    const inspect = async () => [
      ...inspectCertificate(certificate, baseUrl, Date.now()),
      ...inspectKeyFile(keyFile, 'pose as this service'),
    ];
    return [{ name: 'tls certificate', inspect }];
  },
});

function readFiles(chainFile: string, keyFile: string): Result<ServerCertificate, readonly string[]> {
  const [chain, key] = [readTextFileNow(chainFile), readTextFileNow(keyFile)];
  if (!chain.ok) return failure([`TLS_CERT_FILE: ${chain.problem}`]);
  if (!key.ok) return failure([`TLS_KEY_FILE: ${key.problem}`]);
  if (othersMay('write', keyFile)) return failure([`TLS_KEY_FILE: ${OWNER_WRITES}`]);
  return readServerCertificate(chain.value, key.value);
}
