import { open as openFile, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { DescribedRow } from '../../../application/clients-program/describe-client.ts';
import type { ExportedClient } from '../../../application/ports/client-store.ts';
import type { NewClient } from '../../../domain/client-registration.ts';
import { failure, type Result, success } from '../../../domain/result.ts';
import type { CommandDefinition } from '../command-program.ts';
import { type AnswerPart, EXIT, type Problem, problem } from '../outcome.ts';
import type { AnswerOptions } from '../terminal.ts';
import { withStorage } from '../with-storage.ts';
import { problemsOf } from './client-answer.ts';
import { type ClientUseCases, type OpenClients, PROGRAM_NAME } from './client-command.ts';
import { PREFIX_OPTION } from './client-options.ts';

/** Writes an entry of a clients file, or says why an import would refuse it. */
export type FormatClient = (client: NewClient) => Result<string, readonly string[]>;

interface Options extends AnswerOptions {
  readonly prefix: string;
}

/** `export [file]`: all that is stored of the clients, as a clients file that `import` reads. */
export function exportCommand(open: OpenClients, formatClient: FormatClient): CommandDefinition<Options> {
  return {
    usage: 'export [file]',
    summary: 'write clients to a file that import reads',
    description:
      'Writes clients in the format of CLIENTS_FILE, with their hashes, locks, keys, federated subjects and resources, to move them to another storage. The file is new and only its owner can read it; without one, the clients are written to standard output. Clients that import would refuse are left out and named.',
    examples: [
      `${PROGRAM_NAME} export clients.json`,
      `${PROGRAM_NAME} export billing.json --prefix billing-`,
      'npm run --silent clients -- export | gpg --encrypt --recipient ops > clients.json.gpg',
    ],
    options: [PREFIX_OPTION],
    asks: (_options, file) => (file === undefined ? 'This shows the hashes of secrets. Continue?' : undefined),
    run: (options, path) =>
      withStorage(open, (clients) => {
        const parts = exported(clients, options, formatClient);
        return path === undefined ? parts : writtenTo(path, parts);
      }),
  };
}

async function* exported(
  { exportClients }: ClientUseCases,
  { prefix }: Options,
  formatClient: FormatClient,
): AsyncGenerator<Result<AnswerPart, Problem>> {
  let [count, missing] = [0, 0];
  for await (const page of exportClients({ prefix })) {
    const texts: string[] = [];
    for (const row of page) {
      const entry = entryOf(row, formatClient);
      if (entry.ok) texts.push(`${count + texts.length === 0 ? '[' : ','}\n${entry.value}`);
      else {
        missing += 1;
        const [message = ''] = problemsOf([{ ...row.client, problem: entry.problem.join('; ') }], 'it is not exported');
        yield success({ message });
      }
    }
    count += texts.length;
    if (texts.length > 0) yield success({ text: texts.join('') });
  }
  yield success({ text: count === 0 ? '[]\n' : '\n]\n' });
  yield success({ message: `${count} exported.` });
  if (missing > 0) yield problem(EXIT.refused, `${missing} not exported: import would refuse them.`);
}

function entryOf(
  { client, fields }: DescribedRow<ExportedClient>,
  formatClient: FormatClient,
): Result<string, readonly string[]> {
  if (client.problem !== null) return failure([client.problem]);
  const { details } = fields;
  if (details === undefined) return failure(['it is longer than 1 MiB, or its details are not JSON']);
  return formatClient({ ...fields, details });
}

/** Writes the texts to a new file that only its owner can read. A file that is not complete is removed. */
async function* writtenTo(
  path: string,
  parts: AsyncIterable<Result<AnswerPart, Problem>>,
): AsyncGenerator<Result<AnswerPart, Problem>> {
  const unwritable = ({ code = 'unknown fault' }: NodeJS.ErrnoException) =>
    problem(
      EXIT.refused,
      `The file ${resolve(path)} ${code === 'EEXIST' ? 'exists already' : 'cannot be written'} (${code}).`,
    );
  const file = await openFile(path, 'wx', 0o600).catch(unwritable);
  if ('problem' in file) return yield file;
  let isComplete = false;
  try {
    for await (const part of parts) {
      if (!part.ok || 'message' in part.value) yield part;
      else {
        const fault = await file.appendFile(part.value.text).catch(unwritable);
        if (fault !== undefined) return yield fault;
        isComplete = part.value.text.endsWith(']\n');
      }
    }
  } finally {
    await file.close();
    if (!isComplete) await rm(path);
  }
}
