import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { KeySetServer, keySetResponse } from './key-set-server.ts';
import { newRsaKey } from './pooled-key-factory.ts';

/** The algorithms of platforms. */
type WorkloadAlgorithm = 'RS256' | 'ES256' | 'ES384' | 'EdDSA' | 'PS256';

interface WorkloadToken {
  readonly claims: Readonly<Record<string, unknown>>;
  readonly header?: Readonly<Record<string, unknown>>;
}

/** A key pair of an issuer, which signs any header and payload, also wrong ones. */
export class WorkloadKey {
  readonly kid: string;
  readonly algorithm: WorkloadAlgorithm;
  readonly #privateKey: KeyObject;

  constructor(kid: string, algorithm: WorkloadAlgorithm = 'RS256') {
    this.kid = kid;
    this.algorithm = algorithm;
    this.#privateKey = generate(algorithm);
  }

  /** The public key in a key set, with further fields. */
  jwk(fields: Readonly<Record<string, unknown>> = { use: 'sig', alg: this.algorithm }): Record<string, unknown> {
    return { ...createPublicKey(this.#privateKey).export({ format: 'jwk' }), kid: this.kid, ...fields };
  }

  /** A compact JWS. A claim or header field that is undefined is left out. */
  mint({ claims, header = {} }: WorkloadToken): string {
    const head = JSON.stringify({ alg: this.algorithm, kid: this.kid, ...header });
    const input = `${encode(head)}.${encode(JSON.stringify(claims))}`;
    return `${input}.${this.#sign(input).toString('base64url')}`;
  }

  #sign(input: string): Buffer {
    const data = Buffer.from(input);
    const key = this.#privateKey;
    switch (this.algorithm) {
      case 'RS256':
        return sign('sha256', data, key);
      case 'PS256':
        return sign('sha256', data, { key, padding: 6, saltLength: 32 });
      case 'ES256':
        return sign('sha256', data, { key, dsaEncoding: 'ieee-p1363' });
      case 'ES384':
        return sign('sha384', data, { key, dsaEncoding: 'ieee-p1363' });
      case 'EdDSA':
        return sign(null, data, key);
    }
  }
}

function generate(algorithm: WorkloadAlgorithm): KeyObject {
  switch (algorithm) {
    case 'RS256':
    case 'PS256':
      return newRsaKey();
    case 'ES256':
      return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    case 'ES384':
      return generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey;
    case 'EdDSA':
      return generateKeyPairSync('ed25519').privateKey;
  }
}

function encode(text: string): string {
  return Buffer.from(text).toString('base64url');
}

/** A platform, as it signs for its workloads, with the claims that its tokens have in 2026. */
export interface Platform {
  readonly name: 'kubernetes' | 'github-actions' | 'gitlab' | 'aws' | 'spiffe';
  readonly algorithm: WorkloadAlgorithm;
  /** The issuer as rules name it. */
  readonly issuer: string;
  readonly subject: string;
  /** What a rule for the subject demands. */
  readonly conditions: Readonly<Record<string, string>>;
  /** The fields of a key in its key set, and of the set. */
  readonly keyFields?: Readonly<Record<string, unknown>>;
  readonly keySetFields?: Readonly<Record<string, unknown>>;
  readonly header: Readonly<Record<string, unknown>>;
  claims(audience: string, now: number): Readonly<Record<string, unknown>>;
}

const KUBERNETES: Platform = {
  name: 'kubernetes',
  algorithm: 'RS256',
  issuer: 'https://cluster.test',
  subject: 'system:serviceaccount:shop:billing',
  conditions: { '/kubernetes.io/namespace': 'shop', '/kubernetes.io/serviceaccount/name': 'billing' },
  header: {},
  claims: (audience, now) => ({
    aud: [audience],
    exp: now + 3_600,
    iat: now,
    iss: 'https://cluster.test',
    jti: '2f7b5f2c-9a3e-4f0d-8f5b-6f6f5d0c6f11',
    'kubernetes.io': {
      namespace: 'shop',
      node: { name: 'node-1', uid: '646e7c5e-32d6-4d42-9dbd-e504e6cbe6b1' },
      pod: { name: 'billing-7d9c', uid: '5e0bd49b-f040-43b0-99b7-22765a53f7f3' },
      serviceaccount: { name: 'billing', uid: '14ee3fa4-a7e2-420f-9f9a-dbc4507c3798' },
    },
    nbf: now,
    sub: 'system:serviceaccount:shop:billing',
  }),
};

const GITHUB: Platform = {
  name: 'github-actions',
  algorithm: 'RS256',
  issuer: 'https://token.actions.githubusercontent.com',
  subject: 'repo:octo-org@123456/octo-repo@456789:ref:refs/heads/main',
  conditions: { '/repository_id': '456789', '/repository_owner_id': '123456' },
  header: { typ: 'JWT', x5t: 'example-thumbprint' },
  claims: (audience, now) => ({
    jti: 'example-id',
    sub: 'repo:octo-org@123456/octo-repo@456789:ref:refs/heads/main',
    aud: audience,
    ref: 'refs/heads/main',
    sha: 'example-sha',
    repository: 'octo-org/octo-repo',
    repository_owner: 'octo-org',
    repository_owner_id: '123456',
    repository_id: '456789',
    repository_visibility: 'private',
    run_id: 'example-run-id',
    run_number: '10',
    run_attempt: '2',
    actor: 'octocat',
    actor_id: '12',
    workflow: 'example-workflow',
    head_ref: '',
    base_ref: '',
    event_name: 'push',
    ref_type: 'branch',
    ref_protected: 'true',
    job_workflow_ref: 'octo-org/octo-repo/.github/workflows/release.yml@refs/heads/main',
    runner_environment: 'github-hosted',
    iss: 'https://token.actions.githubusercontent.com',
    nbf: now - 600,
    exp: now + 300,
    iat: now,
  }),
};

const GITLAB: Platform = {
  name: 'gitlab',
  algorithm: 'RS256',
  issuer: 'https://gitlab.com',
  subject: 'project_path:my-group/my-project:ref_type:branch:ref:main',
  conditions: { '/project_id': '20', '/namespace_id': '72', '/ref_protected': 'true' },
  header: { typ: 'JWT' },
  claims: (audience, now) => ({
    namespace_id: '72',
    namespace_path: 'my-group',
    project_id: '20',
    project_path: 'my-group/my-project',
    user_id: '1',
    user_login: 'sample-user',
    user_email: 'sample-user@example.com',
    pipeline_id: '574',
    pipeline_source: 'push',
    job_id: '302',
    ref: 'main',
    ref_type: 'branch',
    ref_path: 'refs/heads/main',
    ref_protected: 'true',
    groups_direct: ['my-group/sub-group'],
    runner_id: 1,
    runner_environment: 'gitlab-hosted',
    sha: '714a629c0b401fdce83e847fc9589983fc6f46bc',
    project_visibility: 'public',
    ci_config_ref_uri: 'gitlab.com/my-group/my-project//.gitlab-ci.yml@refs/heads/main',
    jti: '235b3a54-b797-45c7-ae9a-f72d7bc6ef5b',
    iat: now,
    nbf: now - 5,
    exp: now + 3_600,
    iss: 'https://gitlab.com',
    sub: 'project_path:my-group/my-project:ref_type:branch:ref:main',
    aud: audience,
  }),
};

const AWS_ISSUER = 'https://a103a2cc-b461-473d-84fe-6c4f6d45af88.tokens.sts.global.api.aws';

const AWS: Platform = {
  name: 'aws',
  algorithm: 'ES384',
  issuer: AWS_ISSUER,
  subject: 'arn:aws:iam::123456789012:role/DataProcessingRole',
  conditions: { '/https:~1~1sts.amazonaws.com~1/aws_account': '123456789012' },
  header: { typ: 'JWT' },
  claims: (audience, now) => ({
    iss: AWS_ISSUER,
    aud: audience,
    sub: 'arn:aws:iam::123456789012:role/DataProcessingRole',
    iat: now,
    exp: now + 300,
    jti: 'xyz123-def456-ghi789-jkl012',
    'https://sts.amazonaws.com/': {
      aws_account: '123456789012',
      source_region: 'us-east-1',
      org_id: 'o-abc1234567',
      ou_path: 'o-a1b2c3d4e5/r-ab12/ou-ab12-11111111/ou-ab12-22222222/',
      principal_tags: { environment: 'production', team: 'data-engineering' },
      request_tags: { 'job-id': 'job-2024-001' },
    },
  }),
};

const SPIFFE: Platform = {
  name: 'spiffe',
  algorithm: 'ES256',
  issuer: 'spiffe://example.org',
  subject: 'spiffe://example.org/ns/shop/sa/billing',
  conditions: {},
  keyFields: { use: 'jwt-svid' },
  keySetFields: { spiffe_sequence: 12, spiffe_refresh_hint: 300 },
  header: { typ: 'JWT' },
  // No `iss`, and no `iat` either: both are optional.
  claims: (audience, now) => ({ sub: 'spiffe://example.org/ns/shop/sa/billing', aud: [audience], exp: now + 300 }),
};

export const PLATFORMS: readonly Platform[] = [KUBERNETES, GITHUB, GITLAB, AWS, SPIFFE];

/** An issuer of our own that mints the tokens of a platform, with its key set on loopback. */
export class WorkloadIssuer implements AsyncDisposable {
  readonly platform: Platform;
  readonly key: WorkloadKey;
  readonly keySet: KeySetServer;

