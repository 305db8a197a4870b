import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { afterEach, describe, expect, it } from '@jest/globals';
import { channelToPrimary, channelToWorker, type Pipe } from '../../../adapters/cluster/channel.ts';
import type { PrimaryFunctions, WorkerFunctions } from '../../../adapters/cluster/protocol.ts';
import { RemoteTurns } from '../../../adapters/cluster/remote-turns.ts';
import { TurnsForWorker } from '../../../adapters/cluster/turns-for-worker.ts';
import { CheckQueue } from '../../../adapters/secrets/verification-queue.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import { checkRequest, describeCheckTurns, heldCheck } from '../../contracts/check-turns.ts';
import { until } from '../../support/until.ts';

const opened: { close(): void }[] = [];
afterEach(() => {
  for (const part of opened.splice(0)) part.close();
});

function pipeOf(port: MessagePort): Pipe {
  return { send: (message) => port.postMessage(message), onMessage: (listener) => port.on('message', listener) };
}

function notAsked(): never {
  throw new Error('nobody asks for this here');
}

/** A queue in one place and those who take turns of it in two others, with real message ports between them. */
function world() {
  const queue = new CheckQueue({ atOnce: 1, lineRounds: 8 * 2 ** 4, crowd: 8, unanswered: 16, waitMs: 60_000 });
  opened.push(queue);
  const workers = [1, 2].map(() => {
    const { port1, port2 } = new MessageChannel();
    opened.push(port1, port2);
    const functions: PrimaryFunctions = {
      takeTurn: (id, request) => turns.take(id, request),
      callerGone: (id) => turns.callerGone(id),
      findKey: notAsked,
      remembered: notAsked,
      health: notAsked,
    };
    const toWorker = channelToWorker(pipeOf(port1), functions);
    const turns = new TurnsForWorker(queue, { runCheck: (id) => toWorker.runCheck(id) });
    const ofWorker: WorkerFunctions = {
      start: notAsked,
      ping: notAsked,
      runCheck: (id) => remote.run(id),
      takeKeys: notAsked,
      remember: notAsked,
      metrics: notAsked,
      stop: notAsked,
    };
    const toPrimary = channelToPrimary(pipeOf(port2), ofWorker);
    const remote = new RemoteTurns({
      takeTurn: (id, request) => toPrimary.takeTurn(id, request),
      callerGone: (id) => void toPrimary.callerGone(id).catch(() => {}),
    });
    /** What the primary does when the process of the worker has ended. */
    const die = () => {
      turns.close();
      toWorker.$close();
      toPrimary.$close();
    };
    return { remote, die };
  });
  const [one, other] = workers;
  if (one === undefined || other === undefined) throw new Error('two workers are asked for');
  return { queue, one, other };
}

describeCheckTurns('RemoteTurns', () => world().one.remote);

describe('RemoteTurns', () => {
  it('lets the check of one worker wait for that of another', async () => {
    const { queue, one, other } = world();
    const first = heldCheck();
    const running = one.remote.take(checkRequest(), first.check);
    await until(() => queue.load.running === 1, 'the first check runs');
    let began = false;
    const second = other.remote.take(checkRequest(), async () => {
      began = true;
      return 'match';
    });
    await until(() => queue.load.line === 1, 'the second check waits');
    expect(began).toBe(false);
    first.end('mismatch');
    expect(await Promise.all([running, second])).toEqual(['mismatch', 'match']);
  });

  it('gives the turn of a worker that died to the next, and drops what it waited for', async () => {
    const { queue, one, other } = world();
    const running = one.remote.take(checkRequest(), heldCheck().check);
    const waiting = one.remote.take(checkRequest(), heldCheck().check);
    await until(() => queue.load.line === 1, 'one check runs and one waits');
    one.die();
    await expect(running).rejects.toThrow(DependencyUnavailable);
    await expect(waiting).rejects.toThrow(DependencyUnavailable);
    expect(await other.remote.take(checkRequest(), async () => 'match')).toBe('match');
    expect(queue.load).toEqual({ running: 0, line: 0, crowd: 0 });
  });
});
