import { describe, expect, test } from '@jest/globals';
import type { FederatedSubject } from '../../../domain/client-details.ts';
import { type IssuerPreset, presetOf } from '../../../domain/federated-jwt/issuer-preset.ts';
import { type TrustedIssuer, TrustedIssuers } from '../../../domain/federated-jwt/trusted-issuers.ts';

const POD = { '/kubernetes.io/namespace': 'shop', '/kubernetes.io/serviceaccount/name': 'billing' };
const IDS = { '/repository_id': '456789', '/repository_owner_id': '123456' };
const PROJECT = { '/project_id': '22', '/namespace_id': '7' };

function issuerOf(issuer: string, preset: IssuerPreset = 'none'): TrustedIssuer {
  return { issuer, audience: 'https://auth.example', algorithms: ['RS256'], preset };
}

describe('a rule for a platform', () => {
  const issuers = new TrustedIssuers([
    issuerOf('k8s', 'kubernetes'),
    issuerOf('github', 'github-actions'),
    issuerOf('gitlab', 'gitlab'),
    issuerOf('aws', 'aws'),
    issuerOf('spiffe://example.org', 'spiffe'),
    issuerOf('spiffe://undefined', 'spiffe'),
    issuerOf('https://spire.example', 'spiffe'),
    issuerOf('other'),
  ]);
  const problemOf = (issuer: string, subject: string, claims: FederatedSubject['claims'] = {}) =>
    issuers.problemOf({ issuer, subject, claims });

  test.each([
    ['a service account', 'k8s', 'system:serviceaccount:shop:billing', POD],
    [
      'a service account of the namespace default',
      'k8s',
      'system:serviceaccount:default:billing',
      { ...POD, '/kubernetes.io/namespace': 'default' },
    ],
    [
      'a service account and a namespace of one letter',
      'k8s',
      'system:serviceaccount:a:b',
      { '/kubernetes.io/namespace': 'a', '/kubernetes.io/serviceaccount/name': 'b' },
    ],
    [
      'a service account by its uid too',
      'k8s',
      'system:serviceaccount:shop:billing',
      { ...POD, '/kubernetes.io/serviceaccount/uid': 'b1' },
    ],
    ['a branch of a repository by name', 'github', 'repo:octo-org/octo-repo:ref:refs/heads/main', IDS],
    ['a branch of a repository by id', 'github', 'repo:octo-org@123456/octo-repo@456789:ref:refs/heads/main', IDS],
    [
      'an environment',
      'github',
      'repo:octo-org@123456/octo-repo@456789:environment:Prod: EU',
      { ...IDS, '/ref': 'refs/heads/main' },
    ],
    ['a GitLab project', 'gitlab', 'project_path:group/project:ref_type:branch:ref:main', PROJECT],
    ['an IAM role', 'aws', 'arn:aws:iam::123456789012:role/DataProcessingRole', {}],
    ['an IAM role with a path', 'aws', 'arn:aws-us-gov:iam::123456789012:role/a/b/Role+=,.@-_', {}],
    ['a SPIFFE workload', 'spiffe://example.org', 'spiffe://example.org/ns/shop/sa/billing', {}],
    ['a SPIFFE workload of an issuer with a URL', 'https://spire.example', 'spiffe://example.org/billing', {}],
    ['any subject of another issuer', 'other', '*', {}],
    ['any claim of another issuer', 'other', 'x', { '/a': '*' }],
  ])('accepts %s', (_what, issuer, subject, claims) => {
    expect(problemOf(issuer, subject, claims)).toBeUndefined();
  });

  test.each([
    ['an issuer that is not trusted', 'https://evil.example', 'x', {}, /issuer/],
    ['an issuer in another case', 'K8S', 'system:serviceaccount:shop:billing', POD, /issuer/],
    [
      'the service account default',
      'k8s',
      'system:serviceaccount:shop:default',
      { ...POD, '/kubernetes.io/serviceaccount/name': 'default' },
      /default/,
    ],
    ['no claims of a pod', 'k8s', 'system:serviceaccount:shop:billing', {}, /namespace/],
    [
      'the namespace of another pod',
      'k8s',
      'system:serviceaccount:shop:billing',
      { ...POD, '/kubernetes.io/namespace': 'shop2' },
      /as in the subject/,
    ],
    [
      'the service account of another pod',
      'k8s',
      'system:serviceaccount:shop:billing',
      { ...POD, '/kubernetes.io/serviceaccount/name': 'billing2' },
      /as in the subject/,
    ],
    ['text before a service account', 'k8s', 'x:system:serviceaccount:shop:billing', POD, /subject must be/],
    ['text behind a service account', 'k8s', 'system:serviceaccount:shop:billing:x', POD, /subject must be/],
    ['neither a service account nor claims', 'k8s', 'kubernetes-admin', {}, /subject/],
    ['no service account in the subject', 'k8s', 'system:serviceaccount:shop:', POD, /subject/],
    ['a wildcard for pods', 'k8s', 'system:serviceaccount:shop:*', POD, /wildcards/],
    ['a group of service accounts', 'k8s', 'system:serviceaccounts:shop', POD, /subject/],
    ['a user of Kubernetes', 'k8s', 'kubernetes-admin', POD, /subject/],
    ['no id of the owner', 'github', 'repo:o/r:ref:refs/heads/main', { '/repository_id': '1' }, /repository_owner_id/],
    [
      'no id of the repository',
      'github',
      'repo:o/r:ref:refs/heads/main',
      { '/repository_owner_id': '1' },
      /repository_id/,
    ],
    ['text behind an id', 'github', 'repo:o/r:ref:x', { ...IDS, '/repository_id': '1x' }, /with a number/],
    ['text before an id', 'github', 'repo:o/r:ref:x', { ...IDS, '/repository_id': 'x1' }, /with a number/],
    ['an empty id', 'github', 'repo:o/r:ref:refs/heads/main', { ...IDS, '/repository_id': '' }, /repository_id/],
    ['other ids in the subject', 'github', 'repo:o@123456/r@1:ref:refs/heads/main', IDS, /same ids/],
    ['only one id in the subject', 'github', 'repo:o@123456/r:ref:refs/heads/main', IDS, /same ids/],
    ['another owner in the subject', 'github', 'repo:o@1/r@456789:ref:refs/heads/main', IDS, /same ids/],
    ['only the id of a repository in the subject', 'github', 'repo:o/r@1:ref:refs/heads/main', IDS, /same ids/],
    ['text before a repository', 'github', 'x:repo:o/r:ref:refs/heads/main', IDS, /subject/],
    ['a second line', 'github', 'repo:o/r:ref:refs/heads/main\nx', IDS, /subject/],
    ['all branches', 'github', 'repo:o/r:*', IDS, /wildcards/],
    ['all branches in a claim', 'github', 'repo:o/r:ref:x', { ...IDS, '/ref': 'refs/heads/*' }, /claims .*wildcards/],
    ['no branch', 'github', 'repo:o/r', IDS, /subject/],
    ['no branch after the colon', 'github', 'repo:o/r:', IDS, /subject/],
    ['a subject without a repository', 'github', 'repository_owner:o', IDS, /subject/],
    [
      'no id of the project',
      'gitlab',
      'project_path:g/p:ref_type:branch:ref:main',
      { '/namespace_id': '7' },
      /project_id/,
    ],
    ['no project', 'gitlab', 'user:g', PROJECT, /project_path/],
    ['text before a role', 'aws', 'x:arn:aws:iam::123456789012:role/Role', {}, /role/],
    ['text behind a role', 'aws', 'arn:aws:iam::123456789012:role/Role x', {}, /role/],
    ['an IAM user', 'aws', 'arn:aws:iam::123456789012:user/alice', {}, /role/],
    ['the root of an account', 'aws', 'arn:aws:iam::123456789012:root', {}, /role/],
    ['a session of a role', 'aws', 'arn:aws:sts::123456789012:assumed-role/Role/session', {}, /role/],
    ['all roles', 'aws', 'arn:aws:iam::123456789012:role/*', {}, /wildcards/],
    ['a workload of another trust domain', 'spiffe://example.org', 'spiffe://example.com/billing', {}, /trust domain/],
    ['a trust domain without a workload', 'spiffe://example.org', 'spiffe://example.org', {}, /workload/],
    ['no SPIFFE ID', 'spiffe://undefined', 'billing', {}, /SPIFFE ID/],
    ['no SPIFFE ID of an issuer with a URL', 'https://spire.example', 'billing', {}, /SPIFFE ID/],
  ])('refuses %s', (_what, issuer, subject, claims, problem) => {
    expect(problemOf(issuer, subject, claims as FederatedSubject['claims'])).toMatch(problem);
  });

  test.each([
    ['https://token.actions.githubusercontent.com', 'github-actions'],
    ['https://token.actions.githubusercontent.com/octo-org', 'github-actions'],
    ['https://token.actions.githubusercontent.com.evil.example', 'none'],
    ['https://evil.example/https://token.actions.githubusercontent.com', 'none'],
    ['https://gitlab.com', 'gitlab'],
    ['https://a103a2cc-b461-473d-84fe-6c4f6d45af88.tokens.sts.global.api.aws', 'aws'],
    ['spiffe://example.org', 'spiffe'],
    ['https://gitlab.example', 'none'],
    ['https://evil.example/.tokens.sts.global.api.aws', 'none'],
    ['https://evil.example/https://a.tokens.sts.global.api.aws', 'none'],
    ['https://a.tokens.sts.global.api.aws.evil.example', 'none'],
  ])('%s has the preset %s unless told otherwise', (issuer, preset) => {
    expect(presetOf(issuer)).toBe(preset);
  });
});

