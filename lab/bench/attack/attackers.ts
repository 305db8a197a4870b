import { setTimeout as delay } from 'node:timers/promises';
import { ConnectionFlood } from './connection-flood.ts';
import { floodOf } from './floods.ts';
import type { FloodJob, FloodResult } from './programs.ts';

// Attackers, a process of their own: takes a FloodJob as JSON in its first argument and prints the results of its
// floods as JSON.
const job = JSON.parse(process.argv[2] ?? '') as FloodJob;
const floods = job.floods.map((name) => {
  const flood = floodOf(name);
  return [name, new ConnectionFlood(job.port, job.connections?.[name] ?? flood.connections, flood)] as const;
});
await delay(job.seconds * 1000);
const results = floods.map(([name, { answers, unanswered }]): FloodResult => ({ name, answers, unanswered }));
process.stdout.write(JSON.stringify(results), () => process.exit());
