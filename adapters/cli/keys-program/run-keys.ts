import { setTimeout } from 'node:timers/promises';
import { Option } from 'commander';
import { keyStateOf, rotationsOf, signsFromOf } from '../../../application/keys-program/ring-records.ts';
import type { KeyRingRecords } from '../../../application/ports/key-ring-records.ts';
import type { KeyRow, KeyRows } from '../../../application/ports/key-ring-store.ts';
import { type CommandDefinition, JSON_OPTION, runCommand } from '../command-program.ts';
import { EXIT, Problem } from '../outcome.ts';
import { type Closable, type OpenStorage, whenUsed } from '../storage-fault.ts';
import { type OutputOptions, Terminal, type TerminalStreams } from '../terminal.ts';
import { outputOf, textTable } from '../text-table.ts';

const NAME = 'npm run keys --';

const NOTES = `
The database is that of the registrations: DATABASE_URL, the file of DATABASE_URL_FILE, or DATABASE_FILE in the environment. The
service keeps its keys there with KEY_DIRECTORY=database. No command needs its secret.

Exit codes: 0 done; 1 refused: there is no key to rotate, or to revoke; 2 wrong usage; 3 the database cannot be used.`;

const TABLES = 'A service with KEY_DIRECTORY=database creates the key ring when it starts, if it is missing.';

/** What the commands need. */
interface KeysParts extends Closable {
  open(): Promise<KeyRingRecords>;
  /** The id of the secret that opens what is sealed; undefined if it is no seal. */
  readonly secretIdOf: (sealed: string) => string | undefined;
}

interface ProgramParts extends Pick<KeysParts, 'secretIdOf'> {
  /** Opens the key ring, or returns what is wrong with the environment. */
  readonly open: OpenStorage<KeyRingRecords & Closable>;
  readonly version: string;
}

/** `npm run keys`: shows, rotates and revokes the keys of replicas. Returns the exit code. Rejects only on a bug. */
export function runKeys(
  args: readonly string[],
  streams: TerminalStreams,
  { version, open, secretIdOf }: ProgramParts,
): Promise<number> {
  const description = 'Shows, rotates and revokes the keys that the replicas of the authorization service share.';
  const storageTexts = ['The key ring cannot be used', TABLES] as const;
  const page = { name: NAME, version, description, notes: NOTES, storageTexts };
  return runCommand(page, COMMANDS, { ...whenUsed(open), secretIdOf }, args, new Terminal(streams));
}

const LIST_COMMAND: CommandDefinition<KeysParts> = {
  usage: 'list',
  summary: 'show every key',
  description:
    'Shows every key that signs, will sign, still verifies or is revoked: its algorithm, its times in UTC, and the id of the secret that opens it.',
  examples: [`${NAME} list`, `npm run --silent keys -- list --json | jq -r '.[] | select(.state == "signing").kid'`],
  options: [JSON_OPTION],
  async *run({ open, secretIdOf }) {
    const ring = await (await open()).list();
    const rows = ring.rows.filter(({ verifiesUntil }) => (ring.time ?? 0) < verifiesUntil).toSorted(byTime);
    const documents = rows.map((row) => documentOf(row, ring, secretIdOf));
    const none = 'There is no key. A service with KEY_DIRECTORY=database makes one when it starts.';
    yield { document: documents, text: () => tableOf(documents), messages: documents.length === 0 ? [none] : [] };
  },
};

const ROTATE_COMMAND: CommandDefinition<KeysParts> = {
  usage: 'rotate',
  summary: 'let the next key sign',
  description:
    'Lets the next key of each algorithm sign as soon as it has been published for KEY_PUBLICATION_SECONDS. Tokens of the current one stay valid.',
  examples: [`${NAME} rotate`],
  options: [JSON_OPTION],
  async *run({ open }) {
    const keys = await open();
    const rotations = rotationsOf(await keys.list());
    if (rotations.length === 0) {
      throw new Problem(EXIT.refused, 'No key can be rotated: no next key is in the ring.', NO_NEXT);
    }
    for (const { kid, endsAt } of rotations) await keys.end(kid, endsAt);
    const documents = rotations.map(({ kid, endsAt }) => ({ kid, ends_at: timeOf(endsAt) }));
    const messages = documents.map(({ kid, ends_at }) => `The key ${kid} signs until ${ends_at}, then the next one.`);
    yield { document: documents, text: () => '', messages };
  },
};

const NO_NEXT = 'A running service adds the next key within seconds after the current one began to sign.';

interface RevokeOptions extends OutputOptions {
  readonly all?: boolean;
  readonly unknown?: boolean;
  readonly wait: boolean;
}

