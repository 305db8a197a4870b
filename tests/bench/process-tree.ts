import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

/** The kernel's clock ticks per second in /proc: 100 on every platform that Node.js is built for. */
const TICKS_PER_SECOND = 100;

export interface ProcessStat {
  readonly pid: number;
  readonly parent: number;
  /** Milliseconds of CPU in user and kernel mode so far. */
  readonly cpuMs: number;
}

/** Processes and their descendants, such as a server's workers, read from /proc. */
export class ProcessTree {
  readonly roots: readonly number[];

  constructor(roots: readonly number[]) {
    this.roots = roots;
  }

  /** Milliseconds of CPU that all processes have used so far; undefined without /proc. */
  async cpuMs(): Promise<number | undefined> {
    const tree = await this.#processes();
    return tree?.reduce((sum, { cpuMs }) => sum + cpuMs, 0);
  }

  /** Resident memory in megabytes; shared pages count once (PSS) if the kernel reports it; undefined without /proc. */
  async memoryMb(): Promise<number | undefined> {
    const tree = await this.#processes();
    if (tree === undefined) return undefined;
    const parts = await Promise.all(tree.map(({ pid }) => memoryMbOf(pid)));
    return parts.reduce((sum, part) => sum + part, 0);
  }

  /** The ids of all processes, oldest first; empty without /proc. */
  async pids(): Promise<readonly number[]> {
    const tree = (await this.#processes()) ?? [];
    return tree.map(({ pid }) => pid).toSorted((one, other) => one - other);
  }

  async #processes(): Promise<readonly ProcessStat[] | undefined> {
    const names = await readdir('/proc').catch(() => []);
    const lines = await Promise.all(
      names.filter((name) => /^\d+$/.test(name)).map((pid) => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')),
    );
    const all = lines.filter((line) => line !== '').map(parseProcStat);
    return all.length === 0 ? undefined : treeOf(this.roots, all);
  }
}

export interface MemorySample {
  /** Since sampling began. */
  readonly seconds: number;
  readonly megabytes: number;
}

/** Samples the resident memory of a process tree until it is ended. Without /proc there are no samples. */
export class MemoryLog {
  readonly #samples: MemorySample[] = [];
  readonly #end = new AbortController();
  readonly #sampling: Promise<void>;

  constructor(tree: ProcessTree, everyMs: number) {
    this.#sampling = this.#sample(tree, everyMs);
  }

  /** Ends the sampling and returns the samples, oldest first. */
  async end(): Promise<readonly MemorySample[]> {
    this.#end.abort();
    await this.#sampling;
    return this.#samples;
  }

  async #sample(tree: ProcessTree, everyMs: number): Promise<void> {
    const begin = performance.now();
    const { signal } = this.#end;
    while (!signal.aborted) {
      const megabytes = await tree.memoryMb();
      if (megabytes !== undefined) this.#samples.push({ seconds: (performance.now() - begin) / 1000, megabytes });
      await delay(everyMs, undefined, { signal }).catch(() => {});
    }
  }
}

/** Reads the one line of /proc/PID/stat (proc(5)). The program's name is in parentheses and may itself contain spaces and parentheses. */
export function parseProcStat(line: string): ProcessStat {
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
  const [user = 0, system = 0] = fields.slice(11, 13).map(Number);
  return {
    pid: Number.parseInt(line, 10),
    parent: Number(fields[1]),
    cpuMs: ((user + system) * 1000) / TICKS_PER_SECOND,
  };
}

/** The root processes and all their descendants. */
export function treeOf(roots: readonly number[], all: readonly ProcessStat[]): readonly ProcessStat[] {
  const tree = all.filter(({ pid }) => roots.includes(pid));
  // The loop also visits the processes that it appends.
  for (const { pid } of tree) tree.push(...all.filter(({ parent }) => parent === pid));
  return tree;
}

/** Megabytes of the line `name` of /proc/PID/smaps_rollup or /proc/PID/status; undefined if there is no such line. */
export function megabytesOf(name: string, text: string): number | undefined {
  const kilobytes = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) / 1024;
}

async function memoryMbOf(pid: number): Promise<number> {
  const read = (file: string) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '');
  return megabytesOf('Pss', await read('smaps_rollup')) ?? megabytesOf('VmRSS', await read('status')) ?? 0;
}
