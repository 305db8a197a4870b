import { hashedSecret, type Registration } from '../registrations.ts';
import { secretRequest } from '../token-requests.ts';

/** The refusals that the measurement compares with the first one, by client id. */
export const CASES = ['wrong secret', 'unknown id', 'cheaper hash', 'long registration', 'planted delay'] as const;

/** Rows that only a table can have: refused too, whatever the secret. */
export const ROW_CASES = ['locked row', 'broken row'] as const;

export type Case = (typeof CASES)[number] | (typeof ROW_CASES)[number];

export const REFERENCE: Case = 'wrong secret';

/** The case that plant-delay.ts slows down. Apart from that it is the same as a wrong secret. */
export const PLANTED: Case = 'planted delay';

/** So many that no single row decides the result, and that a client's attempt is answered before its next one comes. */
export const CLIENTS_PER_CASE = 60;

const CHEAPER_COST = 4;
const LONG_SCOPE = Array.from({ length: 60 }, (_, n) => `resource-${n + 10}.example/read`).join(' ');
const LONG_NAME = 'A client with a long name '.repeat(8).trim();

/** The prefix of a case's client ids. All ids have one length, so that all requests have. */
export function idPrefix(name: Case): string {
  return `${name.replace(' ', '-').padEnd(17, '-')}-`;
}

export function clientIdsOf(name: Case): readonly string[] {
  return Array.from({ length: CLIENTS_PER_CASE }, (_, n) => `${idPrefix(name)}${n + 10}`);
}

/** The registrations of some cases, hashed at this cost except those with a cheaper hash. */
export async function registrationsOf(names: readonly Case[], cost: number): Promise<readonly Registration[]> {
  const [hash, cheaper] = await Promise.all([hashedSecret(cost), hashedSecret(CHEAPER_COST)]);
  const usual = { client_secret: hash, client_name: 'A client', scope: 'read write' };
  const differences: Readonly<Partial<Record<Case, Partial<Registration>>>> = {
    'cheaper hash': { client_secret: cheaper },
    'long registration': { client_name: LONG_NAME, scope: LONG_SCOPE },
    'locked row': { client_secret: `!${hash}` },
    'broken row': { scope: '' },
  };
  return names
    .filter((name) => name !== 'unknown id')
    .flatMap((name) => clientIdsOf(name).map((client_id) => ({ client_id, ...usual, ...differences[name] })));
}

/** A request with a wrong secret. */
export function requestFor(clientId: string): string {
  return secretRequest(clientId, 'a-wrong-secret-of-32-characters!');
}
