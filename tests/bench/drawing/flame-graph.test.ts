import { describe, expect, it } from '@jest/globals';
import { type FlameGraph, flameGraph } from './flame-graph.ts';
import type { FlameFrame } from './flame-tree.ts';

const frame = (name: string, time: number, children: readonly FlameFrame[] = []): FlameFrame => ({
  name,
  place: 'domain/token.ts',
  part: 'this service',
  time,
  children,
});

const ALL: FlameFrame = {
  ...frame('all', 1_000, [frame('issue', 600, [frame('a very long name of a function', 60)]), frame('<script>', 400)]),
  part: undefined,
};

const draw = (changed: Partial<FlameGraph> = {}) =>
  flameGraph({
    title: 'A',
    subtitle: 'B',
    description: 'C',
    tree: ALL,
    times: new Map([['this service', 1_000]]),
    tokens: 10,
    notes: [],
    ...changed,
  });

/** x, y and width of each frame, in order. */
const framesOf = (svg: string) =>
  [...svg.matchAll(/class="frame"><title>[^<]*<\/title><rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)"/g)].map(
    ([, ...numbers]) => numbers.map(Number),
  );

describe('a flame graph', () => {
  it('has frames as wide as their time, each on the one that called it', () => {
    const [all = [], issue = [], long = [], script = []] = framesOf(draw());
    expect([all, issue, long, script].map(([x, , width]) => [x, width])).toEqual([
      [24, 1_151],
      [24, 690.2],
      [24, 68.1],
      [715.2, 459.8],
    ]);
    const [floor = 0] = all.slice(1);
    expect([issue[1], long[1], script[1]]).toEqual([floor - 21, floor - 42, floor - 21]);
  });

  it('says in a tooltip what a frame is, and cuts its name if there is little space', () => {
    const svg = draw();
    const long = 'a very long name of a function (domain/token.ts): 6.0 %, 6.0 µs per token';
    expect(svg).toContain(`<title>${long}</title>`);
    expect(svg).toContain('>a very l…</text>');
  });

  it('escapes names', () => {
    expect(draw()).toContain('>&lt;script&gt;</text>');
    expect(draw()).not.toContain('<script>');
  });

  it('lists the parts that take time, with their shares', () => {
    expect(draw()).toContain('>this service 100.0 %</text>');
    expect(draw()).not.toContain('>log');
  });

  it('is drawn without any profile', () => {
    const svg = draw({ tree: { ...ALL, time: 0, children: [] }, times: new Map() });
    expect(svg).not.toMatch(/NaN|Infinity|undefined/);
    expect(framesOf(svg)).toEqual([]);
  });
});
