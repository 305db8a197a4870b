import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat, readdir, stat } from 'node:fs/promises';
import { basename, join, relative, resolve, sep } from 'node:path';
import { PROBLEMS_MAX } from '../../../application/clients-program/plan-clients.ts';
import {
  type ClientsFile,
  FILE_BYTES_MAX,
  type ImportEntry,
  type ImportProblem,
} from '../../../application/ports/client-store.ts';
import { failure } from '../../../domain/result.ts';
import { EXIT, Problem } from '../outcome.ts';

/** Entries that are planned at once. */
const BATCH_SIZE = 1_000;

const YAML = /\.ya?ml$/i;
const JSON_NAME = /\.json$/i;
/** How a text in JSON begins. The content decides where the name says nothing. */
const JSON_BEGIN = /^\s*[[{]/;
/** Standard input. */
const STDIN = '-';
const CLIENTS_FILE = /\.(json|ya?ml)$/i;
const HIDDEN = /(^|[/\\])\./;

/** Reads the entries of a clients file. */
export type ReadClientsFile = (bytes: Uint8Array, format: 'json' | 'yaml') => Promise<readonly ImportEntry[]>;

/** The clients behind it are not read, and `--prune` would remove them. */
async function refuseLinkToFolder(path: string): Promise<void> {
  if (!(await lstat(path)).isSymbolicLink()) return;
  const target = await stat(path).catch(() => undefined);
  if (target?.isDirectory())
    throw new Problem(EXIT.refused, `${resolve(path)} is a link to a folder: name the folder itself.`);
}

/** The clients of a file, or of all files of a folder in the order of their names. */
export class ClientsSource {
  readonly #path: string;
  readonly #files: readonly string[];
  readonly #read: ReadClientsFile;
  /** The position of the first entry of each file that was read, and the SHA-256 of its bytes. */
  readonly #firsts: number[] = [];
  readonly #digests: string[] = [];

  private constructor(path: string, files: readonly string[], read: ReadClientsFile) {
    this.#path = path;
    this.#files = files;
    this.#read = read;
  }

  static async ofFile(path: string, read: ReadClientsFile): Promise<ClientsSource> {
    if (path !== STDIN) await stat(path).catch((fault) => throwUnreadable(path, fault));
    return new ClientsSource(path, [path], read);
  }

  /**
   * The files in JSON and YAML of a folder and its folders, without hidden ones, or one file. @param mayBeEmpty folders
   * without any file in them.
   */
  static async ofFolder(
    path: string,
    read: ReadClientsFile,
    { mayBeEmpty = true }: { readonly mayBeEmpty?: boolean } = {},
  ): Promise<ClientsSource> {
    const found = path === STDIN ? undefined : await stat(path).catch((fault) => throwUnreadable(path, fault));
    if (!found?.isDirectory()) return new ClientsSource(path, [path], read);
    const names = await readdir(path, { recursive: true }).catch((fault) => throwUnreadable(path, fault));
    for (const name of names) if (!HIDDEN.test(name)) await refuseLinkToFolder(join(path, name));
    const files = names.filter((name) => CLIENTS_FILE.test(name) && !HIDDEN.test(name)).sort();
    if (files.length === 0)
      throw new Problem(EXIT.refused, `The folder ${resolve(path)} has no .json, .yaml or .yml file.`);
    const empty = mayBeEmpty ? undefined : await emptyFolderIn(path, files);
    if (empty !== undefined) {
      const text = `The folder ${resolve(path, empty)} has no clients file, as if it had not been checked out`;
      throw new Problem(EXIT.refused, `${text}: --prune reads it only with --allow-empty.`);
    }
    return new ClientsSource(
      path,
      files.map((name) => join(path, name)),
      read,
    );
  }

  /** The entries, with positions that count through all files. */
  async *batches(): AsyncGenerator<readonly ImportEntry[]> {
    let position = 0;
    for (const path of this.#files) {
      const first = position;
      this.#firsts.push(first);
      const entries = await this.#entriesOf(path);
      const moved = ({ position: at, text }: ImportProblem) =>
        at === undefined ? { text: this.#inFile(path, text) } : { position: first + at, text };
      for (let start = 0; start < entries.length; start += BATCH_SIZE) {
        const batch = entries.slice(start, start + BATCH_SIZE);
        yield batch.map((entry) => (entry.ok ? entry : failure(entry.problem.map(moved))));
      }
      position += entries.length;
    }
  }

  async #entriesOf(path: string): Promise<readonly ImportEntry[]> {
    const bytes = await readAll(path).catch((fault) => throwUnreadable(path, fault));
    this.#digests.push(createHash('sha256').update(bytes).digest('hex'));
    const isJson = JSON_NAME.test(path) || (!YAML.test(path) && JSON_BEGIN.test(bytes.toString('latin1', 0, 1_024)));
    return this.#read(bytes, isJson ? 'json' : 'yaml');
  }

  /** What was read, once all of it was. The hash of a folder is that of the output of `sha256sum` for its files. */
  file(): ClientsFile {
    const [path = '', ...others] = this.#files;
    const name = this.#path === STDIN ? STDIN : basename(resolve(this.#path));
    if (others.length === 0 && path === this.#path) return { name, sha256: this.#digests[0] ?? '' };
    const lines = this.#files.map((file, index) => `${this.#digests[index]}  ${relative(this.#path, file)}\n`);
    return { name, sha256: createHash('sha256').update(lines.join('')).digest('hex') };
  }

  refusal(problems: readonly ImportProblem[]): Problem {
    const lines = problems.map(({ position, text, other }) => {
      const place = position === undefined ? '' : `${this.#placeOf(position)}: `;
      return `  ${place}${text}${other === undefined ? '' : ` ${this.#placeOf(other)}`}`;
    });
    const more = problems.length >= PROBLEMS_MAX ? ['There may be more problems.'] : [];
    const counted = problems.some(({ position }) => position !== undefined) ? ' (entries are counted from 0)' : '';
    const head = `The file ${this.#path} is refused; nothing was changed${counted}:`;
    return new Problem(EXIT.refused, head, ...lines, ...more);
  }

  /** Such as `entry 3`, counted from 0, or `billing.yaml: entry 3` of a folder. */
  #placeOf(position: number): string {
    const index = this.#firsts.findLastIndex((first) => first <= position);
    return this.#inFile(this.#files[index] ?? '', `entry ${position - (this.#firsts[index] ?? 0)}`);
  }

  /** The text behind the name of the file, if there are several. */
  #inFile(file: string, text: string): string {
    return file === this.#path ? text : `${relative(this.#path, file)}: ${text}`;
  }
}

/** A folder in which, and in whose folders, is none of the files, such as a Git submodule that was not fetched. */
async function emptyFolderIn(path: string, files: readonly string[]): Promise<string | undefined> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  const folders = entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => relative(path, join(entry.parentPath, entry.name)));
  return folders.find((name) => !HIDDEN.test(name) && !files.some((file) => file.startsWith(join(name, sep))));
}

/** At most one chunk more than a file may have: a device may never end. */
async function readAll(path: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of createReadStream(path, path === STDIN ? { fd: 0 } : {})) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > FILE_BYTES_MAX.json) break;
  }
  return Buffer.concat(chunks);
}

function throwUnreadable(path: string, { code = 'unknown fault' }: NodeJS.ErrnoException): never {
  throw new Problem(EXIT.refused, `The file ${resolve(path)} cannot be read (${code}).`);
}
