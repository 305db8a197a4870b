import type { Part } from './cpu-profile.ts';
import { flameGraph } from './drawing/flame-graph.ts';
import { flameTree, type TimedProfile } from './drawing/flame-tree.ts';
import { figure, machineText } from './report.ts';

export interface ProfileChart {
  /** Of each worker. */
  readonly profiles: readonly TimedProfile[];
  /** Microseconds of each part, in all workers. */
  readonly times: ReadonlyMap<Part, number>;
  readonly tokens: number;
  readonly seconds: number;
}

/** Frames with a smaller share of the time are not drawn. */
const LEAST_SHARE = 0.005;

const ROOT = new URL('../../', import.meta.url).href;

/** The token path as a flame graph, in SVG. */
export function profileChart({ profiles, times, tokens, seconds }: ProfileChart): string {
  const all = [...times.values()].reduce((sum, time) => sum + time, 0);
  const share = (part: Part) => `${figure((100 * (times.get(part) ?? 0)) / all)} %`;
  const subtitle = `A token costs ${figure(all / tokens)} µs of a core: ${share('RSA signature')} is its RSA signature, ${share('this service')} the code of this service.`;
  return flameGraph({
    title: 'Where the CPU time of a token goes',
    subtitle,
    description: `${subtitle} Each frame is as wide as its share of the time, and stands on the function that called it.`,
    tree: flameTree(profiles, LEAST_SHARE, ROOT),
    times,
    tokens,
    notes: [
      `${profiles.length} workers, merged; registrations in memory, cached secrets. Frames below ${LEAST_SHARE * 100} % are not drawn. Open the file by itself for tooltips.`,
      `${machineText()}. Drawn by: npm run bench -- profile --seconds ${seconds} --write`,
    ],
  });
}
