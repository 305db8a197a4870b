import { createHash, type Hash } from 'node:crypto';
import { type FileHandle, open as openFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { Option } from 'commander';
import { type ImportedClients, PROBLEMS_MAX } from '../../../application/clients-program/import-clients.ts';
import type { ImportEntry, ImportProblem } from '../../../application/ports/client-store.ts';
import { type CommandDefinition, JSON_OPTION } from '../command-program.ts';
import { EXIT, type OutputStream, Problem } from '../outcome.ts';
import { printableJson } from '../printable.ts';
import { withStorage } from '../with-storage.ts';
import { type ClientUseCases, type OpenClients, PROGRAM_NAME } from './client-command.ts';
import { GIVEN_COST_OPTION, type GivenCostOptions } from './client-options.ts';

/** More clients than this are counted instead of named on standard error. */
const NAMED_MAX = 100;

/** How much of the file is read at once, in bytes. */
const CHUNK_SIZE = 262_144;

/** Reads a clients file of any size in batches of entries. */
export type StreamClientsFile = (chunks: AsyncIterable<Uint8Array>) => AsyncIterable<readonly ImportEntry[]>;

interface Options extends GivenCostOptions {
  readonly replace?: true;
  readonly dryRun?: true;
}

/** `import <file>`: registers the clients of a clients file, all or none. */
export function importCommand(open: OpenClients, streamClientsFile: StreamClientsFile): CommandDefinition<Options> {
  return {
    usage: 'import <file>',
    summary: 'register every client of a clients file, or none',
    description:
      'Registers the clients of a JSON file in the format of CLIENTS_FILE, all of them or none. {noop} secrets are hashed with BCrypt. With --replace, existing clients get the secret, name and scope of the file, and each list that their entry has; disabled ones stay disabled.',
    examples: [
      `${PROGRAM_NAME} import clients.json --dry-run`,
      `${PROGRAM_NAME} import clients.json`,
      `${PROGRAM_NAME} import clients.json --replace --json`,
    ],
    options: [
      new Option('--replace', 'change existing clients instead of refusing the file'),
      new Option('--dry-run', 'change nothing, and say what would be changed').conflicts('json'),
      GIVEN_COST_OPTION,
      JSON_OPTION,
    ],
    async *run(options, path = '') {
      const throwUnreadable = ({ code = 'unknown fault' }: NodeJS.ErrnoException) => {
        throw new Problem(EXIT.refused, `The file ${resolve(path)} cannot be read (${code}).`);
      };
      const file = await openFile(path).catch(throwUnreadable);
      try {
        yield* withStorage(open, (clients) => importFile(clients, file, path, options, streamClientsFile));
      } catch (fault) {
        if (!isReadFault(fault)) throw fault;
        throwUnreadable(fault);
      } finally {
        await file.close();
      }
    },
  };
}

async function* importFile(
  { importClients }: ClientUseCases,
  file: FileHandle,
  path: string,
  { replace, dryRun, cost, json }: Options,
  streamClientsFile: StreamClientsFile,
): OutputStream {
  const hash = createHash('sha256');
  const chunks = hashed(file.createReadStream({ highWaterMark: CHUNK_SIZE, autoClose: false }), hash);
  const imported = await importClients(streamClientsFile(chunks), {
    cost,
    existing: replace ? 'replace' : 'refuse',
    file: dryRun ? undefined : () => ({ name: basename(path), sha256: hash.digest('hex') }),
  });
  if (!imported.ok) throw refusal(path, imported.problem);
  const { added, replaced, locked } = imported.value.counts;
  const said = `${added} would be added, ${replaced} replaced, ${locked} of them still disabled. Nothing was changed.`;
  if (dryRun) return yield { message: said };
  yield* messages(imported.value);
  if (json) yield* documentOf(imported.value);
}

async function* hashed(chunks: AsyncIterable<Uint8Array>, hash: Hash): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    hash.update(chunk);
    yield chunk;
  }
}

async function* messages({ counts, ids }: ImportedClients): OutputStream {
  yield { message: `${counts.added} added, ${counts.replaced} replaced.` };
  let left = NAMED_MAX;
  for await (const page of ids('locked')) {
    for (const clientId of page.slice(0, left)) yield { message: `Client ${clientId} stays disabled.` };
    left -= Math.min(left, page.length);
    if (left === 0) break;
  }
  const more = counts.locked - NAMED_MAX;
  if (more > 0) yield { message: `${more} more clients stay disabled; --json names them all.` };
}

/** One object with three arrays of client ids, of any length. */
async function* documentOf({ ids }: ImportedClients): OutputStream {
  const fields = { added: 'added', replaced: 'replaced', still_disabled: 'locked' } as const;
  let opening = '{';
  for (const [field, kind] of Object.entries(fields)) {
    yield { text: `${opening}"${field}":[` };
    opening = '],';
    let separator = '';
    for await (const page of ids(kind)) {
      yield { text: separator + page.map(printableJson).join(',') };
      separator = ',';
    }
  }
  yield { text: ']}\n' };
}

function refusal(path: string, problems: readonly ImportProblem[]): Problem {
  const lines = problems.map(({ position, text }) => `  ${position === undefined ? '' : `entry ${position}: `}${text}`);
  const more = problems.length >= PROBLEMS_MAX ? ['There may be more problems.'] : [];
  return new Problem(EXIT.refused, `The file ${path} is refused; nothing was changed:`, ...lines, ...more);
}

/** A directory can be opened, but not read. */
function isReadFault(fault: unknown): fault is NodeJS.ErrnoException {
  return fault instanceof Error && 'code' in fault && 'syscall' in fault && fault.syscall === 'read';
}