  private constructor(platform: Platform, key: WorkloadKey, keySet: KeySetServer) {
    this.platform = platform;
    this.key = key;
    this.keySet = keySet;
  }

  static async start(name: Platform['name']): Promise<WorkloadIssuer> {
    const platform = platformOf(name);
    const key = new WorkloadKey(`${name}-1`, platform.algorithm);
    return new WorkloadIssuer(platform, key, await KeySetServer.start(keySetResponse(keySetOf(platform, key))));
  }

  /** Its entry in the file of trusted issuers. */
  entry(fields: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
    return entryOf(this.platform, { jwks_uri: this.keySet.url, ...fields });
  }

  /** A token of the platform, with other claims or fields of the header. Undefined leaves one out. */
  mint(audience: string, claims: WorkloadToken['claims'] = {}, header: WorkloadToken['claims'] = {}): string {
    return this.key.mint(tokenOf(this.platform, audience, claims, header));
  }

  /** Its key set as it is published, with further keys. */
  keySetOf(...more: readonly Readonly<Record<string, unknown>>[]): Record<string, unknown> {
    return keySetOf(this.platform, this.key, ...more);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.keySet[Symbol.asyncDispose]();
  }
}

export function platformOf(name: Platform['name']): Platform {
  const platform = PLATFORMS.find((one) => one.name === name);
  if (platform === undefined) throw new Error(name);
  return platform;
}

export function entryOf(
  { name, issuer }: Platform,
  fields: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const named = name === 'spiffe' ? { spiffe_trust_domain: issuer.slice('spiffe://'.length) } : { issuer };
  return { ...named, preset: name, ...fields };
}

/** The rule of a clients file for the subject of a platform. */
export function ruleOf({ issuer, subject, conditions }: Platform, claims: Readonly<Record<string, string>> = {}) {
  return { issuer, subject, claims: { ...conditions, ...claims } };
}

/** The token of a platform, before it is signed. Times are those of the machine. */
export function tokenOf(
  platform: Platform,
  audience: string,
  claims: WorkloadToken['claims'] = {},
  header: WorkloadToken['claims'] = {},
): WorkloadToken {
  const now = Math.floor(Date.now() / 1000);
  return { claims: { ...platform.claims(audience, now), ...claims }, header: { ...platform.header, ...header } };
}

/** SPIFFE publishes certificates in the same document. */
export function keySetOf(
  { name, keyFields, keySetFields }: Platform,
  key: WorkloadKey,
  ...more: readonly Readonly<Record<string, unknown>>[]
): Record<string, unknown> {
  const certificate = { ...new WorkloadKey('x509', 'ES256').jwk({ use: 'x509-svid', x5c: ['MIIB'] }) };
  const others = name === 'spiffe' ? [certificate] : [];
  return { keys: [...others, key.jwk(keyFields), ...more], ...keySetFields };
}
