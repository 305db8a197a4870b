/** The part of V8's .cpuprofile format that is used here. Times in microseconds. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string };
    /** Ids of the functions that this one called. */
    readonly children?: readonly number[];
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** The parts that the CPU time of a process is divided into. */
export const PARTS = [
  'RSA signature',
  'other crypto: digests, ids',
  'system calls and native code',
  'Node.js: HTTP, streams, event loop',
  'Koa, router',
  'log',
  'metrics',
  'database driver',
  'this service',
  'garbage collection',
] as const;

export type Part = (typeof PARTS)[number];

const PACKAGES: readonly (readonly [RegExp, Part])[] = [
  [/node_modules\/(pino|sonic-boom|quick-format|safe-stable|on-exit-leak|atomic-sleep)/, 'log'],
  [/node_modules\/(@prometheus-io|tdigest|bintrees|@opentelemetry)/, 'metrics'],
  [/node_modules\/(pg|pg-[a-z]+|postgres-[a-z]+|@mikro-orm|knex|kysely)\//, 'database driver'],
  [/node_modules\/(lru-cache|birpc|tsyringe|jose)\//, 'this service'],
  [/node_modules\//, 'Koa, router'],
];

/** Microseconds of each node in a window of `windowUs` that ends `beforeEndUs` before the end. */
export function timeByNode(
  { samples, timeDeltas }: CpuProfile,
  windowUs: number,
  beforeEndUs: number,
): ReadonlyMap<number, number> {
  const length = timeDeltas.reduce((sum, delta) => sum + delta, 0);
  const times = new Map<number, number>();
  let at = 0;
  samples.forEach((node, position) => {
    const delta = timeDeltas[position] ?? 0;
    at += delta;
    const left = length - at;
    if (left >= beforeEndUs && left <= beforeEndUs + windowUs) times.set(node, (times.get(node) ?? 0) + delta);
  });
  return times;
}

/** Microseconds of each part in such a window. Idle time counts for no part. */
export function timeByPart(profile: CpuProfile, windowUs: number, beforeEndUs: number): ReadonlyMap<Part, number> {
  const nodes = timeByNode(profile, windowUs, beforeEndUs);
  const times = new Map<Part, number>();
  for (const { id, callFrame } of profile.nodes) {
    const part = partOfFrame(callFrame);
    const time = nodes.get(id);
    if (part !== undefined && time !== undefined) times.set(part, (times.get(part) ?? 0) + time);
  }
  return times;
}

/** Undefined if the process is idle. */
export function partOfFrame({ functionName, url }: CpuProfile['nodes'][number]['callFrame']): Part | undefined {
  if (functionName === '(idle)') return undefined;
  if (functionName === '(garbage collector)') return 'garbage collection';
  if (functionName === 'signOneShot') return 'RSA signature';
  if (url.includes('internal/crypto') || url === 'node:crypto') return 'other crypto: digests, ids';
  if (url === '') return 'system calls and native code';
  if (url.startsWith('node:')) return 'Node.js: HTTP, streams, event loop';
  return PACKAGES.find(([pattern]) => pattern.test(url))?.[1] ?? 'this service';
}
