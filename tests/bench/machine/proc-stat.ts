/** The kernel's clock ticks a second in /proc: 100 on every platform that Node.js is built for. */
const TICKS_PER_SECOND = 100;

export interface ProcessStat {
  readonly pid: number;
  readonly parent: number;
  /** Milliseconds of CPU in user and kernel mode up to now. */
  readonly cpuMs: number;
}

/** Reads the one line of /proc/PID/stat (proc(5)). The program's name is in parentheses and may itself hold spaces and parentheses. */
export function parseProcStat(line: string): ProcessStat {
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
  const [user = 0, system = 0] = fields.slice(11, 13).map(Number);
  return {
    pid: Number.parseInt(line, 10),
    parent: Number(fields[1]),
    cpuMs: ((user + system) * 1000) / TICKS_PER_SECOND,
  };
}

/** The process `root` and all that descend from it. */
export function treeOf(root: number, all: readonly ProcessStat[]): readonly ProcessStat[] {
  const tree = all.filter(({ pid }) => pid === root);
  // A process that is appended here is visited later for its own children.
  for (const { pid } of tree) tree.push(...all.filter(({ parent }) => parent === pid));
  return tree;
}

/** Megabytes of the line `name` of /proc/PID/smaps_rollup or /proc/PID/status; undefined where there is none. */
export function megabytesOf(name: string, text: string): number | undefined {
  const kilobytes = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) / 1024;
}
