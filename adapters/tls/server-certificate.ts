import { createPrivateKey, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { createSecureContext } from 'node:tls';
import { type Finding, fine, note, problem } from '../../domain/finding.ts';
import { failure, type Result, success } from '../../domain/result.ts';

/** A certificate with its chain and its private key, which fit each other. A secret. */
export interface ServerCertificate {
  /** Both in PEM, as the files have them. */
  readonly chain: string;
  readonly key: string;
  readonly leaf: X509Certificate;
  /** When the first certificate of the chain expires. */
  readonly expiresAt: Date;
  /**
   * Whether no authority is behind the certificate, though it says where that of its own is: public authorities sign
   * with intermediate ones.
   */
  readonly isAlone: boolean;
}

const SOON_MS = 30 * 86_400_000;
const RENEW = 'renew it; the service reads the new file without a restart';

/**
 * Both files together, the certificate of the server first. Fails with the first problem, by the names of the settings;
 * never quotes a file.
 */
export function readServerCertificate(chain: string, key: string): Result<ServerCertificate, readonly string[]> {
  const blocks = chain.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  const isCut = blocks.length !== chain.split('-----BEGIN CERTIFICATE-----').length - 1;
  const certificates = attempt(() => blocks.map((block) => new X509Certificate(block)));
  const [leaf] = certificates ?? [];
  if (isCut || certificates === undefined || leaf === undefined) {
    return failure(['TLS_CERT_FILE: must be complete certificates in PEM, with lines -----BEGIN CERTIFICATE-----']);
  }
  const privateKey = attempt(() => createPrivateKey(key));
  if (privateKey === undefined) return failure(['TLS_KEY_FILE: must be a private key in PEM without a passphrase']);
  if (!leaf.checkPrivateKey(privateKey)) {
    const order = 'where the certificate of the server comes first, and then those of its authorities';
    return failure([`TLS_KEY_FILE: is not the key of the first certificate in TLS_CERT_FILE, ${order}`]);
  }
  const expiresMs = Math.min(...certificates.map(({ validTo }) => Date.parse(validTo)));
  // OpenSSL accepts dates that it cannot show.
  const isUsable = attempt(() => createSecureContext({ cert: chain, key })) !== undefined && !Number.isNaN(expiresMs);
  if (!isUsable) return failure(['TLS_CERT_FILE: OpenSSL cannot use it']);
  const isAlone = certificates.length === 1 && (leaf.infoAccess?.includes('CA Issuers') ?? false);
  return success({ chain, key, leaf, expiresAt: new Date(expiresMs), isAlone });
}

/** What `read` returns; undefined if it throws: OpenSSL throws for what it does not accept. */
function attempt<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** Whether a certificate is for this host, and for how long. @param now milliseconds since 1970. */
export function inspectCertificate(
  { leaf, expiresAt, isAlone }: ServerCertificate,
  baseUrl: string,
  now: number,
): readonly Finding[] {
  const host = new URL(baseUrl).hostname.replace(/^\[(.*)\]$/, '$1');
  const isForHost = isIP(host) === 0 ? leaf.checkHost(host, { subject: 'never' }) : leaf.checkIP(host);
  const until = `TLS_CERT_FILE is valid until ${expiresAt.toISOString()}`;
  const leftMs = expiresAt.getTime() - now;
  const lifetime = leftMs < SOON_MS ? note(until, RENEW) : fine(until);
  const other = `TLS_CERT_FILE is for ${leaf.subjectAltName ?? 'no name'}, not for ${host}`;
  const alone = 'TLS_CERT_FILE has the certificate of the server alone, so that most clients will not trust it';
  return [
    ...(isAlone ? [problem(alone, 'append those of its authorities, as in fullchain.pem')] : []),
    ...(isForHost ? [] : [problem(other, 'get a certificate for the host of BASE_URL, or correct BASE_URL')]),
    ...(Date.parse(leaf.validFrom) > now
      ? [problem('TLS_CERT_FILE is not valid yet', 'correct the clock, or wait')]
      : []),
    leftMs > 0 ? lifetime : problem(`TLS_CERT_FILE has expired: ${until}`, RENEW),
  ];
}
