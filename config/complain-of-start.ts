/** Says on standard error why a program does not start, and makes its exit code say so too. */
export function complainOfStart(program: string, problems: readonly string[]): void {
  process.stderr.write(`${program} does not start:\n${problems.map((problem) => `  ${problem}\n`).join('')}`);
  process.exitCode = 1;
}