describe('the issuer of an assertion', () => {
  const issuers = new TrustedIssuers([
    issuerOf('https://a.example'),
    issuerOf('spiffe://example.org', 'spiffe'),
    issuerOf('spiffe://undefined', 'spiffe'),
  ]);
  const find = (type: 'jwt-bearer' | 'jwt-spiffe', sub: string, iss?: string) =>
    issuers.find(type, { sub, iss })?.issuer;
  const ID = 'spiffe://example.org/billing';

  test('is the one that it names', () => {
    expect(find('jwt-bearer', 'x', 'https://a.example')).toBe('https://a.example');
    expect(find('jwt-bearer', ID, 'https://a.example')).toBe('https://a.example');
  });

  test('is the trust domain of a SPIFFE ID', () => {
    expect(find('jwt-bearer', ID)).toBe('spiffe://example.org');
    expect(find('jwt-spiffe', ID)).toBe('spiffe://example.org');
    expect(find('jwt-bearer', ID, 'https://spire.example')).toBe('spiffe://example.org');
    expect(find('jwt-spiffe', ID, 'https://a.example')).toBe('spiffe://example.org');
    expect(find('jwt-bearer', ID, 'spiffe://example.org')).toBe('spiffe://example.org');
  });

  test.each([
    ['an issuer that is not trusted', 'x', 'https://b.example'],
    ['an issuer with a slash at the end', 'x', 'https://a.example/'],
    ['an issuer in another case', 'x', 'https://A.example'],
    ['a part of an issuer', 'x', 'https://a.exampl'],
    ['no issuer', 'x', undefined],
    ['a trust domain that is not trusted', 'spiffe://example.com/billing', undefined],
    ['a trust domain as the issuer of another subject', 'spiffe://example.com/billing', 'spiffe://example.org'],
    ['a trust domain as the issuer of no SPIFFE ID', 'x', 'spiffe://example.org'],
    ['the name of a member of every object', 'x', '__proto__'],
  ])('is not found with %s', (_what, sub, iss) => {
    expect(find('jwt-bearer', sub, iss)).toBeUndefined();
  });

  test('is never one with a URL where the type is jwt-spiffe', () => {
    expect(find('jwt-spiffe', 'x', 'https://a.example')).toBeUndefined();
  });
});
