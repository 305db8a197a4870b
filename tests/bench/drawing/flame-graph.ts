import { PARTS, type Part } from '../cpu-profile.ts';
import { figure } from '../report.ts';
import type { FlameFrame } from './flame-tree.ts';
import { colorRules } from './style.ts';
import { element, escapeText, picture, text } from './svg.ts';

export interface FlameGraph {
  readonly title: string;
  readonly subtitle: string;
  readonly description: string;
  readonly tree: FlameFrame;
  /** Microseconds of each part. */
  readonly times: ReadonlyMap<Part, number>;
  /** For the tooltips. */
  readonly tokens: number;
  /** Under the graph: how it was measured, one line each. */
  readonly notes: readonly string[];
}

const WIDTH = 1200;
const MARGIN = 24;
const ROW = 21;
const LEGEND_TOP = 96;
const LEGEND_COLUMNS = 4;
const LEGEND_ROW = 24;
/** About the width of a character of a frame's name. */
const CHARACTER = 6.6;
const FEWEST_CHARACTERS = 3;

/** Colors of the parts, on a light and on a dark page. Names of frames are legible on all of them. */
export const PART_COLORS: Readonly<Record<Part, readonly [light: string, dark: string]>> = {
  'RSA signature': ['#f5a983', '#94472a'],
  'other crypto: digests, ids': ['#f8d39b', '#80591a'],
  'system calls and native code': ['#cfd6dd', '#4b535c'],
  'Node.js: HTTP, streams, event loop': ['#a9d9ab', '#2d6839'],
  'Koa, router': ['#b3d3f2', '#2a588a'],
  log: ['#d6c0ec', '#664490'],
  metrics: ['#f6c3db', '#87395f'],
  'database driver': ['#aee0dc', '#1d6560'],
  'this service': ['#fbe26a', '#6f6100'],
  'garbage collection': ['#c8b7a7', '#62544a'],
};

const PART_STYLE = colorRules(
  PARTS.map((part) => ({ name: classOf(part), light: PART_COLORS[part][0], dark: PART_COLORS[part][1] })),
);

/** Each frame is as wide as its share of the time, and stands on the function that called it. */
export function flameGraph({ title, subtitle, description, tree, times, tokens, notes }: FlameGraph): string {
  const parts = PARTS.filter((part) => times.has(part));
  const total = [...times.values()].reduce((sum, time) => sum + time, 0);
  const legend = parts.flatMap((part, n) =>
    legendEntry(part, n, `${figure((100 * (times.get(part) ?? 0)) / total, 1)} %`),
  );
  const top = LEGEND_TOP + Math.ceil(parts.length / LEGEND_COLUMNS) * LEGEND_ROW;
  const floor = top + depthOf(tree) * ROW;
  const frames =
    tree.time === 0
      ? []
      : framesOf(tree, { left: MARGIN, floor, pixels: (WIDTH - 2 * MARGIN) / tree.time, tokens, total: tree.time });
  const notesTop = floor + 32;
  return picture({
    width: WIDTH,
    height: notesTop + notes.length * 20,
    title,
    description,
    body: [
      element('style', {}, `.frame text{font-size:12px}${PART_STYLE}`),
      text(MARGIN, 36, title, { class: 'ink', style: 'font-size:20px;font-weight:bold' }),
      text(MARGIN, 62, subtitle, { class: 'ink', style: 'font-size:16px' }),
      ...legend,
      ...frames,
      ...notes.map((note, n) => text(MARGIN, notesTop + n * 20, note, { class: 'muted', style: 'font-size:13px' })),
    ],
  });
}

function legendEntry(part: Part, position: number, share: string): readonly string[] {
  const x = MARGIN + (position % LEGEND_COLUMNS) * ((WIDTH - 2 * MARGIN) / LEGEND_COLUMNS);
  const y = LEGEND_TOP + Math.floor(position / LEGEND_COLUMNS) * LEGEND_ROW;
  return [
    element('rect', { x, y: y - 12, width: 14, height: 14, rx: 2, class: classOf(part) }),
    text(x + 22, y, `${part.replace(/:.*/, '')} ${share}`, { class: 'ink' }),
  ];
}

interface Place {
  readonly left: number;
  /** The y coordinate under the frame. */
  readonly floor: number;
  /** Pixels per microsecond. */
  readonly pixels: number;
  readonly tokens: number;
  readonly total: number;
}

/** The frame and all above it. */
function framesOf(frame: FlameFrame, place: Place): readonly string[] {
  let left = place.left;
  const above = frame.children.flatMap((child) => {
    const drawn = framesOf(child, { ...place, left, floor: place.floor - ROW });
    left += child.time * place.pixels;
    return drawn;
  });
  return [drawFrame(frame, place), ...above];
}

function drawFrame(frame: FlameFrame, { left, floor, pixels, tokens, total }: Place): string {
  const width = frame.time * pixels;
  const share = `${figure((100 * frame.time) / total, 1)} %, ${figure(frame.time / tokens, 1)} µs per token`;
  const place = frame.place === '' ? '' : ` (${frame.place})`;
  const name = shortened(frame.name, Math.floor((width - 8) / CHARACTER));
  return element(
    'g',
    { class: 'frame' },
    element('title', {}, escapeText(`${frame.name}${place}: ${share}`)),
    element('rect', {
      x: left,
      y: floor - ROW,
      width: Math.max(0.5, width - 1),
      height: ROW - 1,
      rx: 2,
      class: frame.part === undefined ? 'grid' : classOf(frame.part),
    }),
    ...(name === '' ? [] : [text(left + 4, floor - 6, name, { class: 'ink' })]),
  );
}

/** Empty if there is no space for at least a few characters. */
function shortened(name: string, characters: number): string {
  if (name.length <= characters) return name;
  return characters < FEWEST_CHARACTERS ? '' : `${name.slice(0, characters - 1)}…`;
}

function depthOf({ children }: FlameFrame): number {
  return 1 + Math.max(0, ...children.map(depthOf));
}

function classOf(part: Part): string {
  return `part-${PARTS.indexOf(part)}`;
}
