import { createStateLog } from '../../adapters/log/state-log.ts';
import { OWNER_WRITES, othersMay, readTextFileNow } from '../../adapters/system/read-text-file.ts';
import { readServerCertificate, type ServerCertificate } from '../../adapters/tls/server-certificate.ts';
import { TlsTermination } from '../../adapters/tls/tls-termination.ts';
import { failure, type Result } from '../../domain/result.ts';
import { type Core, PARTS } from '../container.ts';
import type { Feature } from '../feature.ts';
import type { Configuration } from '../settings/configuration.ts';

/** `TLS_CERT_FILE` and `TLS_KEY_FILE`: TLS on the public port, for those who have no proxy. */
export function tls({ settings, certificate: first }: Configuration, core: Core): Feature | undefined {
  const { TLS_CERT_FILE: chainFile = '', TLS_KEY_FILE: keyFile = '', BASE_URL: baseUrl } = settings;
  if (first === undefined) return undefined;
  const read = () => readFiles(chainFile, keyFile);
  const termination = new TlsTermination({ first, read, baseUrl, onChange: createStateLog(core.resolve(PARTS.log)) });
  return {
    tls: termination,
    checks: [termination],
    reload: termination.reload,
    close: () => termination.close(),
    metrics(values) {
      values.gauge('auth_tls_certificate_expires_at_seconds', termination.expiresAt.getTime() / 1_000);
      values.total('auth_tls_handshakes_failed_total', termination.failed);
    },
  };
}

function readFiles(chainFile: string, keyFile: string): Result<ServerCertificate, readonly string[]> {
  const [chain, key] = [readTextFileNow(chainFile), readTextFileNow(keyFile)];
  if (!chain.ok) return failure([`TLS_CERT_FILE: ${chain.problem}`]);
  if (!key.ok) return failure([`TLS_KEY_FILE: ${key.problem}`]);
  if (othersMay('write', keyFile)) return failure([`TLS_KEY_FILE: ${OWNER_WRITES.text}`]);
  return readServerCertificate(chain.value, key.value);
}
