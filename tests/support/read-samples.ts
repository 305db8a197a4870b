const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*';
const LABEL = String.raw`[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"`;
const SAMPLE = new RegExp(`^(${NAME})(?:\\{(${LABEL}(?:,${LABEL})*)\\})? (-?[0-9.e+-]+|[+-]Inf|NaN)$`);
const COMMENT = new RegExp(`^# (?:HELP (${NAME}) .+|TYPE (${NAME}) (?:counter|gauge|histogram))$`);

/** One sample of a scrape. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/**
 * The samples of a scrape in the text format 0.0.4. Throws at a line that is not of this format, and at a series that
 * appears twice.
 */
export function readSamples(text: string): readonly Sample[] {
  if (!text.endsWith('\n')) throw new Error('the last line has no line break');
  const lines = text.split('\n').filter((line) => line !== '' && !COMMENT.test(line));
  const series = lines.map((line) => line.slice(0, line.lastIndexOf(' ')));
  if (new Set(series).size < series.length) throw new Error('a series appears twice');
  return lines.map((line) => {
    const [, name = '', labels = '', value] = SAMPLE.exec(line) ?? fail(line);
    const pairs = [...labels.matchAll(/([^,="]+)="((?:[^"\\]|\\.)*)"/g)].map(([, key, text]) => [key, text]);
    return { name, labels: Object.fromEntries(pairs), value: Number(value?.replace('Inf', 'Infinity')) };
  });
}

/** The sum of all samples with this name and these labels. */
export function total(samples: readonly Sample[], name: string, labels: Readonly<Record<string, string>> = {}): number {
  return samples
    .filter((sample) => sample.name === name)
    .filter((sample) => Object.entries(labels).every(([label, value]) => sample.labels[label] === value))
    .reduce((sum, { value }) => sum + value, 0);
}

function fail(line: string): never {
  throw new Error(`not a line of the text format: ${line}`);
}
