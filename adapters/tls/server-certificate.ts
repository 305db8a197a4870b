import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { createSecureContext } from 'node:tls';
import { type Finding, fine, note, problem } from '../../application/ports/inspection.ts';
import { failure, type Result, success } from '../../domain/result.ts';

/** A certificate with its chain and its private key, which fit each other. A secret. */
export interface ServerCertificate {
  /** Both in PEM, as the files have them. */
  readonly chain: string;
  readonly key: string;
  readonly leaf: X509Certificate;
  /** When the first certificate of the chain expires. */
  readonly expiresAt: Date;
}

const BEGIN = '-----BEGIN CERTIFICATE-----';
const SOON_MS = 30 * 86_400_000;
const RENEW = 'renew it; the service reads the new file without a restart';

/** Reads the certificates of a PEM file (RFC 7468), the one of the server first. A problem never quotes the file. */
export function readChain(text: string): Result<readonly X509Certificate[], readonly string[]> {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length !== text.split(BEGIN).length - 1) return failure(['is not complete: a certificate has no end']);
  if (blocks.length === 0) return failure([`must be certificates in PEM, with lines ${BEGIN}`]);
  try {
    return success(blocks.map((block) => new X509Certificate(block)));
  } catch {
    return failure(['has a certificate that cannot be read']);
  }
}

/** Reads a private key in PEM, without a passphrase. A problem never quotes the file. */
export function readPrivateKey(text: string): Result<KeyObject, readonly string[]> {
  try {
    return success(createPrivateKey(text));
  } catch {
    const hasPassphrase = /BEGIN ENCRYPTED PRIVATE KEY|Proc-Type: 4,ENCRYPTED/.test(text);
    const cure = '; this one has a passphrase: write it without one by openssl pkey -in <this file> -out <new file>';
    return failure([`must be a private key in PEM without a passphrase${hasPassphrase ? cure : ''}`]);
  }
}

/** Both files together. Fails with every problem, by the names of the settings. */
export function readServerCertificate(chain: string, key: string): Result<ServerCertificate, readonly string[]> {
  const [certificates, privateKey] = [readChain(chain), readPrivateKey(key)];
  const named = (name: string, read: Result<unknown, readonly string[]>) =>
    read.ok ? [] : read.problem.map((text) => `${name}: ${text}`);
  const problems = [...named('TLS_CERT_FILE', certificates), ...named('TLS_KEY_FILE', privateKey)];
  if (!certificates.ok || !privateKey.ok) return failure(problems);
  const [leaf, ...others] = certificates.value;
  if (!leaf?.checkPrivateKey(privateKey.value)) {
    const isLater = others.some((other) => other.checkPrivateKey(privateKey.value));
    return failure([
      isLater
        ? 'TLS_CERT_FILE: the certificate of the server must come first, and then those of its authorities'
        : 'TLS_KEY_FILE: is not the key of the certificate in TLS_CERT_FILE',
    ]);
  }
  try {
    createSecureContext({ cert: chain, key });
  } catch (fault) {
    return failure([`TLS_CERT_FILE: OpenSSL does not accept it (${(fault as NodeJS.ErrnoException).code})`]);
  }
  // OpenSSL accepts dates that it cannot show.
  if (certificates.value.some(({ validFrom, validTo }) => Number.isNaN(Date.parse(validFrom) + Date.parse(validTo)))) {
    return failure(['TLS_CERT_FILE: a certificate has a date that cannot be read']);
  }
  const expiresAt = new Date(Math.min(...certificates.value.map(({ validTo }) => Date.parse(validTo))));
  return success({ chain, key, leaf, expiresAt });
}

/** Whether a certificate is for this host, and for how long. @param now milliseconds since 1970. */
export function inspectCertificate(
  { leaf, expiresAt }: ServerCertificate,
  baseUrl: string,
  now: number,
): readonly Finding[] {
  const host = new URL(baseUrl).hostname.replace(/^\[(.*)\]$/, '$1');
  const names = leaf.subjectAltName ?? 'no name';
  const isForHost = isIP(host) === 0 ? leaf.checkHost(host, { subject: 'never' }) : leaf.checkIP(host);
  const leftMs = expiresAt.getTime() - now;
  const until = `TLS_CERT_FILE is valid until ${expiresAt.toISOString()}`;
  return [
    ...(isForHost
      ? []
      : [
          problem(
            `TLS_CERT_FILE is for ${names}, not for ${host}`,
            'get a certificate for the host of BASE_URL, or correct BASE_URL',
          ),
        ]),
    ...(Date.parse(leaf.validFrom) > now
      ? [problem('TLS_CERT_FILE is not valid yet', 'correct the clock, or wait')]
      : []),
    leftMs <= 0
      ? problem(`TLS_CERT_FILE has expired: ${until}`, RENEW)
      : leftMs < SOON_MS
        ? note(until, RENEW)
        : fine(until),
  ];
}
