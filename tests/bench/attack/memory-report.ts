import { figure, markdownTable } from '../report.ts';
import { type AnswerCount, countText } from './answer-count.ts';
import type { FloodName } from './floods.ts';

/** Megabytes of all processes together. Figures are undefined where the machine does not tell them. */
export interface MemoryResult {
  readonly flood: FloodName;
  readonly connections: number;
  readonly idleMb: number | undefined;
  /** Resident memory (PSS), sampled. */
  readonly highestMb: number | undefined;
  readonly atTheEndMb: number | undefined;
  /** The peak of the control group, with page cache and socket buffers. */
  readonly groupPeakMb: number | undefined;
  /** Whether no process was replaced. */
  readonly processesKept: boolean;
  readonly answers: AnswerCount;
}

const PEAK_MB_MAX = 512;
const IDLE_CONNECTIONS: FloodName = 'idle connections, 2,000';

/** Whether the service met the requirements on its memory. */
export function memoryVerdicts(results: readonly MemoryResult[]) {
  const highest = results.map(({ groupPeakMb, highestMb }) => groupPeakMb ?? highestMb ?? Number.POSITIVE_INFINITY);
  return [
    { requirement: `memory stays below ${PEAK_MB_MAX} MB`, passed: highest.every((mb) => mb < PEAK_MB_MAX) },
    { requirement: 'no process ends', passed: results.every(({ processesKept }) => processesKept) },
  ];
}

/** One row for each flood, and the memory of an idle connection, as Markdown. */
export function memoryReport(results: readonly MemoryResult[]): string {
  const rows = results.map(({ flood, idleMb, highestMb, groupPeakMb, answers }) => [
    flood,
    figure(idleMb),
    figure(highestMb),
    figure(groupPeakMb),
    countText(answers),
  ]);
  const idle = results.find(({ flood }) => flood === IDLE_CONNECTIONS);
  const connectionKb =
    idle && (((idle.atTheEndMb ?? Number.NaN) - (idle.idleMb ?? Number.NaN)) * 1024) / idle.connections;
  return [
    '### Memory under attack',
    '',
    markdownTable(['two workers, MB', 'idle', 'highest', 'cgroup peak', 'answers'], rows),
    '',
    `An idle connection needs ${figure(connectionKb)} KiB.`,
    '',
    ...memoryVerdicts(results).map(({ requirement, passed }) => `- ${passed ? 'passed' : 'FAILED'}: ${requirement}`),
  ].join('\n');
}
