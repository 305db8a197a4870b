import { describe, expect, it } from '@jest/globals';
import { LimitedTurns } from '../../../adapters/secrets/attempt-limiter.ts';
import { CheckQueue } from '../../../adapters/secrets/verification-queue.ts';
import { type CheckTurns, NoRoomToWait } from '../../../application/ports/check-turns.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import type { SecretVerdict } from '../../../application/ports/secret-verifier.ts';
import { checkRequest, describeCheckTurns } from '../../contracts/check-turns.ts';
import { A_CALLER } from '../../support/a-caller.ts';

const FAILURES = 3;

function fresh() {
  return new LimitedTurns(
    new CheckQueue({ atOnce: 1, lineRounds: 8 * 2 ** 4, crowd: 8, unanswered: 16, waitMs: 60_000 }),
    FAILURES,
  );
}

describeCheckTurns('LimitedTurns', fresh);

/** Limited turns, and who comes for one. */
function world() {
  const turns = fresh();
  let checks = 0;
  const come = (verdict: SecretVerdict, clientId = 'a-client', address = '192.0.2.1', registered = true) =>
    turns.take(checkRequest({ clientId, registered, caller: { ...A_CALLER, address } }), async () => {
      checks += 1;
      return verdict;
    });
  return { come, checks: () => checks };
}

describe('LimitedTurns', () => {
  it.each([true, false])('gives no more turns after so many failures, registered or not: %s', async (registered) => {
    const { come, checks } = world();
    for (let time = 0; time < FAILURES; time += 1) {
      expect(await come('mismatch', 'a-client', '192.0.2.1', registered)).toBe('mismatch');
    }
    expect(await come('mismatch', 'a-client', '192.0.2.1', registered)).toBe('attempts_exhausted');
    expect(checks()).toBe(FAILURES);
  });

  it('lets the owner of the secret in from elsewhere, and other clients from there', async () => {
    const { come } = world();
    for (let time = 0; time < FAILURES; time += 1) await come('mismatch');
    expect(await come('match', 'a-client', '192.0.2.2')).toBe('match');
    expect(await come('match', 'b-client')).toBe('match');
  });

  it('counts no match, and takes nothing off the count for one', async () => {
    const { come } = world();
    for (let time = 0; time < 10; time += 1) expect(await come('match')).toBe('match');
    for (let time = 0; time < FAILURES; time += 1) {
      await come('mismatch');
      if (time + 1 < FAILURES) await come('match');
    }
    expect(await come('match')).toBe('attempts_exhausted');
  });

  it('counts who leaves while his check runs, since it may have told him something', async () => {
    const turns = fresh();
    for (let time = 0; time < FAILURES; time += 1) {
      const leaving = new AbortController();
      const caller = { ...A_CALLER, disconnected: leaving.signal };
      const taken = turns.take(checkRequest({ caller }), async () => {
        leaving.abort();
        return 'mismatch';
      });
      await expect(taken).rejects.toThrow(DependencyUnavailable);
    }
    expect(await turns.take(checkRequest(), async () => 'match')).toBe('attempts_exhausted');
  });

  it('does not count who found no room to wait in', async () => {
    const full: CheckTurns = { take: () => Promise.reject(new NoRoomToWait()), close: () => {} };
    const turns = new LimitedTurns(full, 1);
    for (let time = 0; time < 3; time += 1) {
      await expect(turns.take(checkRequest(), async () => 'match')).rejects.toThrow(NoRoomToWait);
    }
  });

  it('lets the check of a secret pass that has proved good before, whoever failed at that address', async () => {
    const turns = fresh();
    for (let time = 0; time < FAILURES; time += 1) await turns.take(checkRequest(), async () => 'mismatch');
    const caller = { ...A_CALLER, proved: true };
    expect(await turns.take(checkRequest({ caller }), async () => 'match')).toBe('match');
  });
});
