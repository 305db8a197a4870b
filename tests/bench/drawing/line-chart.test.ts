import { describe, expect, it } from '@jest/globals';
import { type LineChart, lineChart, type Panel } from './line-chart.ts';

const LINE = { name: 'p99', color: 'good', shape: 'line' } as const;

function chart(panel: Partial<Panel>, rest: Partial<LineChart> = {}): string {
  const panels = [{ title: 'Latency, ms', series: [], ...panel }];
  return lineChart({ title: 'A', subtitle: 'B', description: 'C', xLabel: 'seconds', notes: [], panels, ...rest });
}

/** The path data of all lines of a class. */
const pathsOf = (svg: string, name: string) =>
  [...svg.matchAll(new RegExp(`<path d="([^"]*)" class="${name}"`, 'g'))].map(([, data]) => data);

describe('a line chart', () => {
  it('begins at 0, ends with the last point, and has a round value at the top', () => {
    const svg = chart({ series: [{ ...LINE, points: [0, 9, 18].map((x) => ({ x, y: x })) }] });
    expect(pathsOf(svg, 'good-line')).toEqual(['M72 276L500 204L928 132']);
    expect(svg).toContain('>20</text>');
    expect(svg).not.toContain('NaN');
  });

  it('interrupts a line where a value is missing', () => {
    const points = [1, 2, Number.NaN, 4].map((y, x) => ({ x, y }));
    const [path = ''] = pathsOf(chart({ series: [{ ...LINE, points }] }), 'good-line');
    expect(path.match(/M/g)).toHaveLength(2);
    expect(path).not.toContain('NaN');
  });

  it('fills an area down to 0', () => {
    const points = [
      { x: 0, y: 10 },
      { x: 5, y: 10 },
    ];
    const svg = chart({ series: [{ ...LINE, shape: 'area', points }] });
    expect(pathsOf(svg, 'good')).toEqual(['M72 116L928 116V276H72Z']);
  });

  it('has space for a limit that no value reaches', () => {
    const series = [{ ...LINE, points: [{ x: 1, y: 5 }] }];
    const svg = chart({ series, limit: { value: 100, name: 'required' } });
    expect(pathsOf(svg, 'bad-line')).toEqual(['M72 116H928']);
    expect(svg).toContain('>required</text>');
  });

  it('names its series only if there are several', () => {
    const series = [{ ...LINE, points: [] }];
    expect(chart({ series })).not.toContain('>p99</text>');
    expect(chart({ series: [...series, { ...LINE, name: 'p50', points: [] }] })).toContain('>p99</text>');
  });

  it('shades a span in each panel and names it once', () => {
    const panels = [1, 2].map((n) => ({ title: `${n}`, series: [] }));
    const svg = chart({}, { panels, span: { from: 5, to: 10, name: 'flood' } });
    expect(svg.match(/class="span"/g)).toHaveLength(2);
    expect(svg.match(/>flood</g)).toHaveLength(1);
  });

  it.each<[string, Partial<Panel>]>([
    ['no series', { series: [] }],
    ['no points', { series: [{ ...LINE, points: [] }] }],
    ['no values', { series: [{ ...LINE, shape: 'area', points: [{ x: 0, y: Number.NaN }] }] }],
  ])('is drawn with %s', (_, panel) => {
    const svg = chart(panel);
    expect(svg).not.toMatch(/NaN|Infinity|undefined/);
    expect(svg).toContain('Latency, ms');
  });

  it('escapes every text', () => {
    const span = { from: 0, to: 1, name: '<e>' };
    const svg = chart({ title: '<d>' }, { title: '<a>', subtitle: '<b>', notes: ['<c>'], span, xLabel: '<f>' });
    expect(svg).not.toMatch(/<[abcdef]>/);
  });
});
