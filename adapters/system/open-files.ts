/** Files that a process opens beside connections and pipes: its log, its event loop, files that it reads. */
const OWN_FILES = 128;

export interface OpenFilesPlan {
  /** How many files one process may open (`ulimit -n`); Infinity where there is no limit. */
  readonly limit: number;
  /** Connections to a database and connections to the management port. */
  readonly reserved: number;
}

let limitOfProcess: number | undefined;

/**
 * The `ulimit -n` of this process, which Node.js raises to the hard limit when it starts; Infinity where there is none.
 * Read once: a report of Node.js takes 2 to 20 ms.
 */
export function openFilesLimit(): number {
  if (limitOfProcess !== undefined) return limitOfProcess;
  const report = process.report.getReport() as { userLimits?: { open_files?: { soft?: number | string } } };
  const soft = Number(report.userLimits?.open_files?.soft);
  limitOfProcess = Number.isFinite(soft) ? soft : Infinity;
  return limitOfProcess;
}

/** How many connections a process may have at once, so that it never runs out of files. */
export function connectionsWithin({ limit, reserved }: OpenFilesPlan): number {
  return limit - reserved - OWN_FILES;
}
