import { open as openFile, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Option } from 'commander';
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
    'Writes clients in the format of CLIENTS_FILE, with their hashes, locks, keys, federated subjects and resources, to move them to another storage. The file is new and only its owner can read it; without one, the clients are written to standard output. Clients that import would refuse are left out and named.',
  examples: [
    `${PROGRAM_NAME} export clients.json`,
    `${PROGRAM_NAME} export billing.json --prefix billing-`,
    `${PROGRAM_NAME} export team-a.json --owner team-a`,
    'npm run --silent clients -- export | gpg --encrypt --recipient ops > clients.json.gpg',
  ],
  options: [PREFIX_OPTION, new Option('--owner <name>', 'only clients of this owner')],
  asks: (_options, file) => (file === undefined ? 'This shows the hashes of secrets. Continue?' : undefined),
  async *run({ open, formatClient }, options, path) {
    const parts = exported(await open(), options, formatClient);
    yield* path === undefined ? parts : writtenTo(path, parts);
  },
};

async function* exported(
  { exportClients }: ClientUseCases,
  { prefix, owner }: Options,
  formatClient: FormatClient,
): AsyncGenerator<OutputPart> {
  let [count, missing] = [0, 0];
  for await (const page of exportClients({ prefix })) {
    const texts: string[] = [];
    for (const { problem, ...client } of page) {
      if (owner !== undefined && client.details.owner !== owner) continue;
      const entry = problem === null ? formatClient(client) : failure([problem]);
      if (entry.ok) texts.push(`${count + texts.length === 0 ? '[' : ','}\n${entry.value}`);
      else {
        missing += 1;
        const { id, clientId: client_id } = client;
        const [message = ''] = problemsOf([{ id, client_id, problem: entry.problem.join('; ') }], 'it is not exported');
        yield { message };
      }
    }
    count += texts.length;
    if (texts.length > 0) yield { text: texts.join('') };
  }
  yield { text: count === 0 ? '[]\n' : '\n]\n' };
  yield { message: `${count} exported.` };
  if (missing > 0) throw new Problem(EXIT.refused, `${missing} not exported: import would refuse them.`);
}

/** Writes the texts to a new file that only its owner can read. A file that is not complete is removed. */
async function* writtenTo(path: string, parts: AsyncIterable<OutputPart>): AsyncGenerator<OutputPart> {
  const unwritable = ({ code = 'unknown fault' }: NodeJS.ErrnoException) => {
    const what = code === 'EEXIST' ? 'exists already' : 'cannot be written';
    throw new Problem(EXIT.refused, `The file ${resolve(path)} ${what} (${code}).`);
  };
  const file = await openFile(path, 'wx', 0o600).catch(unwritable);
  let isComplete = false;
  try {
    for await (const part of parts) {
      if ('message' in part) yield part;
      else {
        await file.appendFile(part.text).catch(unwritable);
        isComplete = part.text.endsWith(']\n');
      }
    }
  } finally {
    await file.close();
    if (!isComplete) await rm(path);
  }
}
