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

for (let n = 0; n < connections; n += 1) void attackInTurn(n);
for (let n = 0; n < lorises; n += 1) void keepSlowLoris(port, answers.lorises);
void attack(answers.dear, () => guessFor(dearClient));

await delay(seconds * 1000);
process.stdout.write(JSON.stringify(answers), () => process.exit());

/** One connection: a guess, an unknown client, garbage, and again, each as soon as the last one is answered. */
async function attackInTurn(first: number): Promise<never> {
  const connection = new RawConnection(port);
  for (let turn = first; ; turn += 1) {
    const victim = knownClients[turn % knownClients.length] ?? '';
    countAnswer(answers.guesses, await connection.send(guessFor(victim)));
    countAnswer(answers.unknown, await connection.send(unknownClient()));
    countAnswer(answers.garbage, await connection.send(GARBAGE[turn % GARBAGE.length] ?? ''));
  }
}

async function attack(counts: AnswerCount, next: () => string): Promise<never> {
  const connection = new RawConnection(port);
  for (;;) countAnswer(counts, await connection.send(next()));
}
