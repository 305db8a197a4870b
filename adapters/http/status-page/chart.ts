import { type Html, html, table, timeOf } from './html.ts';
import type { MinuteOfHistory } from './minute-history.ts';

const [WIDTH, HEIGHT] = [600, 120];

interface ChartLine {
  readonly name: string;
  readonly of: (minute: MinuteOfHistory) => number | null;
}

/** Two lines of the last hour, with the same in words and as a table. @param unit of the values, behind each. */
export function chart(
  title: string,
  unit: string,
  lines: readonly [ChartLine, ChartLine],
  minutes: readonly MinuteOfHistory[],
): Html {
  if (minutes.length === 0)
    return html`<figure><h3>${title}</h3><p class="hint">Nothing was counted in the last hour.</p></figure>`;
  const shown = (value: number | null) =>
    value === null ? '–' : `${Number(value.toPrecision(3)).toLocaleString('en')}${unit}`;
  const valuesOf = ({ of }: ChartLine) => minutes.map(of).filter((value) => value !== null);
  const most = Math.max(...lines.flatMap(valuesOf));
  const words = lines.map((line) => {
    const values = valuesOf(line);
    return html`<li>${line.name}: <b>${shown(values.at(-1) ?? null)}</b>, at most ${shown(values.length === 0 ? null : Math.max(...values))} in a minute</li>`;
  });
  const rows = minutes.toReversed().map((minute) => [timeOf(minute.at), ...lines.map(({ of }) => shown(of(minute)))]);
  return html`<figure>
<h3>${title}</h3>
<ul class="legend">${words}</ul>
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true">
<path class="grid" d="M0 0H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}M0 ${HEIGHT}H${WIDTH}"/>
${lines.map((line) => html`<path d="${pathOf(minutes.map(line.of), most)}"/>`)}
</svg>
<p class="hint times" aria-hidden="true">${clockOf(minutes[0])} <span>top ${shown(most)}</span> ${clockOf(minutes.at(-1))}</p>
<details><summary>${title} as a table</summary>${table(['Minute', ...lines.map(({ name }) => name)], rows)}</details>
</figure>`;
}

/** Hours and minutes in UTC. */
function clockOf(minute: MinuteOfHistory | undefined): Html {
  return html`<span>${new Date((minute?.at ?? 0) * 1_000).toISOString().slice(11, 16)}</span>`;
}

/** A line through the values, with a gap where there is none; a value alone is a dot. */
function pathOf(values: readonly (number | null)[], most: number): string {
  const x = (index: number) => ((values.length === 1 ? 0 : index / (values.length - 1)) * WIDTH).toFixed(1);
  const y = (value: number) => ((1 - value / Math.max(most, Number.EPSILON)) * HEIGHT).toFixed(1);
  return values
    .flatMap((value, index) => {
      if (value === null) return [];
      const isFirst = (values[index - 1] ?? null) === null;
      return `${isFirst ? 'M' : 'L'}${x(index)} ${y(value)}${isFirst ? 'h0' : ''}`;
    })
    .join('');
}
