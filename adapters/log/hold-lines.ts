import type { LineWriter } from './line-writer.ts';

/** Far more than a start writes. */
const LINES_MAX = 1_000;

/**
 * Keeps the lines of a log back until the returned function is called, so that something else can be written first. `edit`
 * changes each line, or leaves it out by an empty text.
 */
export function holdLines(destination: Pick<LineWriter, 'write'>, edit = (line: string) => line): () => void {
  const write = destination.write.bind(destination);
  const writeEdited = (line: string) => {
    const edited = edit(line);
    return edited === '' || write(edited);
  };
  const held: string[] = [];
  const release = () => {
    destination.write = writeEdited;
    for (const line of held.splice(0)) writeEdited(line);
  };
  destination.write = (line) => {
    if (held.push(line) >= LINES_MAX) release();
    return true;
  };
  return release;
}

/** The members that a person at a terminal wants to see, in this order. */
const MEMBERS = ['event', 'method', 'route', 'status', 'client_id', 'reason', 'hint'] as const;

/** A line of the log for a terminal: the time and a few members. Empty for an audit event, whose request has a line too. */
export function shortLine(line: string): string {
  const members: Readonly<Record<string, unknown>> = JSON.parse(line);
  if (members['log'] === 'audit') return '';
  const values = MEMBERS.flatMap((name) => members[name] ?? []);
  return `${String(members['time']).slice(11, 19)}  ${values.join('  ')}\n`;
}
