/** Progress for whoever waits, on standard error; standard output holds the result alone. */
export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
