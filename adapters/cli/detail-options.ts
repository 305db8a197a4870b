import { InvalidArgumentError, Option } from 'commander';
import type { DetailsProblem, FederatedSubject } from '../../domain/client-details.ts';

/** The identity of another issuer. */
export interface SubjectOptions {
  readonly issuer: string;
  readonly subject: string;
  readonly claim: Readonly<Record<string, string>>;
}

export const JWKS_OPTION = new Option(
  '--jwks <file>',
  'file with the public keys of the client, as a JSON Web Key Set',
);

export const SUBJECT_OPTIONS = [
  new Option('--issuer <issuer>', 'issuer of its assertions: claim iss, or a SPIFFE trust domain'),
  new Option('--subject <subject>', 'its identity there: claim sub, compared exactly'),
  new Option('--claim <path=value>', 'a further claim that must have this value; repeatable')
    .argParser(parseClaim)
    .default({}, 'none'),
];

export function subjectOf({ issuer = '', subject = '', claim = {} }: Partial<SubjectOptions>): FederatedSubject {
  return { issuer, subject, claims: claim };
}

const NAMES = { secrets: 'secret', keys: 'key', subjects: 'federated subject', resources: 'resource' } as const;

/** Which rule the details break, without a value. */
export function describeDetailsProblem({ kind, position, rule }: DetailsProblem): string {
  return position === undefined ? `The number of ${NAMES[kind]}s ${rule}.` : `The ${NAMES[kind]} ${rule}.`;
}

function parseClaim(text: string, earlier: SubjectOptions['claim']): SubjectOptions['claim'] {
  const end = text.indexOf('=');
  const path = text.slice(0, end);
  if (end < 1) throw new InvalidArgumentError('It must be the path of a claim, = and its value.');
  if (Object.hasOwn(earlier, path)) throw new InvalidArgumentError(`The claim ${path} is given twice.`);
  return { ...earlier, [path]: text.slice(end + 1) };
}
