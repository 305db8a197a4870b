// The charts of the last hour. page.html names their lines: data-line="member" of a sample, and data-format of the chart.

import { setText } from './figures.js';
import { FORMATS, format } from './format.js';

const SHORTEST_SECONDS = 300;
const FONT = '12px Arial, sans-serif';
const STEPS = { ArrowLeft: -1, ArrowRight: 1, PageDown: -12, PageUp: 12, Home: -Infinity, End: Infinity };

/** The color that a custom property stands for, in the color scheme of now. */
const probe = document.body.appendChild(document.createElement('i'));
function color(name) {
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
}

/** A value without a neighbor has no line, so it is a point. */
function alone({ data }, series, isShown) {
  const values = data[series];
  const isAlone = (value, index) => value != null && values[index - 1] == null && values[index + 1] == null;
  return isShown ? null : values.flatMap((value, index) => (isAlone(value, index) ? [index] : []));
}

export class Chart {
  #figure;
  #area;
  #lines;
  #plot;
  #points = [];

  constructor(figure) {
    this.#figure = figure;
    this.#area = figure.querySelector('.plot');
    this.#lines = [...figure.querySelectorAll('[data-line]')];
    this.#plot = new uPlot(this.#options(), [[]], this.#area);
    this.#area.addEventListener('keydown', (event) => this.#move(event));
    this.#area.addEventListener('blur', () => this.#plot.setCursor({ left: -10, top: -10 }));
    new ResizeObserver(() => this.#plot.setSize(this.#size())).observe(this.#area);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#plot.redraw());
  }

  show(points) {
    this.#points = points;
    const columns = this.#lines.map(({ dataset }) => points.map((point) => point[dataset.line] ?? null));
    this.#plot.setData([points.map(({ at }) => at), ...columns]);
    this.#read();
  }

  #size() {
    return { width: this.#area.clientWidth, height: this.#area.clientHeight };
  }

  /** @returns {import('uplot').Options} */
  #options() {
    const { format: name, top } = this.#figure.dataset;
    const axis = {
      font: FONT,
      stroke: () => color('--muted'),
      grid: { stroke: () => color('--line'), width: 1 },
      ticks: { show: false },
    };
    return {
      ...this.#size(),
      legend: { show: false },
      cursor: { y: false, drag: { x: false }, sync: { key: 'time' } },
      scales: {
        x: { range: (_, from, to) => [Math.min(from, to - SHORTEST_SECONDS), to] },
        y: { range: (_, _from, to) => [0, Math.max(Number(top), to * 1.1)] },
      },
      axes: [
        { ...axis, space: 64, size: 28, values: (_, times) => times.map((at) => FORMATS.time(at).slice(0, 5)) },
        { ...axis, space: 36, size: 64, values: (_, values) => values.map(FORMATS[name]) },
      ],
      series: [
        {},
        ...this.#lines.map((_, index) => ({
          stroke: () => color(`--line-${index + 1}`),
          width: 1.5,
          dash: index > 0 ? [6, 3] : [],
          points: { filter: alone },
        })),
      ],
      hooks: { setCursor: [() => this.#read()], drawClear: [(plot) => this.#shade(plot)] },
    };
  }

  /** Shades the times in which the service was not ready, or nothing was measured. */
  #shade({ ctx, bbox, valToPos }) {
    ctx.fillStyle = color('--bad-tint');
    this.#points.forEach(({ at, out }, index) => {
      const [from, to] = [this.#points[index - 1]?.at, at].map((time) => Math.round(valToPos(time ?? at, 'x', true)));
      if (out) ctx.fillRect(from, bbox.top, Math.max(1, to - from), bbox.height);
    });
  }

  /** Arrow keys move along the time. */
  #move(event) {
    const step = STEPS[event.key];
    if (step === undefined || this.#points.length === 0) return;
    event.preventDefault();
    const last = this.#points.length - 1;
    const chosen = Math.min(last, Math.max(0, (this.#plot.cursor.idx ?? last) + step));
    this.#plot.setCursor({ left: this.#plot.valToPos(this.#points[chosen].at, 'x'), top: 0 });
  }

  /** Reads the figures under the cursor, or the latest, also to a screen reader. */
  #read() {
    const last = this.#points.length - 1;
    const chosen = this.#plot?.cursor.idx ?? last;
    const point = this.#points[chosen];
    if (point === undefined) return;
    for (const line of this.#lines) {
      setText(line.querySelector('b'), format(this.#figure.dataset.format, point[line.dataset.line]));
    }
    const time = FORMATS.time(point.at);
    setText(this.#figure.querySelector('time'), chosen === last ? 'now' : time);
    this.#area.ariaValueMax = `${last}`;
    this.#area.ariaValueNow = `${chosen}`;
    this.#area.ariaValueText = `${time}: ${this.#lines.map(({ textContent }) => textContent).join(', ')}`;
  }
}
