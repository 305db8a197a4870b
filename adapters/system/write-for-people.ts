/**
 * Writes text to standard output or standard error. Nobody may be there to read it: a full disk, a closed terminal or a
 * closed pipe is ignored.
 */
export function writeForPeople(stream: NodeJS.WritableStream, text: string): void {
  stream.on('error', () => {});
  stream.write(text);
}
