import { setTimeout as delay } from 'node:timers/promises';
import { ConnectionFlood } from './connection-flood.ts';
import { type FloodJob, floodOf } from './floods.ts';

// One flood, a process of its own: takes a FloodJob as JSON in its first argument and prints an AnswerCount as JSON.
const job = JSON.parse(process.argv[2] ?? '') as FloodJob;
const { connections, begin } = floodOf(job.flood);
const flood = new ConnectionFlood(job.port, connections, begin);
await delay(job.seconds * 1000);
process.stdout.write(JSON.stringify(flood.answers), () => process.exit());
