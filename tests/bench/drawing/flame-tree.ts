import { type CpuProfile, type Part, partOfFrame } from '../cpu-profile.ts';

/** A function as called along one path, in all processes. */
export interface FlameFrame {
  readonly name: string;
  /** Where the function is: a path from the root of the repository, or a module of Node.js. Empty for native code. */
  readonly place: string;
  /** Undefined for the frame of everything. */
  readonly part: Part | undefined;
  /** Microseconds, with those of the functions that it called. */
  readonly time: number;
  /** The longest first. */
  readonly children: readonly FlameFrame[];
}

/** A profile and the microseconds of its nodes. */
export interface TimedProfile {
  readonly profile: CpuProfile;
  readonly times: ReadonlyMap<number, number>;
}

/**
 * The call paths of several processes, merged. Idle time is left out, and so are frames with less than `leastShare` of the
 * busy time; what they took still counts for their callers.
 * @param root URL of the repository's folder.
 */
export function flameTree(profiles: readonly TimedProfile[], leastShare: number, root: string): FlameFrame {
  const all = mutableFrame('all', '', undefined);
  for (const { profile, times } of profiles) {
    const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
    const [top] = profile.nodes;
    if (top !== undefined) add(all, top, { nodes, times, root });
  }
  return withoutSmall(all, all.time * leastShare);
}

interface MutableFrame extends Omit<FlameFrame, 'time' | 'children'> {
  time: number;
  readonly callees: Map<string, MutableFrame>;
}

interface Source {
  readonly nodes: ReadonlyMap<number, CpuProfile['nodes'][number]>;
  readonly times: ReadonlyMap<number, number>;
  readonly root: string;
}

/** Adds the time of a node and of all below it to a frame. */
function add(frame: MutableFrame, node: CpuProfile['nodes'][number], source: Source): number {
  let time = source.times.get(node.id) ?? 0;
  for (const id of node.children ?? []) {
    const child = source.nodes.get(id);
    const part = child && partOfFrame(child.callFrame);
    // The process is idle.
    if (child === undefined || part === undefined) continue;
    time += add(calleeOf(frame, child, part, source.root), child, source);
  }
  frame.time += time;
  return time;
}

function calleeOf(frame: MutableFrame, { callFrame }: CpuProfile['nodes'][number], part: Part, root: string) {
  const key = `${callFrame.functionName} ${callFrame.url}`;
  const known = frame.callees.get(key);
  if (known !== undefined) return known;
  const place = placeOf(callFrame.url, root);
  const callee = mutableFrame(callFrame.functionName || `(in ${place.replace(/.*\//, '')})`, place, part);
  frame.callees.set(key, callee);
  return callee;
}

/** Nothing of the machine's folders: a package begins with node_modules/. */
function placeOf(url: string, root: string): string {
  const inPackages = url.lastIndexOf('node_modules/');
  if (inPackages !== -1) return url.slice(inPackages);
  return url.startsWith(root) ? url.slice(root.length) : url.replace(/^file:.*\//, '');
}

function mutableFrame(name: string, place: string, part: Part | undefined): MutableFrame {
  return { name, place, part, time: 0, callees: new Map() };
}

function withoutSmall({ callees, ...frame }: MutableFrame, least: number): FlameFrame {
  const children = [...callees.values()]
    .filter(({ time }) => time > 0 && time >= least)
    .toSorted((one, other) => other.time - one.time)
    .map((callee) => withoutSmall(callee, least));
  return { ...frame, children };
}
