import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
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
}

const BEGIN = '-----BEGIN CERTIFICATE-----';
const SOON_MS = 30 * 86_400_000;
const RENEW = 'renew it; the service reads the new file without a restart';

/** The certificates of a PEM file (RFC 7468), or what is wrong with it. */
function readChain(text: string): readonly X509Certificate[] | string {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length !== text.split(BEGIN).length - 1) return 'TLS_CERT_FILE: is not complete: a certificate has no end';
  if (blocks.length === 0) return `TLS_CERT_FILE: must be certificates in PEM, with lines ${BEGIN}`;
  try {
    return blocks.map((block) => new X509Certificate(block));
  } catch {
    return 'TLS_CERT_FILE: has a certificate that cannot be read';
  }
}

function readPrivateKey(text: string): KeyObject | string {
  try {
    return createPrivateKey(text);
  } catch {
    const hasPassphrase = /BEGIN ENCRYPTED PRIVATE KEY|Proc-Type: 4,ENCRYPTED/.test(text);
    const fix = '; this one has a passphrase: write it without one by openssl pkey -in <this file> -out <new file>';
    return `TLS_KEY_FILE: must be a private key in PEM without a passphrase${hasPassphrase ? fix : ''}`;
  }
}

/** Both files together, the certificate of the server first. Fails with every problem, by the names of the settings; never quotes a file. */
export function readServerCertificate(chain: string, key: string): Result<ServerCertificate, readonly string[]> {
  const [certificates, privateKey] = [readChain(chain), readPrivateKey(key)];
  if (typeof certificates === 'string' || typeof privateKey === 'string') {
    return failure([certificates, privateKey].filter((read) => typeof read === 'string'));
  }
  const [leaf, ...others] = certificates;
  if (!leaf?.checkPrivateKey(privateKey)) {
    const isLater = others.some((other) => other.checkPrivateKey(privateKey));
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
  if (certificates.some(({ validFrom, validTo }) => Number.isNaN(Date.parse(validFrom) + Date.parse(validTo)))) {
    return failure(['TLS_CERT_FILE: a certificate has a date that cannot be read']);
  }
  const expiresAt = new Date(Math.min(...certificates.map(({ validTo }) => Date.parse(validTo))));
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
  const findings: Finding[] = [];
  if (!isForHost) {
    const fix = 'get a certificate for the host of BASE_URL, or correct BASE_URL';
    findings.push(problem(`TLS_CERT_FILE is for ${names}, not for ${host}`, fix));
  }
  if (Date.parse(leaf.validFrom) > now) {
    findings.push(problem('TLS_CERT_FILE is not valid yet', 'correct the clock, or wait'));
  }
  if (leftMs <= 0) findings.push(problem(`TLS_CERT_FILE has expired: ${until}`, RENEW));
  else findings.push(leftMs < SOON_MS ? note(until, RENEW) : fine(until));
  return findings;
}
