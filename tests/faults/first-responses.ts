import { setTimeout as delay } from 'node:timers/promises';
import { expect } from '@jest/globals';
import type { Backend } from '../support/balancer.ts';
import { requestToken } from '../support/http.ts';
import { DEMO_TOKEN_REQUEST } from '../support/replica.ts';
import { until } from '../support/until.ts';

const CALLERS = 4;
/** Between two attempts to connect, so that the service, and not its callers, gets the processor. */
const PAUSE_MS = 2;

/** What the callers got so far. */
export interface Answers {
  readonly statuses: number[];
  /** How many connections were refused or reset. */
  refused: number;
}

/** Callers who ask for tokens in a tight loop, each request on its own connection, until the condition holds. */
export async function callUntil(
  backend: Backend,
  isEnough: (answers: Answers) => boolean,
  what: string,
): Promise<Answers> {
  const answers: Answers = { statuses: [], refused: 0 };
  let isRunning = true;
  const call = async () => {
    while (isRunning) {
      await requestToken(`http://127.0.0.1:${backend.port}`, DEMO_TOKEN_REQUEST).then(
        ({ status }) => void answers.statuses.push(status),
        () => {
          answers.refused += 1;
          return delay(PAUSE_MS);
        },
      );
    }
  };
  const callers = Array.from({ length: CALLERS }, call);
  await until(() => isEnough(answers), what).finally(() => {
    isRunning = false;
  });
  await Promise.all(callers);
  return answers;
}

/** They began before the port was open, and got nothing but tokens. */
export function expectOnlyTokens({ statuses, refused }: Answers): void {
  expect(refused).toBeGreaterThan(0);
  expect(statuses.filter((status) => status !== 200)).toEqual([]);
}
