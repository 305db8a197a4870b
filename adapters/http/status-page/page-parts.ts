/**
 * A column: the member of a row and its format in `browser/format.js`, its heading, and classes. Cells that are links name their target,
 * with the member of the row that is put into it.
 */
type Column = readonly [cell: string, heading: string, classes?: string, link?: string];

interface Table {
  /** The id and the heading of its section. Without it, the page has the section, which contains more. */
  readonly section?: readonly [id: string, heading: string];
  readonly columns: readonly Column[];
  /** On a narrow screen, each row is a block. */
  readonly stacks?: true;
  /** What stands there if the table has no rows. */
  readonly empty?: string;
}

/** The tables, by the member of the view (`browser/view.js`) that has their rows. */
// biome-ignore format: one line for each column of a table, so that members, headings and links stand below each other
const TABLES: Readonly<Record<string, Table>> = {
  reasons: { section: ['refusals', 'Refusals by reason'], empty: 'No request was refused.', columns: [
    ['reason', 'Reason', 'mono', '#reason-{reason}'],
    ['recent whole', 'Last minute', 'figure'],
    ['total whole', 'Since start', 'figure', '#refused-{reason}'],
  ] },
  events: { section: ['events', 'Last events'], empty: 'Nothing has changed.', columns: [['at when', 'Time'], ['subject', 'What'], ['text', 'Event']] },
  latencies: { section: ['last-minute', 'Latency, last minute'], columns: [
    ['name', 'Answers'], ['p50 milliseconds', 'p50', 'figure'], ['p95 milliseconds', 'p95', 'figure'], ['p99 milliseconds', 'p99', 'figure'],
  ] },
  verifications: { section: ['queue', 'Verification queue'], columns: [['name', 'Verifications'], ['now whole', 'Now', 'figure'], ['most whole', 'At most', 'figure']] },
  refusals: { stacks: true, empty: 'No such refusal is kept.', columns: [
    ['client_id', 'Client', 'mono'],
    ['reason', 'Reason', 'mono', '#reason-{reason}'],
    ['at distance', 'Time'],
    ['remote_address', 'Address', 'mono'],
    ['request_id', 'Request id', 'mono id', '#request-{request_id}'],
  ] },
  keys: { stacks: true, empty: 'No key.', columns: [['kid', 'kid', 'mono'], ['alg', 'Algorithm'], ['state', 'State'], ['from both', 'From'], ['until both', 'Until']] },
  checks: { section: ['checks', 'Checks'], columns: [['name', 'Check'], ['state', 'State'], ['text', 'Note']] },
  replicas: { section: ['replicas', 'Replicas'], columns: [
    ['name', 'Replica', 'mono'], ['clock_offset_seconds offset', 'Clock offset', 'figure'], ['seen_at distance', 'Keys seen', 'figure'],
  ] },
};

/** The charts of the last hour: a title, the format, the least value at the top, and the lines by their members of a point. */
const CHARTS = [
  ['Tokens and refusals', 'rate', 1, { tokens: 'Tokens', refusals: 'Refusals' }],
  ['Latency of tokens', 'milliseconds', 0.001, { p50: 'p50', p99: 'p99' }],
  ['Verifications that wait', 'whole', 10, { waiting: 'Waiting' }],
  ['Secrets found in the cache', 'share', 1, { hit_share: 'Hits' }],
] as const;

/** The page with its tables and charts. */
export function withParts(page: string): string {
  return page
    .replace('<!-- charts -->', () => CHARTS.map(chart).join('\n'))
    .replaceAll(/<!-- table (\w+) -->/g, (_comment, name: string) => table(name, TABLES[name] ?? { columns: [] }));
}

function table(rows: string, { section, columns, stacks, empty }: Table): string {
  const headings = columns.map(([cell, heading, classes, link]) => {
    const more = `${classes ? ` class="${classes}"` : ''}${link ? ` data-link="${link}"` : ''}`;
    return `<th scope="col" data-cell="${cell}"${more}>${heading}</th>`;
  });
  const content = `<table data-rows="${rows}"${stacks ? ' class="stacks"' : ''}>
<thead><tr>${headings.join('')}</tr></thead>
<tbody></tbody>
</table>${empty ? `<p class="empty">${empty}</p>` : ''}`;
  if (section === undefined) return content;
  const [id, heading] = section;
  return `<section class="card" aria-labelledby="${id}">\n<h2 id="${id}">${heading}</h2>\n${content}\n</section>`;
}

function chart([title, format, top, lines]: (typeof CHARTS)[number]): string {
  const members = Object.entries(lines);
  const legend = members.map(([member, name]) => `<span data-line="${member}">${name} <b>–</b></span>`).join(' ');
  const columns = members.map(([member, name]): Column => [`${member} ${format}`, name, 'figure']);
  return `<figure class="card chart" data-format="${format}" data-top="${top}">
<figcaption><h3>${title}</h3><p class="legend">${legend} <time>now</time></p></figcaption>
<div class="plot" tabindex="0" role="slider" aria-label="${title} over time" aria-valuemin="0" aria-valuemax="0" aria-valuenow="0"></div>
<details><summary>${title} as a table</summary>${table('points', { columns: [['at time', 'Time'], ...columns] })}</details>
</figure>`;
}
