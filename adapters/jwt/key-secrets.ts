import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { failure, type Result, success } from '../../domain/result.ts';

/** What one line of KEY_SECRET_FILE gives. A secret that does not print. */
export interface KeySecret {
  /** Names the secret in the header of each seal, and tells nothing else about it. */
  readonly id: string;
  /** For A256GCM. */
  readonly sealingKey: KeyObject;
  /** Picks the client that is read in the place of an unknown one. */
  readonly decoyKey: Uint8Array;
}

/** Of a line. 256 random bits cannot be guessed, so nothing has to make guesses slow. */
const SECRET_BYTES_MIN = 32;

const RULE = `must have one secret in each line, at least ${SECRET_BYTES_MIN} random bytes in base64 or base64url, and nothing else: openssl rand -base64 32`;

/** The secrets of a file, the one that seals first. A problem never quotes the file. */
export function readKeySecrets(text: string): Result<readonly KeySecret[], readonly string[]> {
  const lines = text.split(/\r?\n/).filter((line) => line !== '');
  const secrets = lines.map(decode);
  const wrong = secrets.findIndex((secret) => secret === undefined || secret.length < SECRET_BYTES_MIN);
  if (lines.length === 0) return failure([`is empty: it ${RULE}`]);
  if (wrong >= 0) return failure([`${RULE} (line ${wrong + 1} of those that are not empty)`]);
  return success(secrets.flatMap((secret) => secret ?? []).map(secretOf));
}

/** Undefined if this is not the only spelling of its bytes in one of the two alphabets (RFC 4648 sections 4 and 5). */
function decode(line: string): Buffer | undefined {
  const encoding = /[-_]/.test(line) ? 'base64url' : 'base64';
  const bytes = Buffer.from(line, encoding);
  // The padding may be left out, but must be right.
  const digits = line.length % 4 === 0 ? line.replace(/={1,2}$/, '') : line;
  return bytes.toString(encoding).replace(/=+$/, '') === digits ? bytes : undefined;
}

/** Three values from one secret by HKDF (RFC 5869). From none can another one be computed. */
function secretOf(secret: Buffer): KeySecret {
  const derive = (label: string, bytes: number) =>
    Buffer.from(hkdfSync('sha256', secret, '', `client-credentials key ring, ${label}`, bytes));
  return {
    id: derive('secret id', 12).toString('base64url'),
    sealingKey: createSecretKey(derive('sealing key', 32)),
    decoyKey: derive('decoys', 32),
  };
}
