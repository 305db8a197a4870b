import { figure } from './report.ts';

export interface Bar {
  readonly name: string;
  readonly value: number;
  /** What the chart is about; other bars are there for comparison. */
  readonly isOurs: boolean;
}

const WIDTH = 960;
const NAMES_WIDTH = 400;
const BAR_HEIGHT = 22;
const ROW_HEIGHT = 32;
const HEAD_HEIGHT = 80;

/** Horizontal bars as an SVG, with a line at a limit that no bar of its kind can exceed. */
export function barChart(title: string, unit: string, bars: readonly Bar[], limit: Omit<Bar, 'isOurs'>): string {
  const height = HEAD_HEIGHT + bars.length * ROW_HEIGHT + 16;
  const longest = Math.max(limit.value, ...bars.map(({ value }) => value));
  // The figure of the longest bar stands behind it.
  const x = (value: number) => NAMES_WIDTH + ((WIDTH - NAMES_WIDTH - 90) * value) / longest;
  const rows = bars.map(({ name, value, isOurs }, position) => {
    const y = HEAD_HEIGHT + position * ROW_HEIGHT;
    const width = (x(value) - NAMES_WIDTH).toFixed(1);
    return `<text class="end" x="${NAMES_WIDTH - 10}" y="${y + 16}">${escapeXml(name)}</text>
<rect class="${isOurs ? 'ours' : 'other'}" x="${NAMES_WIDTH}" y="${y}" width="${width}" height="${BAR_HEIGHT}"/>
<text x="${(x(value) + 8).toFixed(1)}" y="${y + 16}">${figure(value)}</text>`;
  });
  const at = x(limit.value).toFixed(1);
  const table = bars.map(({ name, value }) => `${name}: ${figure(value)}`).join('; ');
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="title description">
<title id="title">${escapeXml(title)}</title>
<desc id="description">${escapeXml(`${unit}. ${limit.name}: ${figure(limit.value)}. ${table}.`)}</desc>
<style>
text { font-family: Helvetica, Arial, sans-serif; font-size: 14px; fill: #1f2328 }
.title { font-size: 18px; font-weight: bold }
.end { text-anchor: end }
.ours { fill: #2f6fb3 }
.other { fill: #8c959f }
.limit { stroke: #b35900; stroke-dasharray: 5 4 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.ours { fill: #6cb0f5 }
.limit { stroke: #f0a04b }
}
</style>
<text class="title" x="16" y="28">${escapeXml(title)}</text>
<text class="end" x="${Math.max(Number(at), NAMES_WIDTH)}" y="58">${escapeXml(`${limit.name}: ${figure(limit.value)}`)}</text>
${rows.join('\n')}
<line class="limit" x1="${at}" y1="66" x2="${at}" y2="${height - 12}"/>
</svg>
`;
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
