import type { LineWriter } from './line-writer.ts';

/** Far more than a start writes. */
const LINES_MAX = 1_000;

/** Keeps the lines of a log back until the returned function is called, so that something else can be written first. */
export function holdLines(destination: Pick<LineWriter, 'write'>): () => void {
  const { write } = destination;
  const held: string[] = [];
  const release = () => {
    destination.write = write;
    for (const line of held.splice(0)) destination.write(line);
  };
  destination.write = (line) => {
    if (held.push(line) >= LINES_MAX) release();
    return true;
  };
  return release;
}
