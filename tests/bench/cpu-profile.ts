/** The part of V8's .cpuprofile format that is used here. Times in microseconds. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string };
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

/** Microseconds of each part in a window of `windowUs` that ends `beforeEndUs` before the end. Idle time counts for no part. */
export function timeByPart(profile: CpuProfile, windowUs: number, beforeEndUs: number): ReadonlyMap<Part, number> {
  const partOf = new Map(profile.nodes.map(({ id, callFrame }) => [id, partOfFrame(callFrame)]));
  const length = profile.timeDeltas.reduce((sum, delta) => sum + delta, 0);
  const times = new Map<Part, number>();
  let at = 0;
  profile.samples.forEach((node, position) => {
    const delta = profile.timeDeltas[position] ?? 0;
    at += delta;
    const part = partOf.get(node);
    const left = length - at;
    if (part === undefined || left < beforeEndUs || left > beforeEndUs + windowUs) return;
    times.set(part, (times.get(part) ?? 0) + delta);
  });
  return times;
}

/** Undefined if the process is idle. */
function partOfFrame({ functionName, url }: CpuProfile['nodes'][number]['callFrame']): Part | undefined {
  if (functionName === '(idle)') return undefined;
  if (functionName === '(garbage collector)') return 'garbage collection';
  if (functionName === 'signOneShot') return 'RSA signature';
  if (url.includes('internal/crypto') || url === 'node:crypto') return 'other crypto: digests, ids';
  if (url === '') return 'system calls and native code';
  if (url.startsWith('node:')) return 'Node.js: HTTP, streams, event loop';
  return PACKAGES.find(([pattern]) => pattern.test(url))?.[1] ?? 'this service';
}
