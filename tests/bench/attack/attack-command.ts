import { availableParallelism } from 'node:os';
import { markdownList } from '../figures/markdown-list.ts';
import { machineLines } from '../machine/machine-lines.ts';
import { say } from '../say.ts';
import { startBenchDatabaseServer } from '../servers/bench-database-server.ts';
import type { Candidate } from '../servers/candidate.ts';
import { postgresEnvironment } from '../servers/postgres-environment.ts';
import { hashedSecret, type Registration, registrations, SECRET, writeClientsFile } from '../servers/registrations.ts';
import { startServiceCandidate } from '../servers/service-candidate.ts';
import { temporaryFolder } from '../servers/temporary-folder.ts';
import { attack } from './attack.ts';
import { attackReport } from './attack-report.ts';
import { attackVerdicts } from './attack-verdict.ts';

export type Repository = 'memory' | 'postgres';

export interface AttackOptions {
  /** Without the attack, and then again under it. */
  readonly seconds: number;
  /** Good clients' requests a second, all together. */
  readonly rate: number;
  /** Slow header senders. */
  readonly lorises: number;
  readonly repositories: readonly Repository[];
}

const COST = 10;
const DEAR_COST = 14;
const SEEN_CLIENTS = 20;
const UNSEEN_EVERY_SECONDS = 2;
const ATTACKING_CONNECTIONS = 64;

/** The attack outlasts the good clients, so that none of them is measured in peace. */
const SURPLUS_SECONDS = 2;

/** `npm run bench -- attack`: good clients beside attackers. Answers whether all that the service is held to held. */
export async function runAttack(options: AttackOptions, opened: AsyncDisposableStack): Promise<boolean> {
  process.stdout.write(`${markdownList(machineLines())}\n`);
  let holds = true;
  for (const repository of options.repositories) {
    await using own = new AsyncDisposableStack();
    opened.defer(() => own.disposeAsync());
    say(`${repository}: ${options.seconds} s without and ${options.seconds} s under attack …`);
    const result = await attackOn(await startAttacked(repository, options, own), options);
    process.stdout.write(`\n${attackReport(`Repository: ${repository}`, result)}\n`);
    holds &&= attackVerdicts(result).every((verdict) => verdict.holds);
  }
  return holds;
}

function attackOn(candidate: Candidate, options: AttackOptions) {
  const { seconds, rate, lorises } = options;
  const seen = clientIds('client', SEEN_CLIENTS);
  // Enough for each process of the service to have some.
  const connections = Math.max(16, 2 * availableParallelism());
  return attack(
    candidate,
    {
      tokenUrl: candidate.tokenUrl,
      secret: SECRET,
      clientIds: seen,
      ratePerSecond: rate,
      connections,
      // Until each client has come by each connection, and a second more.
      warmUpSeconds: Math.ceil((SEEN_CLIENTS * connections) / rate) + 1,
      seconds,
      unseenClientIds: clientIds('unseen', unseenCount(options)),
      unseenEverySeconds: UNSEEN_EVERY_SECONDS,
    },
    {
      port: candidate.port,
      seconds: seconds + SURPLUS_SECONDS,
      connections: ATTACKING_CONNECTIONS,
      lorises,
      knownClients: seen,
      dearClient: 'dear-1',
    },
  );
}

/**
 * The service under attack. The row with cost 14 stands in the table alone: in memory, where all registrations are known
 * at the start, it would make every refusal as dear.
 */
async function startAttacked(
  repository: Repository,
  options: AttackOptions,
  opened: AsyncDisposableStack,
): Promise<Candidate> {
  const stored = await hashedSecret(COST);
  const clients: readonly Registration[] = [
    ...registrations('client', SEEN_CLIENTS, stored),
    ...registrations('unseen', unseenCount(options), stored),
  ];
  if (repository === 'memory') {
    const file = await writeClientsFile(await temporaryFolder(opened), 'clients.json', clients);
    return startServiceCandidate('memory', { CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: file }, opened);
  }
  const database = await (await startBenchDatabaseServer(opened)).create();
  const candidate = await startServiceCandidate('PostgreSQL', postgresEnvironment(database.url), opened);
  await database.insert([...clients, ...registrations('dear', 1, await hashedSecret(DEAR_COST))]);
  return candidate;
}

function unseenCount({ seconds }: AttackOptions): number {
  return Math.max(1, Math.floor(seconds / UNSEEN_EVERY_SECONDS));
}

function clientIds(prefix: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, n) => `${prefix}-${n + 1}`);
}
