import { setTimeout as delay } from 'node:timers/promises';
import type { AnswerCount } from './answer-count.ts';
import type { AttackerAnswers, AttackersResult, AttackJob } from './attack-drivers.ts';
import { GARBAGE, guessFor, unknownClient } from './attack-requests.ts';
import { NO_ANSWER, RawConnection, runSlowLoris } from './raw-connection.ts';

// The attackers, a process of their own: takes an AttackJob as JSON in its first argument, attacks for the given time and
// prints AttackersResult as JSON.
const job = JSON.parse(process.argv[2] ?? '') as AttackJob;
const { port, knownClients, expensiveClient } = job;
const answers: AttackerAnswers = { guesses: {}, unknown: {}, garbage: {}, expensive: {}, lorises: {} };
const seconds: number[] = [];

const kinds = [
  { counts: answers.guesses, request: (n: number) => guessFor(knownClients[n % knownClients.length] ?? '') },
  { counts: answers.unknown, request: unknownClient },
  { counts: answers.garbage, request: (n: number) => GARBAGE[n % GARBAGE.length] ?? '' },
];
for (let n = 0; n < job.connections; n += 1) {
  const kind = kinds[n % kinds.length];
  if (kind !== undefined) void attack(kind.counts, kind.request, n);
}
for (let n = 0; n < job.lorises; n += 1) void runSlowLoris(port, (status) => count(answers.lorises, status));
void attack(answers.expensive, () => guessFor(expensiveClient));

await delay(job.seconds * 1000);
const result: AttackersResult = { answers, seconds: Array.from(seconds, (count) => count ?? 0) };
process.stdout.write(JSON.stringify(result), () => process.exit());

/** One connection, which sends the next request as soon as the previous one is answered. */
async function attack(counts: AnswerCount, request: (n: number) => string, first = 0): Promise<never> {
  const connection = new RawConnection(port);
  for (let n = first; ; n += 1) count(counts, await connection.send(request(n)));
}

function count(counts: AnswerCount, status: number): void {
  const name = status === NO_ANSWER ? 'none' : String(status);
  counts[name] = (counts[name] ?? 0) + 1;
  if (status === NO_ANSWER) return;
  const second = Math.floor((Date.now() - job.secondsFromMs) / 1000);
  seconds[second] = (seconds[second] ?? 0) + 1;
}