const REVOKE_COMMAND: CommandDefinition<KeysParts, RevokeOptions> = {
  usage: 'revoke [kid]',
  summary: 'revoke a key for good, or all keys',
  description:
    'Revokes a key: within 10 s no replica verifies its tokens, signs with it or publishes it. This cannot be undone.',
  examples: [
    `${NAME} revoke kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k`,
    `${NAME} revoke -- -an-id-with-a-dash`,
    `${NAME} revoke --all --yes`,
  ],
  asks: (_options, kid) => `Revoke ${kid === undefined ? 'every key' : `the key ${kid}`}, for good?`,
  options: [
    new Option('--all', 'revoke every key, also those that no secret opens any more'),
    new Option('--unknown', 'revoke an id that the ring does not have: the key is refused if a backup brings it back'),
    new Option('--no-wait', 'do not look again after 10 s, when all replicas have dropped the key'),
    JSON_OPTION,
  ],
  async *run({ open, secretIdOf }, { all = false, unknown = false, wait }, kid) {
    const keys = await open();
    if (all === (kid !== undefined)) {
      throw new Problem(EXIT.usage, all ? 'Name a key or --all, not both.' : 'Name the key, or --all.');
    }
    const before = (await keys.list()).rows;
    const isKnown = kid === undefined || before.find((row) => row.kid === kid)?.algorithm !== undefined;
    if (!isKnown && !unknown) throw new Problem(EXIT.refused, `Nothing was revoked. ${unknownKey(kid)}`, UNKNOWN);
    const revoked = await keys.revoke(kid === undefined ? 'all' : { kid });
    const ring = await keys.list();
    const documents = ring.rows
      .filter((row) => (kid === undefined ? revoked.includes(row.kid) : row.kid === kid))
      .map((row) => documentOf(row, ring, secretIdOf));
    const messages = [
      ...(kid === undefined ? [`${revoked.length} keys are revoked.`] : []),
      ...(kid === undefined ? [] : [isKnown ? `The key ${kid} is revoked.` : unknownKey(kid)]),
      'Replicas that reach the ring drop what is revoked within 10 s; if no other key can sign, they add one, which signs at once.',
      'A resource server that caches the key set accepts tokens of a revoked key until it fetches the set again.',
    ];
    if (kid === undefined) yield { document: documents, text: () => tableOf(documents), messages };
    else yield { ...outputOf(shownOf(documents[0]), messages), document: documents[0] ?? {} };
    if (!wait) return;
    await setTimeout(REFUSED_WITHIN_MS);
    const { rows } = await keys.list();
    const lost = documents.filter(({ kid: one }) => rows.find((row) => row.kid === one)?.revokedAt === undefined);
    if (lost.length > 0)
      throw new Problem(
        EXIT.refused,
        `The ring has lost the revocation of ${lost.map((one) => one.kid).join(', ')}.`,
        LOST,
      );
    yield { message: 'Checked again after 10 s: still revoked.' };
  },
};

/** By when each replica has read the ring. */
const REFUSED_WITHIN_MS = 10_000;

const LOST = 'A failover or a restored backup can undo a change. Revoke the key again.';

/** A mistyped id would leave the key that was meant in use. */
function unknownKey(kid: string): string {
  return `The ring has no key ${kid}, so none stopped signing: compare the id with list.`;
}

const UNKNOWN = 'With --unknown, a key of this id is refused if a backup brings it back.';

const COMMANDS = [LIST_COMMAND, ROTATE_COMMAND, REVOKE_COMMAND];

function byTime(one: KeyRow, other: KeyRow): number {
  return one.signsFrom - other.signsFrom || (one.kid < other.kid ? -1 : 1);
}

/** A key as `--json` prints it. */
function documentOf(row: KeyRow, ring: KeyRows, secretIdOf: KeysParts['secretIdOf']) {
  return {
    kid: row.kid,
    algorithm: row.algorithm ?? null,
    state: keyStateOf(row, ring),
    signs_from: timeOf(signsFromOf(row, ring)),
    ends_at: timeOf(row.endedAt),
    verifies_until: timeOf(row.verifiesUntil),
    secret_id: secretIdOf(row.sealed ?? '') ?? null,
    revoked_at: timeOf(row.revokedAt),
  };
}

/** RFC 3339, in UTC; null if there is none, or if it is out of range. */
function timeOf(seconds: number | undefined): string | null {
  if (seconds === undefined || Math.abs(seconds) > 8.64e12) return null;
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');
}

type KeyDocument = ReturnType<typeof documentOf>;

/** For people: the state alone would look like a success where a mistyped id was revoked. */
function shownOf(key?: KeyDocument) {
  return { ...key, ...(key?.algorithm === null && { state: 'revoked, never in the ring' }) };
}

function tableOf(documents: readonly KeyDocument[]): string {
  if (documents.length === 0) return '';
  const rows = documents.map((key) => Object.values(shownOf(key)).map((value) => value ?? ''));
  return textTable([Object.keys({ ...documents[0] }), ...rows]);
}
