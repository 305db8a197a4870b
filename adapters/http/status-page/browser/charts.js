// The charts of the last hour. Each is an SVG of 100 × 100 units that is stretched to its box. The table below it has the values.

import { FORMATS, format, setText } from './figures.js';

const SHORTEST_SECONDS = 300;
/** Between two samples, unless nothing was measured; and as far as a line joins them. */
const STEP_SECONDS = 15;
const GAP_SECONDS = 35;
/** Between two times on the axis. */
const TICKS_SECONDS = [60, 120, 300, 600, 900];

/** @param {HTMLElement} figure @param {readonly StatusSample[]} samples of the last hour, oldest first */
export function showChart(figure, samples) {
  const plot = figure.querySelector('.plot');
  const lines = figure.querySelectorAll('[data-line]');
  const fields = [...lines].map(({ dataset }) => dataset.line);
  const highest = Math.max(0, ...samples.flatMap((sample) => fields.map((field) => sample[field] ?? 0)));
  plot.hidden = highest === 0;
  if (highest === 0) return;
  const { format: name } = figure.dataset;
  const latest = samples.at(-1);
  for (const line of lines) setText(line.querySelector('b'), format(name, latest[line.dataset.line]));

  const top = nextRound(highest);
  const [high, middle] = figure.querySelectorAll('.values > *');
  setText(high, FORMATS[name](top));
  setText(middle, FORMATS[name](top / 2));

  const to = latest.at;
  const from = to - Math.max(SHORTEST_SECONDS, Math.ceil((to - samples[0].at) / STEP_SECONDS) * STEP_SECONDS);
  const x = (at) => (((at - from) / (to - from)) * 100).toFixed(2);
  const times = timesBetween(from, to);
  figure.querySelector('.times').replaceChildren(
    ...times.map((at) => {
      const label = document.createElement('span');
      label.textContent = FORMATS.time(at).slice(0, 5);
      label.style.left = `${x(at)}%`;
      return label;
    }),
  );
  const draw = (path, shape) => plot.querySelector(`[data-path="${path}"]`).setAttribute('d', shape);
  draw('grid', `M0 0H100M0 50H100M0 100H100${times.map((at) => `M${x(at)} 0V100`).join('')}`);
  draw('out', samples.map(({ at, ready }) => (ready ? '' : `M${x(at - STEP_SECONDS)} 0V100H${x(at)}V0`)).join(''));
  for (const field of fields) draw(field, lineOf(samples, field, x, top));
}

function timesBetween(from, to) {
  const step = TICKS_SECONDS.find((seconds) => (to - from) / seconds < 6);
  const first = Math.ceil(from / step);
  return Array.from({ length: Math.floor(to / step) - first + 1 }, (_, index) => (first + index) * step);
}

/** A line that begins anew after a gap. A value alone is a dot. */
function lineOf(samples, field, x, top) {
  return samples
    .map((sample, index) => {
      const before = samples[index - 1];
      if (sample[field] === null) return '';
      const isJoined = before && before[field] !== null && sample.at - before.at <= GAP_SECONDS;
      const point = `${x(sample.at)} ${(100 - (sample[field] / top) * 100).toFixed(2)}`;
      return isJoined ? `L${point}` : `M${point}h0`;
    })
    .join('');
}

/** The next of 1, 2, 5, 10, 20, 50, … */
function nextRound(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].find((factor) => factor * power >= value) * power;
}
