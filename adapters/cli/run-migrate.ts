import { type Result, success } from '../../domain/result.ts';
import { createProgram, runProgram } from './command-program.ts';
import { EXIT, type Outcome, problem } from './outcome.ts';
import { Terminal, type TerminalStreams } from './terminal.ts';
import { problemOf } from './with-storage.ts';

const DESCRIPTION = `Creates and changes the tables that this service has beside the table clients, as this version needs them. Runs each
migration once; replicas of the version before go on working.`;

const NOTES = `
The database is the one that DATABASE_URL names in the environment, or the file of DATABASE_URL_FILE. Its role must be allowed
to create tables. The role of the service needs no more than docs/operations.md says.

Exit codes: 0 done; 2 wrong usage; 3 the database cannot be used.`;

const NEXT_STEPS = [
  'Now grant the role of the service what it needs on these tables (docs/operations.md, "Further tables"), then restart',
  'the service. npm run doctor shows what is still missing.',
];

/** Runs the migrations that are missing, and returns their names; or what is wrong with the environment. */
type Migrate = () => Promise<Result<readonly string[], string>>;

/** `npm run migrate`. Returns the exit code. Rejects only on a bug. */
export function runMigrate(
  args: readonly string[],
  streams: TerminalStreams,
  { migrate, version }: { readonly migrate: Migrate; readonly version: string },
): Promise<number> {
  const terminal = new Terminal(streams);
  const page = { name: 'npm run migrate --', version, description: DESCRIPTION, notes: NOTES };
  const program = createProgram(page, terminal).action(async () => terminal.finish(await outcomeOf(migrate), {}));
  return runProgram(program, args, terminal);
}

async function outcomeOf(migrate: Migrate): Promise<Outcome> {
  try {
    const done = await migrate();
    if (!done.ok) return problem(EXIT.usage, done.problem);
    const migrated = done.value.map((name) => `Migrated: ${name}`);
    const messages = migrated.length === 0 ? ['The database is up to date.'] : [...migrated, ...NEXT_STEPS];
    return success({ document: done.value, text: () => '', messages });
  } catch (fault) {
    return problemOf(fault, 'The database cannot be migrated');
  }
}
