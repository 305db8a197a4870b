// The charts of the last hour. Each is an SVG of 100 × 100 units that is stretched to its box, under an invisible slider that chooses a
// time: so the pointer, a finger, the arrow keys and a screen reader all read it in the same way.

import { FORMATS, format, setText } from './figures.js';

const SHORTEST_SECONDS = 300;
/** Between two samples, unless nothing was measured; and as far as a line joins them. */
const STEP_SECONDS = 15;
const GAP_SECONDS = 35;
/** Between two times on the axis. */
const TICKS_SECONDS = [60, 120, 300, 600, 900];

export class Chart {
  #figure;
  #plot;
  #slider;
  #lines;
  /** @type {readonly StatusSample[]} */
  #samples = [];
  /** The time that was chosen; Infinity is the latest. */
  #chosen = Infinity;

  constructor(figure) {
    this.#figure = figure;
    this.#plot = figure.querySelector('.plot');
    this.#slider = figure.querySelector('input');
    this.#lines = [...figure.querySelectorAll('[data-line]')];
    this.#slider.addEventListener('input', () => this.#choose(Number(this.#slider.value)));
    for (const left of ['blur', 'pointerleave']) this.#slider.addEventListener(left, () => this.#choose(Infinity));
    this.#slider.addEventListener('pointermove', ({ offsetX }) => {
      const { min, max, clientWidth } = this.#slider;
      this.#choose(Number(min) + (offsetX / clientWidth) * (Number(max) - Number(min)));
    });
  }

  /** @param {readonly StatusSample[]} samples of the last hour, oldest first */
  show(samples) {
    this.#samples = samples;
    const values = samples.flatMap((sample) => this.#lines.map(({ dataset }) => sample[dataset.line] ?? 0));
    const highest = Math.max(0, ...values);
    this.#plot.hidden = highest === 0;
    if (highest === 0) return;
    const to = samples.at(-1).at;
    const from = to - Math.max(SHORTEST_SECONDS, Math.ceil((to - samples[0].at) / STEP_SECONDS) * STEP_SECONDS);
    this.#slider.min = from;
    this.#slider.max = to;
    this.#draw(from, to, nextRound(highest));
    this.#read();
  }

  #draw(from, to, top) {
    const { format: name } = this.#figure.dataset;
    const x = (at) => (((at - from) / (to - from)) * 100).toFixed(2);
    const step = TICKS_SECONDS.find((seconds) => (to - from) / seconds < 6);
    const first = Math.ceil(from / step);
    const times = Array.from({ length: Math.floor(to / step) - first + 1 }, (_, index) => (first + index) * step);
    this.#figure.querySelector('.times').replaceChildren(
      ...times.map((at) => {
        const label = document.createElement('span');
        label.textContent = FORMATS.time(at).slice(0, 5);
        label.style.left = `${x(at)}%`;
        return label;
      }),
    );
    const [high, middle] = this.#figure.querySelectorAll('.values > *');
    setText(high, FORMATS[name](top));
    setText(middle, FORMATS[name](top / 2));
    const paths = {
      grid: `M0 0H100M0 50H100M0 100H100${times.map((at) => `M${x(at)} 0V100`).join('')}`,
      out: this.#samples.map(({ at, ready }) => (ready ? '' : `M${x(at - STEP_SECONDS)} 0V100H${x(at)}V0`)).join(''),
    };
    for (const { dataset } of this.#lines) paths[dataset.line] = this.#path(dataset.line, x, top);
    for (const [name, path] of Object.entries(paths)) {
      this.#plot.querySelector(`[data-path="${name}"]`).setAttribute('d', path);
    }
  }

  /** A line that begins anew after a gap. A value alone is a dot. */
  #path(field, x, top) {
    return this.#samples
      .map((sample, index) => {
        const before = this.#samples[index - 1];
        if (sample[field] === null) return '';
        const isJoined = before && before[field] !== null && sample.at - before.at <= GAP_SECONDS;
        const point = `${x(sample.at)} ${(100 - (sample[field] / top) * 100).toFixed(2)}`;
        return isJoined ? `L${point}` : `M${point}h0`;
      })
      .join('');
  }

  #choose(at) {
    this.#chosen = at;
    this.#read();
  }

  /** Reads the values at the chosen time, also to a screen reader. */
  #read() {
    const latest = this.#samples.at(-1);
    const away = ({ at }) => Math.abs(at - this.#chosen);
    const sample = this.#samples.reduce((best, other) => (away(other) < away(best) ? other : best), latest);
    for (const line of this.#lines) {
      setText(line.querySelector('b'), format(this.#figure.dataset.format, sample[line.dataset.line]));
    }
    const { min, max } = this.#slider;
    const x = ((sample.at - Number(min)) / (Number(max) - Number(min))) * 100;
    this.#figure.querySelector('[data-path="cursor"]').setAttribute('d', sample === latest ? '' : `M${x} 0V100`);
    const time = FORMATS.time(sample.at);
    setText(this.#figure.querySelector('time'), sample === latest ? 'now' : time);
    this.#slider.value = sample.at;
    this.#slider.ariaValueText = `${time}: ${this.#lines.map(({ textContent }) => textContent).join(', ')}`;
  }
}

/** The next of 1, 2, 5, 10, 20, 50, … */
function nextRound(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].find((factor) => factor * power >= value) * power;
}
