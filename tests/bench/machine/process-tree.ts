import { readdir, readFile } from 'node:fs/promises';
import { megabytesOf, type ProcessStat, parseProcStat, treeOf } from './proc-stat.ts';

/** A process and its descendants, such as a server's workers, as /proc tells of them. */
export class ProcessTree {
  readonly #root: number;

  constructor(root: number) {
    this.#root = root;
  }

  /** Milliseconds of CPU that its processes have used up to now; undefined where there is no /proc. */
  async cpuMs(): Promise<number | undefined> {
    const tree = await this.#processes();
    return tree?.reduce((sum, { cpuMs }) => sum + cpuMs, 0);
  }

  /** Resident memory in megabytes, pages that several share counted once (PSS) where the kernel tells; undefined where there is no /proc. */
  async memoryMb(): Promise<number | undefined> {
    const tree = await this.#processes();
    if (tree === undefined) return undefined;
    const parts = await Promise.all(tree.map(({ pid }) => memoryMbOf(pid)));
    return parts.reduce((sum, part) => sum + part, 0);
  }

  async #processes(): Promise<readonly ProcessStat[] | undefined> {
    const names = await readdir('/proc').catch(() => []);
    const lines = await Promise.all(
      names.filter((name) => /^\d+$/.test(name)).map((pid) => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')),
    );
    const all = lines.filter((line) => line !== '').map(parseProcStat);
    return all.length === 0 ? undefined : treeOf(this.#root, all);
  }
}

async function memoryMbOf(pid: number): Promise<number> {
  const read = (file: string) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '');
  return megabytesOf('Pss', await read('smaps_rollup')) ?? megabytesOf('VmRSS', await read('status')) ?? 0;
}
