import { availableParallelism, cpus } from 'node:os';

/** What a figure was measured on, as one line a property. */
export function machineLines(): readonly string[] {
  return [
    `Date: ${new Date().toISOString().slice(0, 10)}`,
    `CPU: ${cpus()[0]?.model ?? 'unknown'}, ${availableParallelism()} cores`,
    `Node.js: ${process.version}, on ${process.platform} ${process.arch}`,
  ];
}
