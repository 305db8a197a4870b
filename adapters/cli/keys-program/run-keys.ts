import type { KeyRecord, KeyRecords } from '../../../application/ports/key-records.ts';
import { closestTo } from '../../../domain/edit-distance.ts';
import { type CommandDefinition, JSON_OPTION, runCommand } from '../command-program.ts';
import { EXIT, Problem } from '../outcome.ts';
import { Terminal, type TerminalStreams } from '../terminal.ts';
import { answerOf, textTable } from '../text-table.ts';
import { type OpenStorage, withStorage } from '../with-storage.ts';

const NAME = 'npm run keys --';

const NOTES = `
The database is the one that DATABASE_URL names in the environment, or the file of DATABASE_URL_FILE. The service creates its
tables with KEY_DIRECTORY=postgres. Private keys are not in it.

Exit codes: 0 done; 1 refused: no key has this id; 2 wrong usage; 3 the database cannot be used.`;

const TABLES =
  'A service with KEY_DIRECTORY=postgres creates these tables when it starts, if they are missing. If they are there: grant select, insert, update, delete on signing_keys, signing_key_states to this role.';

const COLUMNS = ['kid', 'algorithm', 'state', 'replica', 'published_at', 'trusted_until', 'revoked_at'] as const;

/** Opens the key directory, or returns what is wrong with the environment. */
type OpenKeys = OpenStorage<KeyRecords & { close(): Promise<void> }>;

/** `npm run keys`: shows the keys of the shared directory, and revokes one. Returns the exit code. Rejects only on a bug. */
export function runKeys(
  args: readonly string[],
  streams: TerminalStreams,
  { open, version }: { readonly open: OpenKeys; readonly version: string },
): Promise<number> {
  const description = 'Shows and revokes the keys that the replicas of the authorization service share.';
  const storageTexts = ['The key directory cannot be used', TABLES] as const;
  const page = { name: NAME, version, description, notes: NOTES, storageTexts };
  return runCommand(page, [listCommand(open), revokeCommand(open)], args, new Terminal(streams));
}

function listCommand(open: OpenKeys): CommandDefinition {
  return {
    usage: 'list',
    summary: 'show every key',
    description:
      'Shows every key that is trusted or revoked: its algorithm, its replica, as host and process, and its times in UTC.',
    examples: [`${NAME} list`, `npm run --silent keys -- list --json | jq -r '.[] | select(.state == "active").kid'`],
    options: [JSON_OPTION],
    run: () =>
      withStorage(open, async (keys) => {
        const documents = (await keys.list()).map(documentOf);
        const messages =
          documents.length === 0
            ? ['No key is published. Only services with KEY_DIRECTORY=postgres publish keys here.']
            : [];
        return { document: documents, text: () => tableOf(documents), messages };
      }),
  };
}

function revokeCommand(open: OpenKeys): CommandDefinition {
  return {
    usage: 'revoke <kid>',
    summary: 'revoke a key for good',
    description:
      'Revokes a key: within 15 s no replica trusts its tokens, signs with it or publishes it. This cannot be undone.',
    examples: [`${NAME} revoke 0b5e5f8e-6d1c-4a51-9c0e-6d3f8e4b2a10`, `${NAME} revoke -- -an-id-with-a-dash`],
    options: [JSON_OPTION],
    run: (_options, kid = '') =>
      withStorage(open, async (keys) => {
        const record = await keys.revoke(kid);
        if (record === undefined) {
          const kids = (await keys.list()).map((key) => key.kid);
          const hints = [closestTo(kid, kids) ?? []].flat().map((similar) => `Did you mean ${similar}?`);
          throw new Problem(EXIT.refused, `No key has the id ${kid}.`, ...hints);
        }
        const messages = [
          `The key ${kid} is revoked. Replicas that reach the directory drop it within 15 s.`,
          'A resource server that caches the key set accepts tokens of this key until it fetches the set again.',
        ];
        return answerOf(documentOf(record), messages);
      }),
  };
}

/** A key as `--json` prints it. */
function documentOf({ kid, algorithm, replica, publishedAt, trustedUntil, revokedAt }: KeyRecord) {
  return {
    kid,
    algorithm,
    state: revokedAt === undefined ? 'active' : 'revoked',
    replica: replica ?? null,
    published_at: timeOf(publishedAt),
    trusted_until: timeOf(trustedUntil),
    revoked_at: timeOf(revokedAt),
  };
}

/** RFC 3339, in UTC; null if there is none, or if it is out of range. */
function timeOf(seconds: number | undefined): string | null {
  if (seconds === undefined || Math.abs(seconds) > 8.64e12) return null;
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');
}

function tableOf(documents: readonly ReturnType<typeof documentOf>[]): string {
  if (documents.length === 0) return '';
  const rows = documents.map((key) => COLUMNS.map((column) => String(key[column] ?? '')));
  return textTable([[...COLUMNS], ...rows], { heading: true });
}
