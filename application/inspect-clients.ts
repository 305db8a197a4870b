import { hasWeakSecret } from '../domain/details-document.ts';
import { type Finding, note } from '../domain/finding.ts';
import { CHOSEN_SECRET_COST, isLocked, NO_SECRET, StoredSecret } from '../domain/stored-secret.ts';
import { type ClientRow, lookupOfRow, parseDetails } from './client-lookup.ts';

/** For operators. A generated secret needs no stretching. */
export const WEAK_SECRET = `a secret that no program generated, of a BCrypt cost below ${CHOSEN_SECRET_COST}`;

/** How many clients the doctor looks at, at most. */
export const INSPECTED_MAX = 1_000;

/** How many of these rows get no token although nobody has disabled them, how many secrets are easy to guess, and {@link inspectLifetimes}. */
export function inspectRows(rows: readonly ClientRow[], now: number, lifetimeMax: number): readonly Finding[] {
  const isUsable = (secret: string) => secret === NO_SECRET || StoredSecret.parse(secret).kind === 'bcrypt';
  const enabled = rows.filter(({ clientSecret }) => !isLocked(clientSecret));
  const isBroken = (row: ClientRow) => !isUsable(row.clientSecret) || lookupOfRow(row, now).kind === 'broken';
  const broken = enabled.filter(isBroken).length;
  const fix = 'npm run clients -- list --state broken names them and their problems';
  const weak = rows.filter((row) => hasWeakSecret(row.clientSecret, parseDetails(row), now)).length;
  return [
    ...(broken === 0 ? [] : [note(`registered clients that get no token: ${broken}`, fix)]),
    ...(weak === 0
      ? []
      : [note(`registered clients with ${WEAK_SECRET}: ${weak}`, 'npm run clients -- list names them')]),
    ...inspectLifetimes(
      rows
        .map((row) => lookupOfRow(row, now))
        .flatMap((lookup) => (lookup.kind === 'found' ? lookup.registration : [])),
      lifetimeMax,
    ),
  ];
}

/** Clients that a finding names. */
const NAMED_MAX = 5;

/**
 * Which clients have a lifetime of tokens that they do not get, since the deployment's is shorter.
 *
 * @param clients with a lifetime in seconds; Infinity: as long as the deployment's.
 */
export function inspectLifetimes(
  clients: readonly { readonly clientId: string; readonly tokenLifetimeSeconds: number }[],
  lifetimeMax: number,
): readonly Finding[] {
  const longer = clients.filter(({ tokenLifetimeSeconds: own }) => Number.isFinite(own) && own > lifetimeMax);
  if (longer.length === 0) return [];
  const ids = longer.slice(0, NAMED_MAX).map(({ clientId }) => clientId);
  const named = [...ids, ...(longer.length > NAMED_MAX ? ['…'] : [])].join(', ');
  const text = `clients with a token_lifetime_seconds above TOKEN_LIFETIME_SECONDS, whose tokens are valid for ${lifetimeMax} s: ${longer.length} (${named})`;
  return [note(text, 'shorten theirs, as with npm run clients -- update --token-lifetime, or raise the setting')];
}
