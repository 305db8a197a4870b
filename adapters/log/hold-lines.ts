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
