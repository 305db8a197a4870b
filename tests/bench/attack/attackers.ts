import { setTimeout as delay } from 'node:timers/promises';
import { type AnswerCount, countAnswer } from './answer-count.ts';
import type { AttackerAnswers, AttackJob } from './attack-job.ts';
import { GARBAGE, guessFor, unknownClient } from './attack-requests.ts';
import { RawConnection } from './raw-connection.ts';
import { keepSlowLoris } from './slow-loris.ts';

// The attackers, a process of their own: takes an AttackJob as JSON in its first argument, attacks for so long, prints
// AttackerAnswers as JSON and ends with all its connections.
const { port, seconds, connections, lorises, knownClients, dearClient } = JSON.parse(
  process.argv[2] ?? '',
) as AttackJob;
const answers: AttackerAnswers = { guesses: {}, unknown: {}, garbage: {}, dear: {}, lorises: {} };

const kinds = [
  { counts: answers.guesses, next: (turn: number) => guessFor(knownClients[turn % knownClients.length] ?? '') },
  { counts: answers.unknown, next: unknownClient },
  { counts: answers.garbage, next: (turn: number) => GARBAGE[turn % GARBAGE.length] ?? '' },
];
for (let n = 0; n < connections; n += 1) {
  const kind = kinds[n % kinds.length];
  if (kind !== undefined) void attack(kind.counts, kind.next, n);
}
for (let n = 0; n < lorises; n += 1) void keepSlowLoris(port, answers.lorises);
void attack(answers.dear, () => guessFor(dearClient));

await delay(seconds * 1000);
process.stdout.write(JSON.stringify(answers), () => process.exit());

/** One connection, which sends the next request as soon as the last one is answered. */
async function attack(counts: AnswerCount, next: (turn: number) => string, first = 0): Promise<never> {
  const connection = new RawConnection(port);
  for (let turn = first; ; turn += 1) countAnswer(counts, await connection.send(next(turn)));
}
