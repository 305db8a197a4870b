import { readSamples } from './read-samples.ts';

/** Labels whose values are the declared routes, what callers do, or the limits of buckets. */
const OPEN_LABELS: ReadonlySet<string> = new Set(['route', 'method', 'status', 'reason', 'status_class', 'le']);

/** Each metric of a scrape in one line: its name, type, labels, and help text. */
export function describeMetrics(text: string): readonly string[] {
  const samples = readSamples(text);
  return [...text.matchAll(/^# HELP (\S+) (.+)\n# TYPE \S+ (\S+)$/gm)]
    .map(([, name = '', help, type]) => {
      const series = samples.filter((sample) => sample.name.replace(/_(bucket|sum|count)$/, '') === name);
      const labels = [...new Set(series.flatMap((sample) => Object.keys(sample.labels)))].toSorted();
      const described = labels.map((label) => {
        const values = new Set(series.flatMap((sample) => sample.labels[label] ?? []));
        return OPEN_LABELS.has(label) ? label : `${label}=${[...values].toSorted().join('|')}`;
      });
      return `${name} ${type} {${described.join(', ')}} ${help}`;
    })
    .toSorted();
}

/** Each kind of line of a log: its event or `request`, its level, and its fields. */
export function describeLog(text: string): readonly string[] {
  const lines = text.split('\n').filter((line) => line.startsWith('{'));
  const described = lines.map((line) => {
    const { event = 'request', level, time: _time, ...fields } = JSON.parse(line);
    return `${level} ${event}: ${Object.keys(fields).toSorted().join(', ')}`.trimEnd();
  });
  return unique(described);
}

function unique(lines: readonly string[]): readonly string[] {
  return [...new Set(lines)].toSorted();
}
