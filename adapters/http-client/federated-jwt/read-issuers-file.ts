import { z } from 'zod';
import { ISSUER_PRESETS, presetOf } from '../../../domain/federated-jwt/issuer-preset.ts';
import { isTrustDomain, SPIFFE_SCHEME } from '../../../domain/federated-jwt/spiffe-id.ts';
import type { TrustedIssuer } from '../../../domain/federated-jwt/trusted-issuers.ts';
import { parseJson } from '../../../domain/parse-json.ts';
import { ASSERTION_ALGORITHMS, type AssertionAlgorithm } from '../../../domain/public-jwk.ts';
import { failure, type Result, success } from '../../../domain/result.ts';
import { isLoopback } from '../health-probe.ts';
import type { IssuerSource } from './fetch-issuer-keys.ts';
import { readIssuerKeys } from './read-issuer-keys.ts';

/** The most issuers. */
const ISSUERS_MAX = 100;

/** What platforms sign with. The others have to be named. */
const DEFAULT_ALGORITHMS: readonly AssertionAlgorithm[] = ['RS256', 'ES256', 'ES384'];

/** A trusted issuer, and where its keys come from. */
interface IssuerEntry extends Omit<TrustedIssuer, 'audience'>, Pick<IssuerSource, 'source'> {
  /** Undefined: the issuer of this service. */
  readonly audience: string | undefined;
}

const TEXT = /^\S{1,2000}$/;

function text(rule: string, isGood: (text: string) => boolean = () => true) {
  return z
    .string(rule)
    .refine((value) => TEXT.test(value) && isGood(value), rule)
    .exactOptional();
}

const FIELDS = {
  issuer: text(
    'must be a text as in the claim iss; a trust domain is named by spiffe_trust_domain',
    (name) => !name.startsWith(SPIFFE_SCHEME),
  ),
  spiffe_trust_domain: text('must be a name such as example.org', isTrustDomain),
  jwks_uri: text('must be an https URL without user and fragment; http is possible on loopback', isKeySetUri),
  jwks: z.unknown().exactOptional(),
  audience: text('must be a text'),
  algorithms: z
    .custom<readonly AssertionAlgorithm[]>(
      (names) => Array.isArray(names) && names.length > 0 && names.every((name) => ASSERTION_ALGORITHMS.includes(name)),
      `must be an array of ${ASSERTION_ALGORITHMS.join(', ')}`,
    )
    .default(DEFAULT_ALGORITHMS),
  preset: z.enum(ISSUER_PRESETS, `must be ${ISSUER_PRESETS.join(', ')}`).exactOptional(),
};

/** Checked also if fields have problems, so that all are reported at once. */
const ALWAYS = { when: ({ value }: { readonly value: unknown }) => z.looseObject({}).safeParse(value).success };

const ENTRY = z
  .strictObject(FIELDS, {
    error: ({ code }) =>
      code === 'unrecognized_keys' ? `has fields other than ${Object.keys(FIELDS).join(', ')}` : 'must be an object',
  })
  .refine((entry) => (entry.issuer === undefined) !== (entry.spiffe_trust_domain === undefined), {
    error: 'must have either issuer or spiffe_trust_domain',
    ...ALWAYS,
  })
  .refine(({ jwks_uri, jwks }) => (jwks_uri === undefined) !== (jwks === undefined), {
    error: 'must have either jwks_uri or jwks',
    ...ALWAYS,
  })
  .refine((entry) => entry.spiffe_trust_domain === undefined || (entry.preset ?? 'spiffe') === 'spiffe', {
    error: 'of a trust domain must be spiffe',
    path: ['preset'],
    ...ALWAYS,
  })
  .transform(({ jwks_uri: uri, jwks, audience, algorithms, ...names }, { addIssue }): IssuerEntry => {
    const name = nameOf(names) ?? '';
    const issuer = { issuer: name, audience, algorithms, preset: names.preset ?? presetOf(name) };
    if (uri !== undefined) return { ...issuer, source: { uri } };
    const keys = readIssuerKeys(jwks, issuer);
    if (keys.ok) return { ...issuer, source: { keys: keys.value } };
    addIssue({ code: 'custom', path: ['jwks'], message: keys.problem });
    return z.NEVER;
  });

/**
 * Reads the JSON of a file of trusted issuers: an array of objects with `issuer` or `spiffe_trust_domain`, `jwks_uri`
 * or `jwks`, and optionally `audience`, `algorithms` and `preset`. Returns every problem, with the entry's position,
 * counted from 0, and its field; never with a value.
 */
export function readIssuersFile(json: string): Result<readonly IssuerEntry[], readonly string[]> {
  const entries = parseJson(json);
  if (!Array.isArray(entries) || entries.length === 0) return failure(['must be a JSON array that is not empty']);
  if (entries.length > ISSUERS_MAX) return failure([`must have at most ${ISSUERS_MAX} issuers`]);
  const names = entries.map(nameOf);
  const issuers: IssuerEntry[] = [];
  const problems: string[] = [];
  for (const [position, entry] of entries.entries()) {
    const read = ENTRY.safeParse(entry);
    if (read.success) issuers.push(read.data);
    const found = (read.error?.issues ?? []).map(({ path: [field = 'it'], message }) => `${String(field)} ${message}`);
    const first = names.indexOf(names[position]);
    if (first < position && names[position] !== undefined) found.push(`issuer is that of entry ${first}`);
    problems.push(...found.map((problem) => `entry ${position}: ${problem}`));
  }
  return problems.length === 0 ? success(issuers) : failure(problems);
}

/** Only https, except on loopback: who can change the keys in transit can sign for every workload. */
function isKeySetUri(text: string): boolean {
  const url = text.includes('#') ? null : URL.parse(text);
  if (url === null || url.username !== '' || url.password !== '') return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname));
}

function nameOf(entry: unknown): string | undefined {
  const { issuer, spiffe_trust_domain: trustDomain } = (entry ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof trustDomain === 'string') return SPIFFE_SCHEME + trustDomain;
  return typeof issuer === 'string' ? issuer : undefined;
}
