import type { FederatedSubject } from '../client-details.ts';
import { SPIFFE_SCHEME, trustDomainOf } from './spiffe-id.ts';

/** The platforms whose tokens the service knows. `none` is for every other issuer. */
export const ISSUER_PRESETS = ['kubernetes', 'github-actions', 'gitlab', 'aws', 'spiffe', 'none'] as const;

export type IssuerPreset = (typeof ISSUER_PRESETS)[number];

type Conditions = FederatedSubject['claims'];

// RFC 1123 labels and subdomains, as Kubernetes names namespaces and service accounts.
const SERVICE_ACCOUNT = /^system:serviceaccount:([a-z0-9](?:[a-z0-9-]*[a-z0-9])?):([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)$/;
// The names alone until 15 July 2026, later `repo:<owner>@<id>/<repository>@<id>:…`.
const REPOSITORY = /^repo:[\w.-]+(?:@(\d+))?\/[\w.-]+(?:@(\d+))?:.+$/;
const ROLE_ARN = /^arn:aws(?:-[a-z]+)*:iam::\d{12}:role\/[\w+=,.@/-]+$/;
const NUMBER = /^\d+$/;

/** The preset of an issuer that names none: that of its platform if its name tells, otherwise `none`. */
export function presetOf(issuer: string): IssuerPreset {
  if (issuer.startsWith(SPIFFE_SCHEME)) return 'spiffe';
  // An enterprise may have its own issuer, with its name behind the host.
  if (/^https:\/\/token\.actions\.githubusercontent\.com(?:\/|$)/.test(issuer)) return 'github-actions';
  if (issuer === 'https://gitlab.com') return 'gitlab';
  return /^https:\/\/[^/]+\.tokens\.sts\.global\.api\.aws$/.test(issuer) ? 'aws' : 'none';
}

/** The same by the name of the issuer alone, where the file of trusted issuers is not at hand. */
export function weaknessByName(rule: FederatedSubject): string | undefined {
  return weaknessOf(presetOf(rule.issuer), rule);
}

/**
 * Why a rule for a client is too weak for tokens of this platform; undefined if it is not. A name that its owner gives
 * up can be somebody else's tomorrow, so rules name what the platform never gives twice, or what only an administrator
 * can give.
 */
export function weaknessOf(preset: IssuerPreset, { issuer, subject, claims }: FederatedSubject): string | undefined {
  if (preset !== 'none' && subject.includes('*')) return 'subject must be exact: there are no wildcards';
  if (preset !== 'none' && Object.values(claims).some((value) => value.includes('*')))
    return 'claims must be exact: there are no wildcards';
  switch (preset) {
    case 'kubernetes':
      return weaknessOfServiceAccount(subject, claims);
    case 'github-actions':
      return weaknessOfRepository(subject, claims);
    case 'gitlab':
      if (!subject.startsWith('project_path:')) return 'subject must begin with project_path:';
      return without(claims, '/project_id', '/namespace_id');
    case 'aws':
      return ROLE_ARN.test(subject) ? undefined : 'subject must be the ARN of an IAM role';
    case 'spiffe':
      return isWorkloadOf(issuer, subject)
        ? undefined
        : 'subject must be the SPIFFE ID of a workload in the trust domain';
    case 'none':
      return undefined;
  }
}

function isWorkloadOf(issuer: string, subject: string): boolean {
  const trustDomain = trustDomainOf(subject);
  if (trustDomain === undefined) return false;
  // An issuer with a URL, such as SPIRE's OIDC provider, does not name its trust domain.
  return !issuer.startsWith(SPIFFE_SCHEME) || issuer === SPIFFE_SCHEME + trustDomain;
}

/** Every pod without an account of its own has the account `default` of its namespace. */
function weaknessOfServiceAccount(subject: string, claims: Conditions): string | undefined {
  const [, namespace, account] = SERVICE_ACCOUNT.exec(subject) ?? [];
  if (account === undefined) return 'subject must be system:serviceaccount:<namespace>:<name>';
  if (account === 'default') return 'subject must not be the service account default, which every pod may have';
  const isSame =
    claims['/kubernetes.io/namespace'] === namespace && claims['/kubernetes.io/serviceaccount/name'] === account;
  return isSame
    ? undefined
    : 'claims must have /kubernetes.io/namespace and /kubernetes.io/serviceaccount/name, as in the subject';
}

/** A name of an owner or a repository can be registered again by anybody; their ids are never given twice. */
function weaknessOfRepository(subject: string, claims: Conditions): string | undefined {
  const repository = REPOSITORY.exec(subject);
  if (repository === null)
    return 'subject must be repo:<owner>/<repository>:… or repo:<owner>@<id>/<repository>@<id>:…';
  const weakness = without(claims, '/repository_id', '/repository_owner_id');
  if (weakness !== undefined) return weakness;
  const [, ownerId, repositoryId] = repository;
  if (ownerId === undefined && repositoryId === undefined) return undefined;
  const isSame = ownerId === claims['/repository_owner_id'] && repositoryId === claims['/repository_id'];
  return isSame ? undefined : 'claims must have the same ids as the subject';
}

function without(claims: Conditions, ...paths: readonly string[]): string | undefined {
  const hasAll = paths.every((path) => NUMBER.test(claims[path] ?? ''));
  return hasAll ? undefined : `claims must have ${paths.join(' and ')}, each with a number as text`;
}
