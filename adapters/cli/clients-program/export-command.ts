import { type FileHandle, open as openFile, rm } from 'node:fs/promises';
import { join, parse, resolve } from 'node:path';
import { Option } from 'commander';
import { PLAN_CLIENTS_MAX } from '../../../application/ports/client-store.ts';
import { failure } from '../../../domain/result.ts';
import { EXIT, type OutputPart, Problem } from '../outcome.ts';
import type { OutputOptions } from '../terminal.ts';
import { type ClientCommand, type ClientUseCases, type FormatClient, PROGRAM_NAME } from './client-command.ts';
import { PREFIX_OPTION } from './client-options.ts';
import { problemsOf } from './client-output.ts';

interface Options extends OutputOptions {
  readonly prefix: string;
  readonly owner?: string;
}

/** `export [file]`: all that is stored of the clients, as a clients file that `import` reads. */
export const EXPORT_COMMAND: ClientCommand<Options> = {
  usage: 'export [file]',
  summary: 'write clients to a file that import reads',
  description:
    'Writes clients in the format of CLIENTS_FILE, with their hashes, locks, keys, federated subjects and resources, to move them to another storage. The file is new and only its owner can read it; without one, the clients are written to standard output. More than 50,000 clients, which import takes at most, are written to several files: clients.json, clients.2.json and so on. Clients that import would refuse are left out and named.',
  examples: [
    `${PROGRAM_NAME} export clients.json`,
    `${PROGRAM_NAME} export billing.json --prefix billing-`,
    `${PROGRAM_NAME} export team-a.json --owner team-a`,
    'npm run --silent clients -- export | gpg --encrypt --recipient ops > clients.json.gpg',
  ],
  options: [PREFIX_OPTION, new Option('--owner <name>', 'only clients of this owner')],
  asks: (_options, file) => (file === undefined ? 'This shows the hashes of secrets. Continue?' : undefined),
  async *run({ open, formatClient }, options, path) {
    const perFile = path === undefined ? Infinity : PLAN_CLIENTS_MAX;
    const parts = exported(await open(), options, formatClient, perFile);
    yield* path === undefined ? parts : writtenTo(path, parts);
  },
};

/** @param perFile clients of one array. What follows is another one. */
async function* exported(
  { exportClients }: ClientUseCases,
  { prefix, owner }: Options,
  formatClient: FormatClient,
  perFile: number,
): AsyncGenerator<OutputPart> {
  let [count, missing] = [0, 0];
  for await (const page of exportClients({ prefix })) {
    const texts: string[] = [];
    for (const { problem, ...client } of page) {
      if (owner !== undefined && client.details.owner !== owner) continue;
      const entry = problem === null ? formatClient(client) : failure([problem]);
      if (entry.ok) {
        if (count > 0 && count % perFile === 0) {
          yield { text: texts.splice(0).join('') };
          yield { text: END };
        }
        texts.push(`${count % perFile === 0 ? '[' : ','}\n${entry.value}`);
        count += 1;
      } else {
        missing += 1;
        const { id, clientId: client_id } = client;
        const [message = ''] = problemsOf([{ id, client_id, problem: entry.problem.join('; ') }], 'it is not exported');
        yield { message };
      }
    }
    if (texts.length > 0) yield { text: texts.join('') };
  }
  yield { text: count === 0 ? `[${END.trimStart()}` : END };
  yield { message: `${count} exported.` };
  if (missing > 0) throw new Problem(EXIT.refused, `${missing} not exported: import would refuse them.`);
}

/** Of an array. */
const END = '\n]\n';

/** Writes each array to a new file that only its owner can read. A file that is not complete is removed. */
async function* writtenTo(path: string, parts: AsyncIterable<OutputPart>): AsyncGenerator<OutputPart> {
  const { dir, name, ext } = parse(path);
  let number = 1;
  let file: NewFile | undefined;
  try {
    for await (const part of parts) {
      if ('message' in part) yield part;
      else {
        file ??= await NewFile.create(number === 1 ? path : join(dir, `${name}.${number}${ext}`));
        await file.append(part.text);
        if (!part.text.endsWith(']\n')) continue;
        await file.close();
        file = undefined;
        number += 1;
      }
    }
  } finally {
    await file?.remove();
  }
}

class NewFile {
  readonly #path: string;
  readonly #handle: FileHandle;

  private constructor(path: string, handle: FileHandle) {
    this.#path = path;
    this.#handle = handle;
  }

  static async create(path: string): Promise<NewFile> {
    return new NewFile(path, await openFile(path, 'wx', 0o600).catch((fault) => unwritable(path, fault)));
  }

  async append(text: string): Promise<void> {
    await this.#handle.appendFile(text).catch((fault) => unwritable(this.#path, fault));
  }

  close(): Promise<void> {
    return this.#handle.close();
  }

  async remove(): Promise<void> {
    await this.close();
    await rm(this.#path);
  }
}

function unwritable(path: string, { code = 'unknown fault' }: NodeJS.ErrnoException): never {
  const what = code === 'EEXIST' ? 'exists already' : 'cannot be written';
  throw new Problem(EXIT.refused, `The file ${resolve(path)} ${what} (${code}).`);
}
