import { isIP } from 'node:net';
import { ISSUER_PRESETS, type IssuerPreset, presetOf } from '../../../domain/federated-jwt/issuer-preset.ts';
import { isTrustDomain, SPIFFE_SCHEME } from '../../../domain/federated-jwt/spiffe-id.ts';
import type { TrustedIssuer } from '../../../domain/federated-jwt/trusted-issuers.ts';
import { parseJson } from '../../../domain/parse-json.ts';
import { ASSERTION_ALGORITHMS, type AssertionAlgorithm, type PublicJwk } from '../../../domain/public-jwk.ts';
import { failure, type Result, success } from '../../../domain/result.ts';
import { readIssuerKeys } from './read-issuer-keys.ts';

/** The most issuers. */
const ISSUERS_MAX = 100;

/** What platforms sign with. The others have to be named. */
const DEFAULT_ALGORITHMS: readonly AssertionAlgorithm[] = ['RS256', 'ES256', 'ES384'];

/** A trusted issuer, and where its keys come from. */
interface IssuerEntry extends Omit<TrustedIssuer, 'audience'> {
  /** Undefined: the issuer of this service. */
  readonly audience: string | undefined;
  readonly source: KeySource;
}

type KeySource = { readonly uri: string } | { readonly keys: readonly PublicJwk[] };

const MEMBERS = ['issuer', 'spiffe_trust_domain', 'jwks_uri', 'jwks', 'audience', 'algorithms', 'preset'];

type Members = Readonly<Record<string, unknown>>;

/**
 * Reads the JSON of a file of trusted issuers: an array of objects with `issuer` or `spiffe_trust_domain`, `jwks_uri` or
 * `jwks`, and optionally `audience`, `algorithms` and `preset`. Returns every problem, with the entry's position, counted
 * from 0, and its member; never with a value.
 */
export function readIssuersFile(json: string): Result<readonly IssuerEntry[], readonly string[]> {
  const entries = parseJson(json);
  if (!Array.isArray(entries) || entries.length === 0) return failure(['must be a JSON array that is not empty']);
  if (entries.length > ISSUERS_MAX) return failure([`must have at most ${ISSUERS_MAX} issuers`]);
  const names = entries.map(nameOf);
  const problems: string[] = [];
  const read = entries.flatMap((entry: unknown, position) => {
    const found = problemsOf(entry);
    const first = names.indexOf(names[position]);
    if (first < position && names[position] !== undefined) found.push(`issuer is that of entry ${first}`);
    problems.push(...found.map((problem) => `entry ${position}: ${problem}`));
    if (found.length > 0) return [];
    const issuer = toIssuer(entry as Members);
    if (issuer.ok) return [issuer.value];
    problems.push(`entry ${position}: jwks ${issuer.problem}`);
    return [];
  });
  return problems.length === 0 ? success(read) : failure(problems);
}

/** Only https, except on loopback: an attacker who can change the keys in transit can sign in the name of every workload. */
function isKeySetUri(value: unknown): boolean {
  const url = typeof value === 'string' && !/[#\s]/.test(value) ? URL.parse(value) : null;
  if (url === null || url.username !== '' || url.password !== '') return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname));
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || (isIP(host) === 4 && host.startsWith('127.'));
}

function problemsOf(entry: unknown): string[] {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) return ['it must be an object'];
  const {
    issuer,
    spiffe_trust_domain: trustDomain,
    jwks_uri: uri,
    jwks,
    audience,
    algorithms,
    preset,
  } = entry as Members;
  const problems: string[] = [];
  const rule = (isKept: boolean, problem: string) => void (isKept || problems.push(problem));
  rule(
    Object.keys(entry).every((name) => MEMBERS.includes(name)),
    `it has members other than ${MEMBERS.join(', ')}`,
  );
  rule((issuer === undefined) !== (trustDomain === undefined), 'it must have either issuer or spiffe_trust_domain');
  rule(
    issuer === undefined || (isText(issuer) && !issuer.startsWith(SPIFFE_SCHEME)),
    'issuer must be a text as in the claim iss; a trust domain is named by spiffe_trust_domain',
  );
  rule(
    trustDomain === undefined || (isText(trustDomain) && isTrustDomain(trustDomain)),
    'spiffe_trust_domain must be a name such as example.org',
  );
  rule((uri === undefined) !== (jwks === undefined), 'it must have either jwks_uri or jwks');
  rule(
    uri === undefined || isKeySetUri(uri),
    'jwks_uri must be an https URL without user and fragment; http is possible on loopback',
  );
  rule(audience === undefined || isText(audience), 'audience must be a text');
  rule(
    algorithms === undefined || (Array.isArray(algorithms) && algorithms.length > 0 && algorithms.every(isAlgorithm)),
    `algorithms must be an array of ${ASSERTION_ALGORITHMS.join(', ')}`,
  );
  rule(
    preset === undefined || ISSUER_PRESETS.some((name) => name === preset),
    `preset must be ${ISSUER_PRESETS.join(', ')}`,
  );
  rule(
    trustDomain === undefined || preset === undefined || preset === 'spiffe',
    'preset of a trust domain must be spiffe',
  );
  return problems;
}

/** An entry without problems; only its keys are read here. */
function toIssuer(entry: Members): Result<IssuerEntry, string> {
  const name = nameOf(entry) ?? '';
  const { jwks_uri: uri, jwks, audience, algorithms = DEFAULT_ALGORITHMS, preset = presetOf(name) } = entry;
  const issuer = {
    issuer: name,
    audience: audience as string | undefined,
    algorithms: algorithms as readonly AssertionAlgorithm[],
    preset: preset as IssuerPreset,
  };
  if (typeof uri === 'string') return success({ ...issuer, source: { uri } });
  const keys = readIssuerKeys(jwks, issuer);
  return keys.ok ? success({ ...issuer, source: { keys: keys.value } }) : keys;
}

function nameOf(entry: unknown): string | undefined {
  const { issuer, spiffe_trust_domain: trustDomain } = (entry ?? {}) as Members;
  if (typeof trustDomain === 'string') return SPIFFE_SCHEME + trustDomain;
  return typeof issuer === 'string' ? issuer : undefined;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && /^\S{1,2000}$/.test(value);
}

function isAlgorithm(value: unknown): boolean {
  return ASSERTION_ALGORITHMS.some((name) => name === value);
}
