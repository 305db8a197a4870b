import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { sum } from './report.ts';

/** The kernel's clock ticks per second in /proc: 100 on every platform that Node.js is built for. */
const TICKS_PER_SECOND = 100;

interface ProcessStat {
  readonly pid: number;
  readonly parent: number;
  /** Milliseconds of CPU in user and kernel mode so far. */
  readonly cpuMs: number;
}

/**
 * Processes and their descendants, such as a server's child processes, read from /proc. Without /proc, figures are NaN.
 */
export class ProcessTree {
  readonly roots: readonly number[];

  constructor(roots: readonly number[]) {
    this.roots = roots;
  }

  /** Milliseconds of CPU that all processes have used so far. */
  async cpuMs(): Promise<number> {
    const tree = await this.#processes();
    return tree.length === 0 ? Number.NaN : sum(tree.map(({ cpuMs }) => cpuMs));
  }

  /** Resident memory in megabytes; shared pages count once (PSS) if the kernel reports it. */
  async memoryMb(): Promise<number> {
    const tree = await this.#processes();
    return tree.length === 0 ? Number.NaN : sum(await Promise.all(tree.map(({ pid }) => memoryMbOf(pid))));
  }

  /** The ids of all processes, oldest first. */
  async pids(): Promise<readonly number[]> {
    return (await this.#processes()).map(({ pid }) => pid).toSorted((one, other) => one - other);
  }

  async #processes(): Promise<readonly ProcessStat[]> {
    const names = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
    const lines = await Promise.all(names.map((pid) => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')));
    return treeOf(this.roots, lines.filter((line) => line !== '').map(parseProcStat));
  }
}

interface MemorySample {
  /** Since sampling began. */
  readonly seconds: number;
  readonly megabytes: number;
}

/**
 * Samples the resident memory of a process tree while an action runs, oldest first. Without /proc there are no samples.
 */
export async function sampleMemory<Result>(
  tree: ProcessTree,
  everyMs: number,
  action: () => Promise<Result>,
): Promise<[Result, readonly MemorySample[]]> {
  const samples: MemorySample[] = [];
  const end = new AbortController();
  const begin = performance.now();
  const sampling = (async () => {
    while (!end.signal.aborted) {
      const megabytes = await tree.memoryMb();
      if (!Number.isNaN(megabytes)) samples.push({ seconds: (performance.now() - begin) / 1000, megabytes });
      await delay(everyMs, undefined, { signal: end.signal }).catch(() => {});
    }
  })();
  const result = await action().finally(() => end.abort());
  await sampling;
  return [result, samples];
}

/** The highest of the samples; NaN if there are none. */
export function highestMb(samples: readonly MemorySample[]): number {
  return samples.length === 0 ? Number.NaN : Math.max(...samples.map(({ megabytes }) => megabytes));
}

/**
 * Reads the one line of /proc/PID/stat (proc(5)). The program's name is in parentheses and may itself contain spaces
 * and parentheses.
 */
export function parseProcStat(line: string): ProcessStat {
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
  const cpuMs = (sum(fields.slice(11, 13).map(Number)) * 1000) / TICKS_PER_SECOND;
  return { pid: Number.parseInt(line, 10), parent: Number(fields[1]), cpuMs };
}

/** The root processes and all their descendants. */
export function treeOf(roots: readonly number[], all: readonly ProcessStat[]): readonly ProcessStat[] {
  const tree = all.filter(({ pid }) => roots.includes(pid));
  // The loop also visits the processes that it appends.
  for (const { pid } of tree) tree.push(...all.filter(({ parent }) => parent === pid));
  return tree;
}

async function memoryMbOf(pid: number): Promise<number> {
  const read = (file: string) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '');
  return megabytesOf('Pss', await read('smaps_rollup')) ?? megabytesOf('VmRSS', await read('status')) ?? 0;
}

function megabytesOf(name: string, text: string): number | undefined {
  const kilobytes = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) / 1024;
}
