import { Option } from 'commander';
import type { Result } from '../../domain/result.ts';
import { runWork } from './command-program.ts';
import { EXIT, type OutputStream, Problem } from './outcome.ts';
import { type OutputOptions, Terminal, type TerminalStreams } from './terminal.ts';

const DESCRIPTION = `Creates and changes the tables of this service, as this version needs them, in one transaction. Runs each migration
once; replicas of the version before go on working, and use what is new without a restart.`;

const NOTES = `
The database is the one that DATABASE_URL names in the environment, or the file of DATABASE_URL_FILE. Its role must be allowed
to create tables, and to grant rights on those that others own. With DATABASE_FILE in place of a URL, this creates and changes
that file of SQLite.

Exit codes: 0 done; 2 wrong usage; 3 the database cannot be used.`;

const NEXT_STEP = 'If the service has its own role, give it what it needs: add --grant-to <role>.';

/** What uses a role; the first one is the default. */
const ROLES_FOR = ['service', 'admin-api', 'clients', 'keys'] as const;

/** What a user asks for. */
export interface MigrateOptions extends OutputOptions {
  readonly grantTo?: string;
  readonly roleFor: (typeof ROLES_FOR)[number];
  readonly dryRun?: true;
}

/** Runs what is missing. Returns what was done, for a dry run the statements, or what is wrong with the environment. */
type Migrate = (options: MigrateOptions) => Promise<Result<Migrated, string>>;

export interface Migrated {
  readonly done: readonly string[];
  /** Whether the database has roles. A file has none. */
  readonly hasRoles: boolean;
}

/** `npm run migrate`. Returns the exit code. Rejects only on a bug. */
export function runMigrate(
  args: readonly string[],
  streams: TerminalStreams,
  { migrate, version }: { readonly migrate: Migrate; readonly version: string },
): Promise<number> {
  const page = { name: 'npm run migrate --', version, description: DESCRIPTION, notes: NOTES };
  const options = [
    new Option('--grant-to <role>', 'give this role what it needs of the tables, and nothing else'),
    new Option('--role-for <program>', 'what the role is for').choices(ROLES_FOR).default(ROLES_FOR[0]),
    new Option('--dry-run', 'change nothing, and print the statements'),
  ];
  async function* run(_parts: unknown, given: MigrateOptions): OutputStream {
    const { grantTo, roleFor, dryRun } = given;
    if (grantTo === undefined && roleFor !== ROLES_FOR[0]) {
      throw new Problem(EXIT.usage, '--role-for needs --grant-to <role>, which names the role.');
    }
    const migrated = await migrate(given);
    if (!migrated.ok) throw new Problem(EXIT.usage, migrated.problem);
    const { done, hasRoles } = migrated.value;
    if (done.length === 0) return yield { document: [], text: () => '', messages: ['The database is up to date.'] };
    if (dryRun) return yield { document: done, text: () => ['begin;', ...done, 'commit;'].join('\n'), messages: [] };
    yield { document: done, text: () => '', messages: hasRoles && grantTo === undefined ? [...done, NEXT_STEP] : done };
  }
  const storageTexts = ['The database cannot be migrated'] as const;
  return runWork({ ...page, storageTexts }, { options, run }, args, new Terminal(streams));
}
