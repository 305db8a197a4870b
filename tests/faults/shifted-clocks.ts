// Loaded with --import before a program: shifts the clocks of its processes by what a file says, as if somebody set the
// clock of the machine (`wallSeconds`), or had stopped the process (`monotonicSeconds`).
import { readFileSync } from 'node:fs';

const file = process.env['SHIFTED_CLOCKS_FILE'] ?? '';
const dateNow = Date.now;
const hrtime = process.hrtime.bigint;
let shift = { wallSeconds: 0, monotonicSeconds: 0 };

/** Reads the file each time: a process sees a shift at once, as it sees that of a machine's clock. */
function current() {
  try {
    shift = { ...shift, ...JSON.parse(readFileSync(file, 'utf8')) };
  } catch {
    // The test has removed it.
  }
  return shift;
}

Date.now = () => dateNow() + current().wallSeconds * 1000;
process.hrtime.bigint = () => hrtime() + BigInt(current().monotonicSeconds) * 1_000_000_000n;
