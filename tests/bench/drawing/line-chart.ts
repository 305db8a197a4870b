import { linearScale, type Scale, ticks } from './scale.ts';
import type { ColorName } from './style.ts';
import { element, picture, text } from './svg.ts';

export interface Point {
  readonly x: number;
  /** NaN if there is no value: the line is interrupted. */
  readonly y: number;
}

export interface Series {
  readonly name: string;
  readonly color: ColorName;
  readonly shape: 'line' | 'area';
  readonly points: readonly Point[];
}

/** One plot. All panels of a chart have the same x axis. */
export interface Panel {
  /** What is measured, with its unit. */
  readonly title: string;
  readonly series: readonly Series[];
  /** A value that should not be exceeded, as a dashed line. */
  readonly limit?: { readonly value: number; readonly name: string };
}

export interface LineChart {
  readonly title: string;
  /** What the reader should see, in one sentence. */
  readonly subtitle: string;
  readonly description: string;
  readonly xLabel: string;
  /** A part of the x axis with another background. */
  readonly span?: { readonly from: number; readonly to: number; readonly name: string };
  readonly panels: readonly Panel[];
  /** Under the plots: how it was measured, one line each. */
  readonly notes: readonly string[];
}

const WIDTH = 960;
const LEFT = 72;
const RIGHT = WIDTH - 32;
const PANEL_TOP = 92;
const PANEL_HEIGHT = 160;
const PANEL_GAP = 64;
const NOTE_HEIGHT = 20;

/** Panels below each other, with a common x axis and a y axis that begins at 0. */
export function lineChart(chart: LineChart): string {
  // The x axis ends with the last point, the y axes with a round value.
  const highestX = highestXOf(chart);
  const x = linearScale(highestX, LEFT, RIGHT);
  const xTicks = ticks(highestX, 6).filter((tick) => tick <= highestX);
  const bottom = PANEL_TOP + chart.panels.length * (PANEL_HEIGHT + PANEL_GAP) - PANEL_GAP + 24;
  const xLabels = xTicks.map((tick) =>
    text(x(tick), bottom + 20, number(tick), { class: 'muted', 'text-anchor': 'middle' }),
  );
  const notesTop = bottom + 72;
  const body = [
    text(24, 36, chart.title, { class: 'ink', style: 'font-size:20px;font-weight:bold' }),
    text(24, 62, chart.subtitle, { class: 'ink', style: 'font-size:16px' }),
    ...chart.panels.flatMap((panel, n) =>
      drawPanel(panel, PANEL_TOP + n * (PANEL_HEIGHT + PANEL_GAP) + 24, x, chart, n),
    ),
    ...xLabels,
    text((LEFT + RIGHT) / 2, bottom + 40, chart.xLabel, { class: 'muted', 'text-anchor': 'middle' }),
    ...chart.notes.map((note, n) =>
      text(24, notesTop + n * NOTE_HEIGHT, note, { class: 'muted', style: 'font-size:13px' }),
    ),
  ];
  const height = notesTop + chart.notes.length * NOTE_HEIGHT;
  return picture({ width: WIDTH, height, title: chart.title, description: chart.description, body });
}

function drawPanel(panel: Panel, top: number, x: Scale, { span }: LineChart, position: number): readonly string[] {
  const values = panel.series.flatMap(({ points }) => points.map((point) => point.y).filter(Number.isFinite));
  const yTicks = ticks(Math.max(0, panel.limit?.value ?? 0, ...values));
  const y = linearScale(yTicks.at(-1) ?? 1, top + PANEL_HEIGHT, top);
  const shaded = span && {
    band: element('rect', {
      x: x(span.from),
      y: top,
      width: x(span.to) - x(span.from),
      height: PANEL_HEIGHT,
      class: 'span',
    }),
    name: text((x(span.from) + x(span.to)) / 2, top + 18, span.name, {
      class: 'bad',
      'text-anchor': 'middle',
      style: 'font-weight:bold',
    }),
  };
  const parts = [
    shaded?.band,
    ...yTicks.flatMap((tick) => [
      element('path', { d: `M${LEFT} ${round(y(tick))}H${RIGHT}`, class: 'grid-line' }),
      text(LEFT - 10, y(tick) + 5, number(tick), { class: 'muted', 'text-anchor': 'end' }),
    ]),
    ...panel.series.map((series) => drawSeries(series, x, y)),
    position === 0 ? shaded?.name : undefined,
    ...(panel.limit === undefined ? [] : drawLimit(panel.limit, y)),
    text(24, top - 16, panel.title, { class: 'ink', style: 'font-weight:bold' }),
    ...(panel.series.length > 1 ? legend(panel.series, top - 16) : []),
  ];
  return parts.filter((part) => part !== undefined);
}

/** A line that is interrupted where a value is missing; an area is filled below it, too. */
function drawSeries({ points, color, shape }: Series, x: Scale, y: Scale): string {
  const runs: Point[][] = [[]];
  for (const point of points) {
    if (Number.isFinite(point.y)) runs.at(-1)?.push(point);
    else runs.push([]);
  }
  const drawn = runs.filter((run) => run.length > 0);
  const path = (run: readonly Point[]) =>
    `M${run.map((point) => `${round(x(point.x))} ${round(y(point.y))}`).join('L')}`;
  const line = element('path', {
    d: drawn.map(path).join(''),
    class: `${color}-line`,
    'stroke-width': 2.5,
    'stroke-linecap': 'round',
    'stroke-linejoin': 'round',
  });
  if (shape === 'line') return line;
  const closed = (run: readonly Point[]) => `${path(run)}V${round(y(0))}H${round(x(run[0]?.x ?? 0))}Z`;
  return `${element('path', { d: drawn.map(closed).join(''), class: color, 'fill-opacity': '0.25' })}${line}`;
}

function drawLimit({ value, name }: NonNullable<Panel['limit']>, y: Scale): readonly string[] {
  return [
    element('path', {
      d: `M${LEFT} ${round(y(value))}H${RIGHT}`,
      class: 'bad-line',
      'stroke-width': 1.5,
      'stroke-dasharray': '8 5',
    }),
    text(RIGHT - 4, y(value) + 18, name, { class: 'bad', 'text-anchor': 'end' }),
  ];
}

/** Names of the series with a piece of their lines, from the right. */
function legend(series: readonly Series[], baseline: number): readonly string[] {
  let right = RIGHT;
  return series.toReversed().flatMap(({ name, color }) => {
    // There is no way to measure a text here; this is about its width.
    const left = right - name.length * 7.2 - 32;
    right = left - 16;
    return [
      element('path', { d: `M${round(left)} ${baseline - 5}h22`, class: `${color}-line`, 'stroke-width': 4 }),
      text(left + 30, baseline, name, { class: 'ink' }),
    ];
  });
}

/** 1 if there are no points. */
function highestXOf({ panels, span }: LineChart): number {
  const values = panels.flatMap(({ series }) => series.flatMap(({ points }) => points.map(({ x }) => x)));
  return Math.max(0, span?.to ?? 0, ...values) || 1;
}

function number(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 6 });
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
