import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { MemoryLog } from '../machine/memory-log.ts';
import type { Candidate } from '../servers/candidate.ts';
import { runProcess, startProcess } from '../servers/own-process.ts';
import type { AttackerAnswers, AttackJob } from './attack-job.ts';
import { type GoodClientJob, type GoodClientResult, MEASURING } from './good-client-job.ts';

const GOOD_CLIENTS = fileURLToPath(new URL('./good-clients.ts', import.meta.url));
const ATTACKERS = fileURLToPath(new URL('./attackers.ts', import.meta.url));

const MEMORY_EVERY_MS = 1_000;

export interface AttackResult {
  readonly without: GoodClientResult;
  readonly during: GoodClientResult;
  readonly attackers: AttackerAnswers;
  /** Megabytes of the service; undefined where there is no /proc. */
  readonly memory: {
    readonly before: number | undefined;
    readonly atTheEnd: number | undefined;
    readonly highest: number | undefined;
  };
}

/** Good clients at a steady rate, first alone and then beside attackers. */
export async function attack(
  candidate: Candidate,
  goodClients: GoodClientJob,
  attackers: AttackJob,
): Promise<AttackResult> {
  const [without] = await runGoodClients({ ...goodClients, unseenClientIds: [] }, async () => {});

  const before = await candidate.tree.memoryMb();
  const memory = new MemoryLog(candidate.tree, MEMORY_EVERY_MS);
  const [during, answers] = await runGoodClients(goodClients, () => runAttackers(attackers));
  const samples = (await memory.end()).map(({ megabytes }) => megabytes);
  return {
    without,
    during,
    attackers: answers,
    memory: {
      before,
      atTheEnd: samples.at(-1),
      highest: samples.length === 0 ? undefined : Math.max(...samples),
    },
  };
}

/** Runs the good clients, and calls `measuring` when their warm-up is over. Answers what both tell. */
export async function runGoodClients<Other>(
  job: GoodClientJob,
  measuring: () => Promise<Other>,
): Promise<[GoodClientResult, Other]> {
  const child = startProcess(process.execPath, [GOOD_CLIENTS, JSON.stringify(job)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (child.stdout === null) throw new Error('the good clients were started without a pipe');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const { value } = await lines.next();
  if (value !== MEASURING) throw new Error('the good clients ended in their warm-up');
  return Promise.all([resultIn(lines), measuring()]);
}

async function resultIn(lines: AsyncIterator<string>): Promise<GoodClientResult> {
  const { value, done } = await lines.next();
  if (done) throw new Error('the good clients ended without a result');
  return JSON.parse(value);
}

async function runAttackers(job: AttackJob): Promise<AttackerAnswers> {
  return JSON.parse(await runProcess(process.execPath, [ATTACKERS, JSON.stringify(job)]));
}
